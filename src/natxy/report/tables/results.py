# SPDX-License-Identifier: Apache-2.0
"""The tables of a run: a row for each experiment in the overview, a column for each in the form of the RFCs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from natxy.plan.procedures import DECLARATIONS
from natxy.plan.procedures.figures import STREAMS
from natxy.report.tables import sweep as sweep_tables
from natxy.report.tables.dut.instructions import instruction_tables
from natxy.report.tables.dut.load import cost_table
from natxy.report.tables.goodput import goodput_tables
from natxy.report.tables.per_procedure import background_tables, capacity_table, has_latencies, latency_tables
from natxy.report.tables.statistics import (
    MEDIAN,
    NARROW_SPREAD,
    NARROW_STATISTICS,
    aggregate_rows,
    further_rows,
    intervals_note,
    narrow_spread,
    narrow_statistics,
    percentiles_note,
    statistics_rows,
)
from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, lost_delays, states, wording
from natxy.report.words.conditions import conditions
from natxy.results.records import ExperimentRecord, RunRecord, State

RATIO: Final = "Relative to the baseline"


def overview(run: RunRecord) -> list[Table]:
    """Returns tables that fit into a terminal: a row for each experiment, and a table for each sweep."""
    tables = [table for title, experiments in _kinds(run) for table in _with_further(title, experiments)]
    return [*tables, *sweep_tables.overview(run), *background_tables(run), *goodput_tables(run)]


def rfc_form(run: RunRecord) -> list[Table]:
    """Returns all tables of results, with the conditions that the RFCs ask to state."""
    return plain_form(run) + sweep_tables.sweep_tables(run)


def plain_form(run: RunRecord) -> list[Table]:
    """Returns all tables of results except those of sweeps.

    They have a column for each experiment and rows as in RFC 9693 §6; capacities are as in the source papers.
    """
    plain = [_rfc_table(title, experiments) for title, experiments in _kinds(run)]
    capacities = (capacity_table(experiment) for experiment in run.experiments)
    more = (latency_tables(run), background_tables(run), goodput_tables(run))
    costs = cost_table(run)
    return [
        *plain,
        *(table for table in capacities if table),
        *(table for tables in more for table in tables),
        *([costs] if costs else []),
        *instruction_tables(run),
    ]


def _kinds(run: RunRecord) -> list[tuple[str, list[ExperimentRecord]]]:
    """Groups the experiments that are not of a sweep by their headline, in the order of the procedures' list."""
    order = list(DECLARATIONS)
    kinds: dict[str, list[ExperimentRecord]] = {}
    alone = [experiment for experiment in run.experiments if experiment.sweep is None]
    for experiment in sorted(alone, key=lambda experiment: order.index(experiment.procedure)):
        kinds.setdefault(headlines.kind(experiment), []).append(experiment)
    return [(title, sorted(experiments, key=lambda experiment: experiment.id)) for title, experiments in kinds.items()]


def _with_further(title: str, experiments: Sequence[ExperimentRecord]) -> Iterator[Table]:
    """Yields the table of a headline, and another one if there are further figures that no other table has."""
    yield _overview(title, experiments)
    if rows := tuple(row for experiment in experiments for row in _further(experiment)):
        columns = (Column("Experiment"), Column("Figure"), Column("Median", numeric=True))
        yield Table("Further figures", columns, rows)


def _further(experiment: ExperimentRecord) -> Iterator[tuple[str, ...]]:
    """Yields a row for each figure besides the headline; those of the tester, and of one direction, are left out."""
    declaration = experiment.declaration
    if declaration.between_hosts or declaration.partial_loss_ratio is not None or has_latencies(experiment):
        return
    for figure in declaration.figures[1:]:
        summary = experiment.figure_statistics.get(figure.name)
        if summary and not figure.of_tester and not figure.name.endswith(STREAMS):
            median = wording.bounded(summary.bounded_median, figure.unit)
            yield experiment.title, figure.title, f"{median} {wording.unit(figure.unit)}"


def _overview(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    compared = any(experiment.baseline for experiment in experiments)
    summaries = [experiment.statistics for experiment in experiments if experiment.statistics]
    percentiles = any(not summary.percentiles_are_extremes for summary in summaries)
    names = [*(NARROW_STATISTICS if percentiles else NARROW_SPREAD), *(["base"] if compared else [])]
    columns = (Column("Experiment"), *(Column(name, numeric=True) for name in names))
    cells = narrow_statistics if percentiles else narrow_spread
    rows = (
        (
            name
            + lost_delays.mark(experiment)
            + ("" if experiment.state is State.DONE else f" ({states.state(experiment)})"),
            *cells(experiment),
            headlines.baseline_ratio(experiment),
        )
        for name, experiment in zip(_short_titles(experiments), experiments, strict=True)
    )
    return Table(title, columns, tuple(row[: len(columns)] for row in rows), note=headlines.ratios_note(experiments))


def _marked(experiment: ExperimentRecord) -> str:
    return experiment.title + lost_delays.mark(experiment)


def _short_titles(experiments: Sequence[ExperimentRecord]) -> Iterator[str]:
    """Yields titles; below `NAT connections`, `NAT connections, validated` is `… validated`."""
    whole = ""
    for title in (experiment.title for experiment in experiments):
        if whole and title.startswith(f"{whole}, "):
            yield f"… {title.removeprefix(f'{whole}, ')}"
        else:
            whole = title
            yield title


def _rfc_table(title: str, experiments: Sequence[ExperimentRecord]) -> Table:
    stated = [conditions(experiment) for experiment in experiments]
    labels = dict.fromkeys(label for each in stated for label in each)
    rows: list[tuple[str, ...]] = [
        (label, *(each.get(label, wording.ABSENT) for each in stated))
        for label in labels
        if any(each.get(label, wording.ABSENT) != wording.ABSENT for each in stated)
    ]
    rows.extend(statistics_rows(experiments))
    rows.extend(further_rows(experiments))
    rows.extend(aggregate_rows(experiments))
    if any(experiment.baseline for experiment in experiments):
        rows.append((RATIO, *map(headlines.baseline_ratio, experiments)))
    columns = (Column(""), *(Column(_marked(experiment), numeric=True) for experiment in experiments))
    table = Table(title, columns, tuple(rows), frozenset({MEDIAN}), percentiles_note(experiments))
    return table.with_note(intervals_note(experiments)).with_note(headlines.ratios_note(experiments))
