# SPDX-License-Identifier: Apache-2.0
"""The tables of swept experiments.

As in the source papers they have a column for each cell: first its coordinates, then the conditions that differ between
cells, then the results of each sweep over these coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from natxy.report.tables.statistics import (
    MEDIAN,
    NARROW_SPREAD,
    Row,
    aggregate_rows,
    further_rows,
    intervals_note,
    narrow_spread,
    percentiles_note,
    statistics_rows,
)
from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, states, wording
from natxy.report.words.conditions import conditions
from natxy.results.analysis.sweeps import Computed, Sweep, SweepGroup, computed, sweep_groups
from natxy.results.records import ExperimentRecord, RunRecord, State

# Procedures with so few further figures, such as the times of a tear-down, also show minima and maxima.
_FEW_FIGURES: Final = 3
_ALWAYS: Final = ("Sessions (connections)", "Source ports", "Destination ports")
# The conditions that a swept field states already.
_CONDITIONS: Final = {
    "gateway": "Gateway", "family": "IP version", "frame_size": "Frame size, FCS counted",
    "directions": "Directions", "connections": "Sessions (connections)", "pairs": "Pairs of interfaces",
    "ports.source": "Source ports",
    "ports.destination": "Destination ports", "alpha": "Validation rate",
}  # fmt: skip
_COMPUTED: Final[tuple[tuple[str, Callable[[Computed, str], str]], ...]] = (
    ("Relative scale-up", lambda c, gap: wording.scale_up(c.relative_scale_up, gap)),
    ("Relative performance", lambda c, gap: wording.ratio(c.relative_performance, gap)),
    ("Degradation", lambda c, gap: wording.ratio(c.degradation, gap)),
    ("Throughput ratio (to the baseline)", lambda c, gap: wording.ratio(c.throughput_ratio, gap)),
)
_NARROW_COMPUTED: Final = ("scale-up", "rel.", "degr.", "base")
_TABLE_SIZES: Final[tuple[tuple[str, Callable[[Computed, str], str]], ...]] = (
    ("Connection tracking table size", lambda c, _: wording.number(c.table_size)),
    ("Hash table size", lambda c, _: wording.number(c.hash_size)),
    ("Connections / table size", lambda c, _: wording.share(c.connections_per_table_entry)),
    ("Connections / hash table size", lambda c, _: wording.share(c.connections_per_hash_bucket)),
)


def sweep_tables(run: RunRecord) -> list[Table]:
    """Returns for each group of sweeps a table of its cells and one of what all cells have in common."""
    columns = computed(run)
    return [table for group in sweep_groups(run) for table in tables(group, columns)]


def group_title(group: SweepGroup) -> str:
    """Returns the titles of the sweeps, for a single one with its headline."""
    if len(group.sweeps) == 1:
        return f"{group.sweeps[0].title}: {headlines.kind(group.sweeps[0].cells[0])}"
    return "; ".join(sweep.title for sweep in group.sweeps)


def tables(group: SweepGroup, columns: Mapping[int, Computed]) -> tuple[Table, Table]:
    """Returns a table of the cells and one of what they have in common; `columns` has the run's computed values."""
    varying, same = _conditions(group)
    rows = [*_coordinates(group), *varying, *_table_sizes(group, columns)]
    for sweep in group.sweeps:
        prefix = "" if len(group.sweeps) == 1 else f"{sweep.title}, {wording.unit(sweep.cells[0].unit)}: "
        rows.extend((prefix + label, *cells) for label, *cells in _found(sweep, columns))
    title = group_title(group)
    medians = frozenset(row[0] for row in rows if row[0].endswith(MEDIAN))
    (first, *values), *others = rows
    head = (Column(first), *(Column(value, numeric=True) for value in values))
    cells = [cell for sweep in group.sweeps for cell in sweep.cells]
    note = _ratios_note(cells, columns)
    table = Table(title, head, tuple(others), medians, percentiles_note(cells))
    table = table.with_note(intervals_note(cells)).with_note(note)
    common = Table(f"{title}: common to all of them", (Column(""), Column("Value", numeric=True)), tuple(same))
    return table.transposed() if group.sweeps[0].has_cells_in_rows else table, common


def _coordinates(group: SweepGroup) -> Iterator[Row]:
    for index, field in enumerate(group.fields):
        yield (wording.field(field), *(wording.coordinate(of_cell[index]) for of_cell in group.coordinates))


