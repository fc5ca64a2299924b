# SPDX-License-Identifier: Apache-2.0
"""Writes into docs/how-to/history.md how often a change is found: `python -m tools.bench.history_detection`.

Each series is simulated: its runs, of three repetitions each, have a normal distribution and rise by SHIFT in the
middle. A change counts as found if the series has exactly one, at most a tenth of the runs from the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import numpy

from natxy.history.levels import Measured, divide
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/how-to/history.md")
SHIFT: Final = 0.05
DEVIATIONS: Final = (0.005, 0.02)
LENGTHS: Final = (10, 30, 100)
_SERIES: Final = 40
_REPETITIONS: Final = 3


def series(random: numpy.random.Generator, runs: int, deviation: float) -> list[Measured]:
    """Returns runs with this relative standard deviation. Repetitions of a run deviate from it by half as much."""
    found = []
    for number in range(runs):
        level = 1e5 * (1 + SHIFT * (number >= runs // 2))
        own = level * (1 + deviation * random.standard_normal())
        values = own * (1 + deviation / 2 * random.standard_normal(_REPETITIONS))
        found.append(Measured(median(values), tuple(values), 0.0))
    return found


def is_found(runs: list[Measured]) -> bool:
    starts = [level.first for level in divide(runs).levels][1:]
    return len(starts) == 1 and abs(starts[0] - len(runs) // 2) <= len(runs) / 10


def rows() -> Iterator[str]:
    random = numpy.random.default_rng(1)
    yield "| runs | " + " | ".join(f"standard deviation {100 * deviation:g} %" for deviation in DEVIATIONS) + " |"
    yield "|---|" + "---|" * len(DEVIATIONS)
    for length in LENGTHS:
        counts = [sum(is_found(series(random, length, each)) for _ in range(_SERIES)) for each in DEVIATIONS]
        yield f"| {length} | " + " | ".join(f"{count} of {_SERIES}" for count in counts) + " |"


if __name__ == "__main__":
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "detection", rows()), encoding="utf-8")
