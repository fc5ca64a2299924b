# SPDX-License-Identifier: Apache-2.0
"""The cells of a swept experiment, found together again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from natxy.results.records import ExperimentRecord, RunRecord


@dataclass(frozen=True)
class Coordinate:
    """A cell's value of a swept field: as a reader names it, and as a number where the plan has one."""

    label: str
    number: int | float | None


@dataclass(frozen=True)
class Sweep:
    """Cells with one headline, in the plan's order; `fields` are the plan's paths, such as `gateway.conntrack_max`."""

    name: str
    title: str
    fields: tuple[str, ...]
    cells: tuple[ExperimentRecord, ...]

    @property
    def places(self) -> tuple[tuple[Coordinate, ...], ...]:
        """Every cell's, in the fields' order."""
        return tuple(tuple(coordinate(cell, field) for field in self.fields) for cell in self.cells)


@dataclass(frozen=True)
class SweepGroup:
    """Sweeps over the very same coordinates: they stand in one table."""

    sweeps: tuple[Sweep, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return self.sweeps[0].fields

    @property
    def places(self) -> tuple[tuple[Coordinate, ...], ...]:
        return self.sweeps[0].places


def sweeps(run: RunRecord) -> list[Sweep]:
    """In the plan's order. Cells of different procedures with different headlines are sweeps of their own."""
    found: dict[object, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.sweep is not None:
            found.setdefault((experiment.sweep, experiment.declaration.headline()), []).append(experiment)
    return [Sweep(str(cells[0].sweep), _title(cells), tuple(cells[0].cell), tuple(cells)) for cells in found.values()]


def sweep_groups(run: RunRecord) -> list[SweepGroup]:
    groups: dict[object, list[Sweep]] = {}
    for sweep in sweeps(run):
        groups.setdefault((sweep.fields, sweep.places), []).append(sweep)
    return [SweepGroup(tuple(group)) for group in groups.values()]


def coordinate(cell: ExperimentRecord, field: str) -> Coordinate:
    """KeyError when the field isn't swept."""
    label, planned = cell.cell[field], _planned(cell.settings, field.split("."))
    number = planned if isinstance(planned, int | float) and not isinstance(planned, bool) else None
    return Coordinate(str(label), number)


def _planned(settings: object, path: Sequence[str]) -> object:
    for part in path:
        settings = settings.get(part) if isinstance(settings, Mapping) else None
    return settings


def _title(cells: Sequence[ExperimentRecord]) -> str:
    """What the cells' titles, `NAT44, 2 cores`, begin with alike."""
    titles = (cell.title.split(", ") for cell in cells)
    shared = takewhile(lambda words: len(set(words)) == 1, zip(*titles, strict=False))
    return ", ".join(words[0] for words in shared) or str(cells[0].sweep)
