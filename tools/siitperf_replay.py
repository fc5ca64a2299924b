# SPDX-License-Identifier: Apache-2.0
"""Measures gateways in labs with siitperf's scripts and with plans, and prints a table of both.

The table in docs/how-to/from-siitperf.md is its output. It takes some minutes:
`.venv/bin/python -m tools.siitperf_replay [GATEWAY …]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from natxy.results.records import ExperimentRecord
from tests.support.siitperf_confs import conf_text
from tests.support.siitperf_labs import ScriptLab
from tests.support.siitperf_scripts import (
    Bed,
    binary_rate,
    binary_rate_in_time,
    frame_loss,
    latency,
    variation,
)

Row = tuple[str, str, str, str]

# No rate that is tried is at the limit itself.
MAXIMUM, ERROR = 1500, 100
SEARCH: Final[dict[str, Any]] = {"search": {"kind": "binary", "min_rate": 50, "max_rate": MAXIMUM - 50, "error": ERROR}}
# Below the limit of tests/support/siitperf_labs.py, 800.
RATE: Final = 500
LATENCY: Final = {
    "rate": RATE, "procedure": {"name": "latency", "tagged_frames": RATE, "warm_up": "1s", "tagging": "1s"},
}  # fmt: skip
LOSS: Final = {"procedure": {"name": "frame-loss-rate", "maximum_rate": MAXIMUM, "step_percent": 10}}

ROUTER: Final = conf_text("router-many", IP_L_min="2", IP_L_max="50", IP_R_min="2", IP_R_max="50")
SIIT: Final = conf_text("siit", IPv6_R_Virt="2001:2:0:1000::198.19.0.2")


def _ms(record: ExperimentRecord, figure: str) -> str:
    (repetition,) = record.repetitions
    values = [repetition.figures[f"{figure}_{way}"] for way in ("forward", "reverse")]
    return " and ".join("none" if value is None else f"{value / 1e6:.2f}" for value in values) + " ms"


def _delays(call: Callable[[str, str], str]) -> tuple[str, str]:
    found, varied = latency(Bed(call), RATE, 2, 1, RATE), variation(Bed(call), RATE, 1)
    tl = " and ".join(f"{found[f'{way} TL']:.2f}" for way in ("Forward", "Reverse"))
    return f"{tl} ms", " and ".join(f"{varied[way]:.2f}" for way in ("Forward", "Reverse")) + " ms"


def _stateless(folder: Path, gateway: str, conf: str) -> Iterator[Row]:
    lab = ScriptLab(folder, conf, gateway)
    plan = lab.plan(throughput=SEARCH, frame_loss_rate=LOSS, latency=LATENCY, pdv={"rate": RATE})
    with lab.standing(plan) as call:
        found = binary_rate(Bed(call), MAXIMUM, ERROR)
        in_time = binary_rate_in_time(Bed(call), MAXIMUM, ERROR, 1000)
        received = frame_loss(Bed(call), [MAXIMUM])[MAXIMUM]
        typical, varied = _delays(call)
    throughput, loss, delays, variations = lab.measured(plan)
    rate = f"{max(throughput.values):.0f} frames/s"
    yield "binary-rate-alg.sh", gateway, f"{found.best} frames/s", rate
    yield "binary-rate-alg.sh-pdv", gateway, f"{in_time.best} frames/s", rate
    (repetition,) = loss.repetitions
    lost = [f"{repetition.figures[f'loss_at_maximum_{way}']:.1f}" for way in ("forward", "reverse")]
    share = f"{100 - 100 * received / (2 * MAXIMUM):.1f} % lost"
    yield "frame-loss.sh-scan", gateway, f"{share}, both", f"{' and '.join(lost)} % lost"
    yield "latency.sh", gateway, f"TL {typical}", f"TL {_ms(delays, 'tl')}"
    yield "pdv.sh", gateway, f"PDV {varied}", f"PDV {_ms(variations, 'pdv')}"


REPLAYS: Final = {"linux-forward": ROUTER, "tayga": SIIT}


def main() -> None:
    print("| script | gateway | siitperf's way | plan's way |\n|---|---|---|---|")
    for gateway in sys.argv[1:] or REPLAYS:
        with TemporaryDirectory(prefix="natxy-replay-") as folder:
            for row in _stateless(Path(folder), gateway, REPLAYS[gateway]):
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
