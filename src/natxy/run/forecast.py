# SPDX-License-Identifier: Apache-2.0
"""Forecasts from an earlier run of a plan how many repetitions its experiments will take."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from natxy.errors import PlanError
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.results.analysis.ratios import paired_ratios
from natxy.results.analysis.repetitions import repetitions_needed
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.statistics import Summary


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
        summary = _measured(record) if record else None
        if until is None or summary is None or summary.count < 2:
            continue
        least, most = experiment.repeat.least, experiment.repeat.at_most
        count = least
        if summary.minimum != summary.maximum or summary.resolution:
            margin = until * abs(summary.median)
            needed = repetitions_needed(margin, summary.values, resolution=summary.resolution, least=least, most=most)
            count = needed or most
        for name in filter(None, (experiment.name, experiment.baseline)):
            expected[name] = max(count, expected.get(name, 0))
    return expected


def _measured(record: ExperimentRecord) -> Summary | None:
    """Returns the values that the record's precision is computed from: ratios within blocks, or its own results."""
    if record.in_blocks and record.baseline:
        ratios = paired_ratios(record.headlines, record.baseline.headlines)
        if ratios and ratios.interval:
            return ratios
    return record.statistics
