# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a field of an experiment that is given as a list, where a single value belongs, makes an experiment of each
value.

This works on the YAML document, before any model has seen it: whoever reads a plan's experiments from there on finds
cells, ordinary experiments that know their place in the sweep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from natxy.plan.coordinates import Path, in_words, labels, name_part
from natxy.plan.models import NAME_PATTERN
from natxy.plan.problems import Location, PlanProblems, Problem
from natxy.plan.schema import single_fields

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Coordinate:
    """One swept field of a cell: the value is the item `index` of the list at `path`."""

    path: Path
    index: int
    label: str


@dataclass(frozen=True)
class Cell:
    """`fields`: an experiment's as written, with one value for each; `number`: the experiment's in the plan."""

    number: int
    fields: object
    coordinates: tuple[Coordinate, ...] = ()

    def origin(self, location: Location) -> Location:
        """Where in the plan as written stands what is at `location`, a path within this cell."""
        items = {coordinate.path: coordinate.index for coordinate in self.coordinates}
        beginnings = {path[:length] for path in items for length in range(1, len(path) + 1)}
        written: list[str | int] = ["experiments", self.number]
        path: Path = ()
        for part in location:
            written.append(part)
            # Other parts are names of a union's members, which stand in no document.
            if (*path, part) in beginnings:
                path = (*path, str(part))
                written += [items[path]] if path in items else []
        return tuple(written)

    def named(self) -> Cell:
        """With the name, title and coordinates that tell it from the other cells."""
        if not self.coordinates or not isinstance(self.fields, Mapping):
            return self
        name, title = self.fields.get("name"), self.fields.get("title")
        own: dict[str, Any] = {"cell": {".".join(c.path): c.label for c in self.coordinates}}
        if isinstance(name, str) and re.fullmatch(NAME_PATTERN, name):
            own["name"] = f"{name}/{','.join(name_part(c.path, c.label) for c in self.coordinates)}"
            own["sweep"] = name
        if isinstance(called := title or name, str):
            own["title"] = ", ".join([called, *(in_words(c.path, c.label) for c in self.coordinates)])
        return replace(self, fields={**self.fields, **own})


def cells(number: int, experiment: object, complete: Callable[[object], object]) -> Iterator[Cell]:
    """The cells of an experiment as written, one if nothing is swept; the first list varies slowest.

    `complete` adds the plan's defaults: their lists vary fastest. PlanProblems for lists that cannot be swept.
    """
    for own in _expanded(Cell(number, experiment)):
        for cell in _expanded(replace(own, fields=complete(own.fields))):
            yield cell.named()


def _expanded(cell: Cell) -> Iterator[Cell]:
    swept = _first_list(cell.fields)
    if swept is None:
        yield cell
        return
    path, items = swept
    if problem := _problem(items):
        raise PlanProblems([Problem(cell.origin(path), problem)])
    for index, label in enumerate(labels(items)):
        coordinates = (*cell.coordinates, Coordinate(path, index, label))
        yield from _expanded(replace(cell, fields=_with(cell.fields, path, items[index]), coordinates=coordinates))


def _problem(items: Sequence[object]) -> str:
    if not items:
        return "an empty list; give the values to sweep, or one value"
    if None in items:
        return "a value of the list is empty; give one, or two experiments instead"
    twice = [label for label, item in zip(labels(items), items, strict=True) if items.count(item) > 1]
    return f"{twice[0]} stands in the list twice" if twice else ""


def _first_list(fields: object, path: Path = ()) -> tuple[Path, Sequence[Any]] | None:
    if not isinstance(fields, Mapping):
        return None
    for name, value in fields.items():
        here = (*path, str(name))
        if isinstance(value, list) and here in SWEPT:
            return here, value
        if found := _first_list(value, here):
            return found
    return None


def _with(fields: object, path: Path, value: object) -> Fields:
    assert isinstance(fields, Mapping)
    name, *rest = path
    return {**fields, name: _with(fields[name], tuple(rest), value) if rest else value}


# What a cell is made of isn't swept itself.
SWEPT: Final = single_fields() - {("name",), ("title",), ("sweep",), ("cell",)}
