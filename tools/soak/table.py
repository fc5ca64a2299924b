# SPDX-License-Identifier: Apache-2.0
"""Makes the table of a soak, also of one that was cut short.

`python -m tools.soak.table` writes that of the last `make soak` into docs/explanation/endurance.md.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.bench.speed_tables import put
from tools.soak.flatness import Course, Quantity, Slope, Trend, courses

PAGE: Final = Path("docs/explanation/endurance.md")
FOLDER: Final = Path("build/soak")
SAMPLES: Final = "samples.csv"
CONDITIONS: Final = "conditions.json"

# In the first cycles, memory is used for the first time.
WARM_UP: Final = 20
MOST_NOT_PASSED: Final = 0.01

_MIB: Final = 1024.0  # of KiB
_US: Final = 1000.0  # of ns
_FIVE_PPM: Final = 5 * 3600.0  # in µs an hour

QUANTITIES: Final = (
    Quantity("memory, MiB", "resident_kib", _MIB, 1.0),
    Quantity("… anonymous", "anonymous_kib", _MIB),
    Quantity("… shared, and files", "shared_kib", _MIB),
    Quantity("… huge pages", "hugepages_kib", _MIB),
    Quantity("file descriptors", "descriptors", 1.0, 0.5),
    Quantity("threads", "threads", 1.0, 0.5),
    Quantity("µs ahead of CLOCK_MONOTONIC_RAW", "ahead_of_raw_ns", _US, _FIVE_PPM, may_fall=False),
    Quantity("µs ahead of CLOCK_MONOTONIC", "ahead_of_monotonic_ns", _US),
)


@dataclass(frozen=True)
class Soak:
    """Holds the samples of a soak in their order, and where it ran."""

    samples: Sequence[Mapping[str, float]]
    conditions: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Soak:
        with (folder / SAMPLES).open(newline="", encoding="utf-8") as file:
            rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
        return cls(rows, json.loads((folder / CONDITIONS).read_text(encoding="utf-8")))

    @property
    def holds(self) -> bool:
        """Returns whether everything with a bound is flat and nearly all trials passed; not when that is undecided."""
        last = self.samples[-1]
        passed = last["not_passed"] <= MOST_NOT_PASSED * last["trials"]
        return passed and all(course.trend in (Trend.FLAT, None) for course in self._courses())

    def rows(self) -> Iterator[str]:
        """Yields the table as Markdown. ValueError when the soak was too short."""
        found = [*self._courses()]
        last, where = self.samples[-1], self.conditions
        yield (
            f"{where['processor']}, Linux {where['kernel']}, {where['dpdk']}, net_{where['io']}: "
            f"{last['elapsed_s'] / 60:.0f} minutes, {len(self.samples):,} cycles, {last['trials']:,.0f} trials, of "
            f"which {last['not_passed']:,.0f} did not pass, and {last['reopenings']:,.0f} reopenings."
        )
        yield ""
        yield "| | first tenth | last tenth | an hour adds | at most | 1,000 reopenings add | |"
        yield "|---|---:|---:|---:|---:|---:|---|"
        yield from map(_row, found)

    def _courses(self) -> Iterator[Course]:
        return courses(self.samples[WARM_UP:], QUANTITIES)


def _row(course: Course) -> str:
    quantity = course.quantity
    bound = "" if quantity.bound_per_h is None else f"{'' if quantity.may_fall else '±'}{quantity.bound_per_h:,g}"
    cells = (
        quantity.title,
        f"{course.first:,.2f}",
        f"{course.last:,.2f}",
        _interval(course.per_h),
        bound,
        _interval(course.per_reopening * 1000),
        course.trend or "",
    )
    return f"| {' | '.join(cells)} |"


def _interval(slope: Slope) -> str:
    return f"{slope.value:,.2f} ({slope.low:,.2f} to {slope.high:,.2f})"


if __name__ == "__main__" and (FOLDER / SAMPLES).exists():
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "soak", Soak.read(FOLDER).rows()), encoding="utf-8")
