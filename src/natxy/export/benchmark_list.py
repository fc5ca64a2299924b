# SPDX-License-Identifier: Apache-2.0
"""A run's figures as the JSON list that benchmark actions such as github-action-benchmark read."""

from __future__ import annotations

from natxy.results.analysis.better import Better
from natxy.results.analysis.compare import SHARE_OF_BASELINE, shares_of_baseline
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.statistics import Summary
from natxy.untrusted.texts import json_text


def benchmark_list(run: RunRecord, better: Better) -> str:
    """Returns the list with the `name`, `unit`, `value` and `range` of each figure that has a median.

    The `range`, a 95 % confidence interval, is left out where it tells a reader nothing.
    """
    entries = []
    for experiment in run.experiments:
        figures: list[tuple[str, str, Summary | None]] = [
            (figure.title, figure.unit, experiment.summary_of(figure))
            for figure in experiment.declaration.figures
            if figure.is_better_when_higher == (better is Better.BIGGER)
        ]
        if better is Better.BIGGER:
            figures.append((SHARE_OF_BASELINE.title, SHARE_OF_BASELINE.unit, shares_of_baseline(experiment)))
        entries += [_entry(experiment, title, unit, summary) for title, unit, summary in figures if summary]
    return json_text(entries) + "\n"


def _entry(experiment: ExperimentRecord, title: str, unit: str, summary: Summary) -> dict[str, str | float]:
    entry: dict[str, str | float] = {"name": f"{experiment.name}: {title}", "unit": unit, "value": summary.median}
    if interval := summary.shown_interval:
        entry["range"] = f"{interval.low:.6g} to {interval.high:.6g}"
    return entry
