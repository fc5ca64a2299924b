# SPDX-License-Identifier: Apache-2.0
"""TCP goodput in the form that people publish it in: a row a gateway, a column for each way the families go."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from natxy.plan.models import Directions
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig
from natxy.plan.units import Unit
from natxy.report import wording
from natxy.report.tables import Column, Table
from natxy.results.records import ExperimentRecord, RunRecord

_Cell = Callable[[ExperimentRecord], str | None]


def goodput_tables(run: RunRecord) -> list[Table]:
    """Of each combination of directions, flows and tests, and none of a single experiment."""
    alike: dict[str, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.procedure == TcpGoodputConfig.procedure_name() and experiment.statistics:
            alike.setdefault(_traffic(experiment), []).append(experiment)
    return [
        table
        for traffic, experiments in alike.items()
        if len(experiments) > 1
        for unit, cell in (("Mbit/s", _goodput), ("% of the line's", _line_share), ("% of the baseline", _ratio))
        if (table := _table(f"TCP goodput of hosts and gateway together, {unit}: {traffic}", experiments, cell)).rows
    ]


def _traffic(experiment: ExperimentRecord) -> str:
    directions, flows = experiment.settings["directions"], experiment.settings["flows"]
    shown = "both directions added" if directions == Directions.BIDIRECTIONAL else directions
    config = TcpGoodputConfig.model_validate(experiment.settings["procedure"])
    return f"{shown}, {flows} flow{'s' if flows > 1 else ''}, best of {config.best_of}"


def _table(title: str, experiments: Sequence[ExperimentRecord], cell: _Cell) -> Table:
    rows: dict[str, dict[str, str]] = {}
    for experiment in experiments:
        if (shown := cell(experiment)) is None:
            continue
        row = rows.setdefault(experiment.gateway, {})
        if _way(experiment) in row:
            row = rows.setdefault(experiment.title, {})
        row[_way(experiment)] = shown
    ways = [*dict.fromkeys(way for row in rows.values() for way in row)]
    cells = tuple((name, *(row.get(way, wording.ABSENT) for way in ways)) for name, row in rows.items())
    return Table(title, (Column("Gateway"), *(Column(way, numeric=True) for way in ways)), cells)


def _way(experiment: ExperimentRecord) -> str:
    translation = experiment.settings.get("translation")
    return str(translation["kind"]).upper() if translation else experiment.family.replace("ipv", "IPv")


def _goodput(experiment: ExperimentRecord) -> str | None:
    assert experiment.statistics is not None
    return wording.statistic(experiment.statistics, experiment.statistics.median, Unit.BPS)


def _line_share(experiment: ExperimentRecord) -> str | None:
    shares = experiment.figure_statistics.get("line_share")
    return f"{shares.median:.0f}" if shares else None


def _ratio(experiment: ExperimentRecord) -> str | None:
    share = experiment.baseline_ratio_percent
    return None if share is None else f"{share:.0f}"