def _conditions(group: SweepGroup) -> tuple[list[Row], list[tuple[str, str]]]:
    """Returns conditions that vary between cells, or are always listed, and those that all cells have in common."""
    known = {words for field in group.fields for words in (_CONDITIONS.get(field), wording.field(field))}
    stated = {sweep.title: _stated(sweep) for sweep in group.sweeps}
    varying: list[Row] = []
    same: list[tuple[str, str]] = []
    for label in dict.fromkeys(label for rows in stated.values() for label in rows):
        if label in known:
            continue
        titles_by_cells: dict[tuple[str, ...], list[str]] = {}
        for title, rows in stated.items():
            if label in rows:
                titles_by_cells.setdefault(rows[label], []).append(title)
        for cells, titles in titles_by_cells.items():
            words = label if len(titles_by_cells) == 1 else f"{', '.join(titles)}: {label}"
            always = label in _ALWAYS and any(_ALWAYS[0] in stated[title] for title in titles)
            if len(set(cells)) > 1 or always:
                varying.append((words, *cells))
            else:
                same.append((words, cells[0]))
    return varying, same


def _stated(sweep: Sweep) -> dict[str, tuple[str, ...]]:
    """Returns the conditions of every cell by label, without those that apply to none."""
    stated = [conditions(cell) for cell in sweep.cells]
    labels = dict.fromkeys(label for each in stated for label in each)
    cells = {label: tuple(each.get(label, wording.ABSENT) for each in stated) for label in labels}
    return {label: words for label, words in cells.items() if set(words) != {wording.ABSENT}}


def _table_sizes(group: SweepGroup, columns: Mapping[int, Computed]) -> Iterator[Row]:
    """Yields the table sizes of the first sweep that establishes connections."""
    for sweep in group.sweeps:
        own = [columns[cell.id] for cell in sweep.cells]
        if any(each.connections_per_table_entry for each in own):
            yield from _shown(_TABLE_SIZES, own)
            return


def _found(sweep: Sweep, columns: Mapping[int, Computed]) -> Iterator[Row]:
    cells = sweep.cells
    if any(cell.state is not State.DONE for cell in cells):
        yield ("State", *(states.state(cell) for cell in cells))
    yield from statistics_rows(cells)
    yield from aggregate_rows(cells)
    yield from further_rows(cells, extremes=len(cells[0].declaration.figures) <= _FEW_FIGURES + 1)
    yield from _shown(_COMPUTED, [columns[cell.id] for cell in cells])


def _shown(rows: Sequence[tuple[str, Callable[[Computed, str], str]]], own: Sequence[Computed]) -> Iterator[Row]:
    """Yields the computed rows that apply to any cell."""
    for label, show in rows:
        cells = [show(each, " ") for each in own]
        if set(cells) != {wording.ABSENT}:
            yield (label, *cells)


def overview(run: RunRecord) -> list[Table]:
    """Returns tables that fit into a terminal, with a row for each cell; ratios have intervals where there is room."""
    columns = computed(run)
    sweeps = [sweep for group in sweep_groups(run) for sweep in group.sweeps]
    return [replace(_overview(sweep, columns, " "), narrower=_overview(sweep, columns, "")) for sweep in sweeps]


def _overview(sweep: Sweep, columns: Mapping[int, Computed], gap: str) -> Table:
    """Returns the table; without `gap`, its ratios have no intervals."""
    shown = [
        (title, cells)
        for title, (_, show) in zip(_NARROW_COMPUTED, _COMPUTED, strict=True)
        if set(cells := [show(columns[cell.id], gap) for cell in sweep.cells]) != {wording.ABSENT}
    ]
    head = (
        *(Column(wording.field(field), numeric=True) for field in sweep.fields),
        *(Column(title, numeric=True) for title in (*NARROW_SPREAD, *(title for title, _ in shown))),
    )
    rows = tuple(
        (
            *(wording.coordinate(coordinate) for coordinate in coordinates),
            *narrow_spread(cell),
            *(cells[index] for _, cells in shown),
        )
        for index, (cell, coordinates) in enumerate(zip(sweep.cells, sweep.coordinates, strict=True))
    )
    title = f"{sweep.title}: {headlines.kind(sweep.cells[0])}"
    return Table(title, head, rows, note=_ratios_note(sweep.cells, columns))


def _ratios_note(cells: Iterable[ExperimentRecord], columns: Mapping[int, Computed]) -> str:
    return wording.ratios_note(each for cell in cells for each in columns[cell.id].ratios)
