# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a list in a field that takes a single value makes an experiment, a cell, of each of its values. Fields that
change together are rows of `sweep`.

Sweeps are expanded in the YAML document, before it is validated. Later layers see cells as ordinary experiments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from natxy.plan.model.problems import Location, PlanProblems, Problem
from natxy.plan.model.terms import NAME_PATTERN
from natxy.plan.yaml.coordinates import in_words, labels, leaves, name_part
from natxy.plan.yaml.schema import Path, takes_single_value

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Coordinate:
    """A swept field of a cell: its value is item `index` of the list at `path`, or in a row, if `index` is None."""

    path: Path
    index: int | None
    label: str
    is_named: bool = True
    """Names and titles include it, unless another field of the row identifies the cell already."""


@dataclass(frozen=True)
class Cell:
    """One experiment of a sweep.

    `number` is that of the swept experiment in the plan. `fields` are as written, with a single value for each; they
    include those of `row`, the row `row_number` of `sweep`.
    """

    number: int
    fields: object
    coordinates: tuple[Coordinate, ...] = ()
    row: object = None
    row_number: int = 0

    def origin(self, location: Location) -> Location:
        """Converts `location`, a path within this cell, to the path in the plan as written."""
        if _is_in(self.row, location):
            return ("experiments", self.number, "sweep", self.row_number, *location)
        items = {each.path: each.index for each in self.coordinates if each.index is not None}
        beginnings = {path[:length] for path in items for length in range(1, len(path) + 1)}
        written: list[str | int] = ["experiments", self.number]
        path: Path = ()
        for part in location:
            written.append(part)
            # Other parts are pydantic's names of a union's members, which the document does not have.
            if (*path, part) in beginnings:
                path = (*path, str(part))
                written += [items[path]] if path in items else []
        return tuple(written)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the swept fields, by field; empty if nothing is swept, as in a resolved plan."""
        return {".".join(each.path): each.label for each in self.coordinates}

    def named(self) -> Cell:
        """Returns the cell with a name and a title that distinguish it from the other cells."""
        if not self.coordinates or not isinstance(self.fields, Mapping):
            return self
        name, title = self.fields.get("name"), self.fields.get("title")
        named = [coordinate for coordinate in self.coordinates if coordinate.is_named]
        own: dict[str, Any] = {}
        if isinstance(name, str) and re.fullmatch(NAME_PATTERN, name):
            own["name"] = f"{name}/{','.join(name_part(c.path, c.label) for c in named)}"
            own["sweep"] = name
        if isinstance(called := title or name, str):
            own["title"] = ", ".join([called, *(in_words(c.path, c.label) for c in named)])
        return replace(self, fields={**self.fields, **own})


# Elsewhere in a plan a list of addresses is one set, and so readers take a list for one here.
_LISTED_ELSEWHERE: Final = {
    "pool": "a list would be as many experiments with one of its items each; give one prefix that has all public "
    "addresses, or rows of `sweep` for experiments with different pools"
}


def cells_of(number: int, experiment: object, complete: Callable[[object], object]) -> Iterator[Cell]:
    """Yields the cells of an experiment as written, or one cell if nothing is swept. The first list varies slowest.

    `complete` adds the plan's defaults, whose lists vary fastest. Raises PlanProblems for a list that cannot be swept.
    """
    for own in _expanded(Cell(number, experiment)):
        for rows in _rows(replace(own, fields=complete(own.fields))):
            for cell in _expanded(rows):
                yield cell.named()


def _expanded(cell: Cell) -> Iterator[Cell]:
    swept = _first_list(cell.fields)
    if swept is None:
        yield cell
        return
    path, items = swept
    if problem := _LISTED_ELSEWHERE.get(path[-1]) or _problem(items, path[-1]):
        raise PlanProblems([Problem(cell.origin(path), problem)])
    for index, label in enumerate(labels(items)):
        coordinates = (*cell.coordinates, Coordinate(path, index, label))
        yield from _expanded(replace(cell, fields=_with(cell.fields, path, items[index]), coordinates=coordinates))


def _rows(cell: Cell) -> Iterator[Cell]:
    """Yields a cell for each row of the experiment's `sweep`."""
    rows = cell.fields.get("sweep") if isinstance(cell.fields, Mapping) else None
    if not isinstance(rows, list):
        yield cell
        return
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        text = "expected a list of mappings of the fields that change together, such as {connections: 1M, alpha: 0.5}"
        raise PlanProblems([Problem(cell.origin(("sweep",)), text)])
    below = {name: value for name, value in _mapping(cell.fields).items() if name != "sweep"}
    combined = [_laid_over(below, row) for row in rows]
    labelled = {path: labels([_value(fields, path) for fields in combined]) for path in _common_paths(rows)}
    swept = {path: values for path, values in labelled.items() if len(set(values)) > 1}
    first_suffices = bool(swept) and len(set(next(iter(swept.values())))) == len(rows)
    for number, (row, fields) in enumerate(zip(rows, combined, strict=True)):
        own = [
            Coordinate(path, None, values[number], is_named=not (first_suffices and position))
            for position, (path, values) in enumerate(swept.items())
        ]
        coordinates = (*cell.coordinates, *own)
        yield replace(cell, fields=fields, coordinates=coordinates, row=row, row_number=number)


