# SPDX-License-Identifier: Apache-2.0
"""The cells of a swept experiment, found together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from natxy.plan.model.traffic import CellValue
from natxy.results.records import ExperimentRecord, RunRecord

_MOST_COLUMNS: Final = 8


@dataclass(frozen=True)
class Sweep:
    """Cells with one headline, in the plan's order; `fields` are the plan's paths, such as `gateway.conntrack_max`, but
    not of what only changes together with those before it."""

    name: str
    title: str
    fields: tuple[str, ...]
    cells: tuple[ExperimentRecord, ...]

    @property
    def places(self) -> tuple[tuple[CellValue, ...], ...]:
        """Every cell's coordinates, in the fields' order."""
        return tuple(tuple(cell.cell[field] for field in self.fields) for cell in self.cells)

    @property
    def stands_in_rows(self) -> bool:
        """RFC 2544 §26 wants a row for every frame size, and more columns nobody sees at once."""
        return "frame_size" in self.fields or len(self.cells) > _MOST_COLUMNS


@dataclass(frozen=True)
class SweepGroup:
    """Sweeps over the very same coordinates, whose cells are columns of one table; or a single sweep."""

    sweeps: tuple[Sweep, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return self.sweeps[0].fields

    @property
    def places(self) -> tuple[tuple[CellValue, ...], ...]:
        return self.sweeps[0].places


def sweeps(run: RunRecord) -> list[Sweep]:
    """In the plan's order. Cells of different procedures with different headlines are sweeps of their own."""
    found: dict[object, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.sweep is not None:
            found.setdefault((experiment.sweep, experiment.declaration.headline()), []).append(experiment)
    return [Sweep(str(cells[0].sweep), _title(cells), _fields(cells), tuple(cells)) for cells in found.values()]


def sweep_groups(run: RunRecord) -> list[SweepGroup]:
    groups: dict[object, list[Sweep]] = {}
    for sweep in sweeps(run):
        alone = (sweep.name, sweep.cells[0].procedure) if sweep.stands_in_rows else None
        groups.setdefault((sweep.fields, sweep.places, alone), []).append(sweep)
    return [SweepGroup(tuple(group)) for group in groups.values()]


def as_number(coordinate: CellValue) -> int | float | None:
    """None where it is a word, or yes or no."""
    return None if isinstance(coordinate, bool | str) else coordinate


def shared_fields(cells: Sequence[ExperimentRecord]) -> list[str]:
    """Those that all of them have: rows of a sweep may each give others besides."""
    return [field for field in cells[0].cell if all(field in cell.cell for cell in cells)]


def _fields(cells: Sequence[ExperimentRecord]) -> tuple[str, ...]:
    fields: list[str] = []
    for field in shared_fields(cells):
        before = [tuple(cell.cell[each] for each in fields) for cell in cells]
        after = {(*place, cell.cell[field]) for place, cell in zip(before, cells, strict=True)}
        if not fields or len(after) > len(set(before)):
            fields.append(field)
    return tuple(fields)


def _title(cells: Sequence[ExperimentRecord]) -> str:
    """What the cells' titles, `NAT44, 2 cores`, begin with alike."""
    titles = (cell.title.split(", ") for cell in cells)
    shared = takewhile(lambda words: len(set(words)) == 1, zip(*titles, strict=False))
    return ", ".join(words[0] for words in shared) or str(cells[0].sweep)
