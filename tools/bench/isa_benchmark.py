# SPDX-License-Identifier: Apache-2.0
"""Compares the portable engine's builds with the one that was built for this machine: `make bench`.

The same task runs in turns on the same core: before and after the builds for each level of x86-64 that the CPU has, the
build for this machine. isa.json has a row for each task and level, the ratio to the build for this machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track

from tools.bench.hugepages import reserved
from tools.bench.peer_benchmark import ROUNDS, SECONDS, Ratio, beside, save_rows, show, summary
from tools.bench.processor import usable_isas
from tools.bench.programs import TASKS, task
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED

_NAMES: Final = (
    "send-addresses-ports-ipv4", "send-addresses-ports-ipv6", "send-enumerated-ipv4", "respond-4M-ipv4",
    "receive-ipv4", "receive-learn-4M-ipv6",
)  # fmt: skip
# A package's engine is as fast as one that was built on the spot, but for 3 %; this is asked of the best build alone.
_GOAL: Final = 0.97


def tasks_of(isa: str) -> Path:
    return Path(f"build/engine-{isa}/task_bench")


def main() -> None:
    with machine_given_back(), reserved():
        measure()


def measure() -> None:
    core = min(os.sched_getaffinity(0))
    isas = usable_isas()
    goals: Mapping[str, float | None] = {isa: _GOAL if isa == isas[-1] else None for isa in isas}
    ratios: dict[Ratio, list[float]] = {}
    for _ in track(range(ROUNDS), "the engine's builds in turns", console=Console(stderr=True)):
        for name in _NAMES:
            builds = {isa: partial(_fps, name, core, tasks_of(isa)) for isa in isas}
            for isa, ratio in beside(partial(_fps, name, core, TASKS), builds):
                ratios.setdefault(Ratio(f"{name} for {isa} / native", goals[isa]), []).append(ratio)
    rows = [summary(ratio, measured) for ratio, measured in ratios.items()]
    MEASURED.mkdir(parents=True, exist_ok=True)
    save_rows("isa", rows)
    show("isa", rows)


def _fps(name: str, core: int, program: Path) -> float:
    return float(task(name, [core], SECONDS, program=program)["fps"])


if __name__ == "__main__":
    main()
