# SPDX-License-Identifier: Apache-2.0
"""Forecasts from an earlier run of a plan how many repetitions its experiments will take."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.results.intervals import student
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord


def last_run(name: str, folder: Path) -> RunReader | None:
    """Returns the newest readable run in `folder` of the plan `name`; None if there is none."""
    # `natxy run` names folders after the plan and the time.
    for found in sorted(folder.glob(f"{name}-[0-9]*"), reverse=True):
        with suppress(PlanError):
            reader = RunReader(found)
            if reader.run.name == name:
                return reader
    return None


def expected_repetitions(plan: ResolvedPlan, earlier: RunReader) -> dict[str, int]:
    """Returns the number of repetitions of experiments that are repeated for their precision, and of their baselines.

    Experiments that the earlier run measured fewer than twice are left out.
    """
    records = {record.name: record for record in earlier.run.experiments}
    expected: dict[str, int] = {}
    for experiment in plan.experiments:
        until, record = experiment.repeat.until, records.get(experiment.name)
        precision = record.precision if record else None
        if until is None or record is None or precision is None:
            continue
        least, most = experiment.repeat.least, experiment.repeat.at_most
        unit = precision / _width(len(_measured(record)))
        count = next((count for count in range(least, most) if unit * _width(count) <= until), most)
        for name in filter(None, (experiment.name, experiment.baseline)):
            expected[name] = max(count, expected.get(name, 0))
    return expected


def _measured(record: ExperimentRecord) -> set[int]:
    """Returns the numbers of the repetitions that the record's precision is computed from."""
    if record.in_blocks and record.baseline and (both := record.headlines.keys() & record.baseline.headlines.keys()):
        return both
    return {*record.headlines}


def _width(count: int) -> float:
    """Returns half the width of the interval of so many repetitions, in standard deviations."""
    return student(max(count - 1, 1)) / math.sqrt(count)
