# SPDX-License-Identifier: Apache-2.0
"""Calculates again what docs/explanation/statistics.md says of intervals."""

from __future__ import annotations

import math

from natxy.results.intervals import student
from tests.support.pages import REPOSITORY


def test_the_half_widths_are_those_of_students_intervals() -> None:
    page = (REPOSITORY / "docs/explanation/statistics.md").read_text(encoding="utf-8")
    counts, _, halves = page.partition("| repetitions |")[2].splitlines()[:3]
    repetitions = [int(cell) for cell in counts.split("|")[:-1]]
    assert [float(cell) for cell in halves.split("|")[2:-1]] == [
        round(student(count - 1) / math.sqrt(count), 2) for count in repetitions
    ]