def _common_paths(rows: Sequence[Fields]) -> list[Path]:
    """Returns the paths of all values of the rows. A mapping that is a plain value in another row counts as a whole."""
    paths = dict.fromkeys(path for row in rows for path, _ in leaves(row))
    return [path for path in paths if not any(path[:length] in paths for length in range(1, len(path)))]


def _value(fields: object, path: Path) -> object:
    """Returns the value at `path`, or None."""
    for name in path:
        fields = fields.get(name) if isinstance(fields, Mapping) else None
    return fields


def _laid_over(base: object, fields: Fields) -> Fields:
    """Returns `base` with the values of `fields`, merged at all depths."""
    below = base if isinstance(base, Mapping) else {}
    above = {
        name: _laid_over(below.get(name), value) if isinstance(value, Mapping) else value
        for name, value in fields.items()
    }
    return {**below, **above}


def _is_in(row: object, location: Location) -> bool:
    """Reports whether `location` is in a value of the row."""
    for part in location:
        if isinstance(row, Mapping) and part in row:
            row = row[part]
    return row is not None and not isinstance(row, Mapping)


def _problem(items: Sequence[object], field: str | int) -> str:
    if not items:
        return "the list is empty; give the values to sweep, or a single value"
    if None in items:
        return "an item of the list is empty; give a value, or write a separate experiment without this field"
    if any(isinstance(item, list) for item in items):
        return "a list within the list; write all values to sweep into one list"
    seen = set()
    for label, item in zip(labels(items), items, strict=True):
        frozen = _frozen(item)
        if frozen in seen:
            chain = ", or write {driver: chain, gateways: […]} for one behind the other" if field == "gateway" else ""
            return f"{label} is in the list twice; remove one{chain}"
        seen.add(frozen)
    return ""


def _frozen(value: object) -> object:
    """Returns a hashable value that is equal for equal values."""
    match value:
        case Mapping():
            return frozenset((name, _frozen(inner)) for name, inner in value.items())
        case list():
            return tuple(map(_frozen, value))
        case _:
            return value


def _first_list(fields: object, path: Path = ()) -> tuple[Path, Sequence[Any]] | None:
    if not isinstance(fields, Mapping):
        return None
    for name, value in fields.items():
        here = (*path, str(name))
        if isinstance(value, list) and takes_single_value(here, str(fields.get("driver"))):
            return here, value
        if found := _first_list(value, here):
            return found
    return None


def _with(fields: object, path: Path, value: object) -> Fields:
    name, *rest = path
    return {**_mapping(fields), name: _with(_mapping(fields)[name], tuple(rest), value) if rest else value}


def _mapping(fields: object) -> Fields:
    assert isinstance(fields, Mapping)
    return fields
