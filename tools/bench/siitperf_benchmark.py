# SPDX-License-Identifier: Apache-2.0
"""Compares the sender of the programs that stand in for siitperf's with DPDK's testpmd: `make bench`.

It is a whole trial, requested as the programs do from siitperf.conf, at a rate that no core reaches. siitperf.json has
a row for each of the ways in which siitperf's own sender was measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track

from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborsResolve, PortMedium, PortsOpen, PortSpec
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.program import find_engine
from natxy.system.temporary_folder import temporary_folder
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from natxy_siitperf.trial.neighbors import neighbors_request
from natxy_siitperf.trial.requests import Limits, trial_request
from tools.bench.hugepages import reserved
from tools.bench.peer_benchmark import ROUNDS, SECONDS, Ratio, beside, save, show, summary
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED
from tools.bench.testpmd import NOWHERE, Testpmd

# Faster than any core, and short enough to be sent within the time of a task.
_RATE_FPS: Final = 1e9
_FRAMES_PER_S: Final = 40_000_000
_GOAL: Final = 1.0
_CONF: Final = """
IP-L-Vers 4
IP-R-Vers 4
IPv4-L-Real 198.18.0.2
IPv4-R-Real 198.19.0.2
MAC-L-Tester 02:00:00:00:00:01
MAC-L-DUT 02:00:00:00:00:11
MAC-R-Tester 02:00:00:00:01:01
MAC-R-DUT 02:00:00:00:01:11
CPU-L-Send 0
CPU-R-Recv 0
Reverse 0
"""
_PORTS: Final = "Fwd-var-sport 3\nFwd-var-dport 3\n"
_ADDRESSES: Final = "".join(
    f"IP-{side}-var 3\nIP-{side}-min 2\nIP-{side}-max 65534\nIPv4-{side}-offset 2\n" for side in "LR"
)


@dataclass(frozen=True)
class Form:
    """One way of running, and the ratio that siitperf's sender had in it on a machine of the same kind."""

    keys: str
    program: Program
    siitperf: float


FORMS: Final[Mapping[str, Form]] = {
    "siitperf-tp, fixed": Form("", Program.THROUGHPUT, 0.57),
    "siitperf-tp, random ports": Form(_PORTS, Program.THROUGHPUT, 0.50),
    "siitperf-tp, random addresses and ports": Form(_PORTS + _ADDRESSES, Program.THROUGHPUT, 0.38),
    "siitperf-pdv, random ports": Form(_PORTS, Program.PDV, 0.29),
}


class Sender:
    """Keeps an engine with ports that discard every frame, its worker on `core`."""

    def __init__(self, core: int, other: int, folder: Path) -> None:
        argv = [str(find_engine()), "--worker-cores", str(core), "--main-core", str(other)]
        self._engine = EngineClient(argv, folder / "engine.log")
        ports = [
            PortSpec(side=side, device=f"net_null{number},no-rx=1", medium=PortMedium.LOOP)
            for number, side in enumerate(Side)
        ]
        self._engine.open_ports(PortsOpen(ports=ports))

    @property
    def hugepages(self) -> bool:
        return self._engine.info().hugepages

    def fps(self, form: Form) -> float:
        """Returns frames per second of one trial."""
        neighbors, request = requests_of(form)
        self._engine.resolve_neighbors(neighbors)
        result = self._engine.run_trial(request)
        (stream,) = result.streams
        if stream.unsent:
            sys.exit(f"make bench: {stream.unsent} frames of a siitperf trial were not sent: {result.reason}")
        return stream.offered_rate_fps

    def close(self) -> None:
        self._engine.close()


def requests_of(form: Form) -> tuple[NeighborsResolve, TrialRequest]:
    """Returns what a program requests of the engine, with the rate and the number of frames of the benchmark."""
    conf = parse_conf(_CONF + form.keys)
    given = "84 1000 1 0 2 2 0" if form.program is Program.PDV else "84 1000 1 0 2 2"
    arguments = parse_arguments(form.program, given.split(), conf)
    request = trial_request(conf, arguments, seed=1, limits=Limits())
    update = {"rate_fps": _RATE_FPS, "frames": round(_FRAMES_PER_S * SECONDS)}
    streams = [each.model_copy(update=update) for each in request.streams]
    return neighbors_request(conf, arguments), request.model_copy(update={"streams": streams})


def main() -> None:
    with machine_given_back(), reserved():
        measure()


def measure() -> None:
    cores = sorted(os.sched_getaffinity(0))
    ratios: dict[str, list[float]] = {}
    with temporary_folder("natxy-bench-") as folder:
        sender = Sender(cores[0], cores[-1], folder)
        try:
            testpmd = Testpmd(cores[0], cores[-1], sender.hugepages)
            for _ in track(range(ROUNDS), "siitperf's programs and testpmd in turns", console=Console(stderr=True)):
                for name, ratio in one_round(sender, testpmd):
                    ratios.setdefault(name, []).append(ratio)
        finally:
            sender.close()
    rows = [row(name, measured) for name, measured in ratios.items()]
    MEASURED.mkdir(parents=True, exist_ok=True)
    save("siitperf", rows)
    show("siitperf", rows)


def one_round(sender: Sender, testpmd: Testpmd) -> Iterator[tuple[str, float]]:
    for name, form in FORMS.items():
        yield from beside(partial(testpmd.fps, "txonly", NOWHERE, SECONDS), {name: partial(sender.fps, form)})


def row(name: str, measured: list[float]) -> dict[str, Any]:
    return summary(Ratio(name, _GOAL), measured) | {"siitperf": FORMS[name].siitperf}


if __name__ == "__main__":
    main()
