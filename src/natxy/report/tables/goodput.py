# SPDX-License-Identifier: Apache-2.0
"""Tables of TCP goodput as it is usually published: a row for each gateway, a column for each kind of traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import Unit
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig
from natxy.report.tables.gateways import label, short_kernel
from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, wording
from natxy.results.analysis.gateways import GatewayName, gateway_key, gateway_names, traffic
from natxy.results.records import ExperimentRecord, RunRecord

_Cell = Callable[[ExperimentRecord], str | None]
# The name of a row, and the experiments by column.
_Row = tuple[str, Mapping[str, ExperimentRecord]]


def goodput_tables(run: RunRecord) -> list[Table]:
    """Returns tables for each combination of directions, flows and tests that several experiments have."""
    names = gateway_names(run)
    alike: dict[str, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.procedure == TcpGoodputConfig.procedure_name() and experiment.statistics:
            alike.setdefault(_asked(experiment), []).append(experiment)
    return [
        table
        for asked, experiments in alike.items()
        if len(experiments) > 1
        for rows in [_rows(experiments, names)]
        for unit, cell in _SHOWN
        if (table := _table(f"TCP goodput of hosts and gateway together, {unit}: {asked}", rows, cell)).rows
    ]


def _asked(experiment: ExperimentRecord) -> str:
    planned, procedure = experiment.planned, experiment.declaration
    assert isinstance(procedure, TcpGoodputConfig)
    shown = "both directions added" if planned.directions == Directions.BIDIRECTIONAL else planned.directions
    flows = "1 flow" if planned.flows == 1 else f"{planned.flows} flows"
    return f"{shown}, {flows}, best of {procedure.best_of}"


def _rows(experiments: Sequence[ExperimentRecord], names: Mapping[str, GatewayName]) -> list[_Row]:
    """Returns a row for each gateway; repeated experiments on one have further rows with their titles."""
    several = len({name.kernel for name in names.values() if name.kernel}) > 1
    found: dict[tuple[str, int], tuple[str, dict[str, ExperimentRecord]]] = {}
    for experiment in experiments:
        key, nth = gateway_key(experiment), 0
        while traffic(experiment) in found.get((key, nth), ("", {}))[1]:
            nth += 1
        name = names[key]
        called = ", ".join((label(name), *([short_kernel(name)] if several and name.kernel else [])))
        row = found.setdefault((key, nth), (f"{called}: {experiment.title}" if nth else called, {}))
        row[1][traffic(experiment)] = experiment
    return list(found.values())


def _table(title: str, rows: Sequence[_Row], cell: _Cell) -> Table:
    shown = [(name, {way: text for way, one in row.items() if (text := cell(one))}) for name, row in rows]
    ways = [*dict.fromkeys(way for _, row in shown for way in row)]
    cells = tuple((name, *(row.get(way, wording.ABSENT) for way in ways)) for name, row in shown if row)
    note = headlines.ratios_note(one for _, row in rows for one in row.values()) if cell is _ratio else ""
    return Table(title, (Column("Gateway"), *(Column(way, numeric=True) for way in ways)), cells, note=note)


def _goodput(experiment: ExperimentRecord) -> str | None:
    assert experiment.statistics is not None
    return wording.bounded(experiment.statistics.bounded(experiment.statistics.median), Unit.BPS)


def _range(experiment: ExperimentRecord) -> str | None:
    """Returns the lowest and the highest test in Mbit/s, both directions added; None if there was only one."""
    totals_bps: dict[tuple[int, int], float] = {}
    for repetition in experiment.repetitions:
        for transfer in repetition.transfers if repetition.measured else ():
            test = repetition.number, transfer.number
            totals_bps[test] = totals_bps.get(test, 0.0) + transfer.goodput_bps
    if len(totals_bps) < 2:
        return None
    return " – ".join(wording.number(bound(totals_bps.values()) / 1e6) for bound in (min, max))


def _line_share(experiment: ExperimentRecord) -> str | None:
    shares = experiment.figure_statistics.get("line_share")
    return f"{shares.median:.0f}" if shares else None


def _ratio(experiment: ExperimentRecord) -> str | None:
    share = experiment.baseline_ratio
    return (
        None
        if share is None
        else f"{100 * share.value:.0f}{wording.ends(share.interval, lambda end: f'{100 * end:.0f}')}"
    )


_SHOWN: Final[tuple[tuple[str, _Cell], ...]] = (
    ("Mbit/s", _goodput),
    ("lowest – highest test, Mbit/s", _range),
    ("% of the line's", _line_share),
    ("% of the baseline", _ratio),
)
