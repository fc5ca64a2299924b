# SPDX-License-Identifier: Apache-2.0
"""Compares what the kinds of search cost, for the same throughputs and the same width, on the simulated engine.

`python -m tools.bench.search_benchmark` prints a Markdown table: means over random throughputs, with RFC 2544's trials
of 60 s. The simulated gateway loses exactly the frames above its limit, so the loss is a perfect hint of it. A real
gateway gives no hint as good.
"""

from __future__ import annotations

import math
import random
import sys
from statistics import mean
from typing import Any, Final

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.run import run_plan
from natxy.system.temporary_folder import temporary_folder
from tools.bench.session import machine_given_back

SEARCHES: Final[dict[str, dict[str, Any]]] = {
    "binary": {"kind": "binary"},
    "mlrsearch, strict": {"kind": "mlrsearch", "goal": "strict"},
    "mlrsearch, fast": {"kind": "mlrsearch", "goal": "fast"},
}
WIDTHS_PERCENT: Final = (1.0, 0.1)
MIN_RATE, MAX_RATE = 1e3, 1e6


def cost(search: dict[str, Any], width_percent: float, truth_fps: float, noise: float) -> tuple[int, float, float]:
    """Returns the number of trials, the seconds of traffic, and the error of the result in percent."""
    limits = {"min_rate": MIN_RATE, "max_rate": MAX_RATE, "error": f"{width_percent}%"}
    experiment = {
        "name": "throughput",
        "gateway": {"driver": "simulated", "forwarding_fps": truth_fps},
        "procedure": "throughput",
        "directions": "forward",
        "search": limits | search,
    }
    testbed = {"kind": "simulated", "noise": noise}
    plan = Plan.model_validate({"name": "p", "repeat": 1, "testbed": testbed, "experiments": [experiment]})
    with temporary_folder("natxy-bench-") as folder:
        run_plan(resolve(plan), folder / "run", RunListener())
        repetition = RunReader(folder / "run").run.experiments[0].repetitions[0]
    assert repetition.value is not None
    error_percent = 100 * abs(repetition.value - truth_fps) / truth_fps
    return len(repetition.trials), sum(trial.duration_s for trial in repetition.trials), error_percent


def table(truths: int) -> str:
    draw = random.Random(1)
    rates = [math.exp(draw.uniform(math.log(2 * MIN_RATE), math.log(0.99 * MAX_RATE))) for _ in range(truths)]
    lines = ["| search | width | noise | trials | traffic, s | greatest error |", "|---|---|---|---|---|---|"]
    for width in WIDTHS_PERCENT:
        for noise in (0.0, 0.02):
            for name, search in SEARCHES.items():
                costs = [cost(search, width, rate, noise) for rate in rates]
                trials, traffic_s, errors = zip(*costs, strict=True)
                lines.append(
                    f"| {name} | {width:g} % | {100 * noise:g} % | {mean(trials):.1f} | {mean(traffic_s):.0f} "
                    f"| {max(errors):.2g} % |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    with machine_given_back():
        print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
