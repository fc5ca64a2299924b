# SPDX-License-Identifier: Apache-2.0
"""Writes all that is stored of a run as one JSON document, for other programs."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from natxy.results.analysis.ceilings import ceiling_share
from natxy.results.analysis.dut_cost import COST, cost
from natxy.results.analysis.sweeps import Computed, computed
from natxy.results.planned import settings_of
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunRecord
from natxy.results.trials import TrialRecord
from natxy.system.interrupts import dumped


def document(run: RunRecord) -> dict[str, Any]:
    """Returns all that is stored of a run, and the statistics of its experiments."""
    comparisons = computed(run)
    experiments = [
        _experiment(experiment, comparisons[experiment.id])
        | {"ceiling_share": asdict(share) if (share := ceiling_share(experiment, run.self_test)) else None}
        for experiment in run.experiments
    ]
    known = {"load": run.load, "tester": run.tester, "self_test": run.self_test}
    models = {name: dumped(model) if model else None for name, model in known.items()}
    caveats = [asdict(caveat) for caveat in run.caveats]
    return _shallow(run) | models | {"caveats": caveats, "experiments": experiments}


def _experiment(experiment: ExperimentRecord, comparison: Computed) -> dict[str, Any]:
    planned = experiment.planned
    return {
        "id": experiment.id,
        "name": planned.name,
        "title": planned.title,
        "gateway": experiment.gateway,
        "procedure": experiment.procedure,
        "family": planned.family,
        "sweep": planned.sweep,
        "cell": planned.cell,
        "settings": settings_of(planned),
        "unit": planned.unit,
        "state": experiment.state,
        "reason": experiment.reason,
        "duts": [*map(asdict, experiment.duts)],
        "baseline_name": planned.baseline,
        "whole_name": planned.whole,
        "repetitions": [_repetition(repetition) for repetition in experiment.repetitions],
        "figures": [asdict(figure) for figure in experiment.declaration.figures],
        "statistics": _statistics(experiment),
        "computed": comparison.columns(),
        "is_only_a_lower_bound": experiment.is_only_a_lower_bound,
    }


def _statistics(experiment: ExperimentRecord) -> dict[str, Any]:
    """Returns the summary of each figure, with its interval."""
    headline = experiment.declaration.headline().name
    of_headline = {headline: experiment.statistics} if experiment.statistics else {}
    of_dut = {COST.name: summary} if (summary := cost(experiment)) else {}
    return {
        name: asdict(summary) | {"interval": asdict(summary.interval) if summary.interval else None}
        for name, summary in (of_headline | experiment.figure_statistics | of_dut).items()
    }


def _repetition(repetition: RepetitionRecord) -> dict[str, Any]:
    return _shallow(repetition) | {
        "curves": [asdict(curve) for curve in repetition.curves],
        "trials": [_shallow(trial) | _models(trial) for trial in repetition.trials],
        "transfers": [asdict(transfer) for transfer in repetition.transfers],
    }


def _models(trial: TrialRecord) -> dict[str, Any]:
    models = {"result": trial.result, "dut_load": trial.dut_load, "dut_counts": trial.dut_counts}
    return {name: dumped(model) if model else None for name, model in models.items()}


def _shallow(record: RunRecord | RepetitionRecord | TrialRecord) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
