# SPDX-License-Identifier: Apache-2.0
"""Loads a plan from YAML. Every error names the file, line, column and field, and what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from natxy.plan.model.problems import PlanProblems, Problem
from natxy.plan.model.table_size import sized
from natxy.plan.procedures import takers
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import ExperimentPlan
from natxy.plan.yaml.document import MERGED, document_error, parse_document, read_text
from natxy.plan.yaml.field_errors import unknown
from natxy.plan.yaml.frame_size_lists import with_listed_sizes
from natxy.plan.yaml.schema import OWN_FIELDS
from natxy.plan.yaml.sweep import Cell, cells_of
from natxy.plan.yaml.validating import validated

# Each experiment takes at least seconds. More are a mistake in a sweep, and would fill the memory.
MOST_EXPERIMENTS: Final = 10_000


def load_plan(
    path: Path | str, *, repeat: int | None = None, only: Sequence[str] = (), changes: Mapping[str, Any] | None = None
) -> ResolvedPlan:
    """Returns the resolved plan; see `resolve` for `repeat` and `only`.

    `changes` replaces fields of the file, those of mappings one by one. PlanError lists all errors of the file that can
    be found before any of them is mended.
    """
    path = Path(path)
    return plan_of(read_text(path, "plan"), path, repeat=repeat, only=only, changes=changes)


def plan_of(
    text: str,
    path: Path,
    *,
    repeat: int | None = None,
    only: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> ResolvedPlan:
    """Returns the resolved plan of a text, as `load_plan` does; errors name `path`."""
    document = parse_document(path, text, "`name` and `experiments`, as in plans/quickstart.yaml")
    _change(document, changes or {})
    try:
        return _checked(document, path.parent, repeat, only)
    except PlanProblems as found:
        raise document_error(path, "plan", document, found, inherited={"experiments": "defaults"}) from found


def problems_of(text: str) -> Sequence[Problem]:
    """Returns the errors of a plan that is in no file, such as one that is about to be written."""
    try:
        _checked(parse_document(Path(), text, "`name` and `experiments`"), Path(), None, ())
    except PlanProblems as found:
        return found.problems
    return ()


def _change(document: CommentedMap, changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        # A testbed has other fields for each kind.
        if name != "testbed" and isinstance(value, Mapping) and isinstance(document.get(name), CommentedMap):
            _change(document[name], value)
        else:
            document[name] = value


def _checked(document: CommentedMap, folder: Path, repeat: int | None, only: Sequence[str]) -> ResolvedPlan:
    """Returns the resolved plan. Raises PlanProblems with those of every step, located in the document."""
    defaults = document.get("defaults") or {}
    cells, problems = _cells(document, defaults)
    left_out = bool(problems)
    problems += _default_problems(defaults)
    valid = validated({key: value for key, value in document.items() if key != "defaults"}, cells, folder)
    of_cells = [*valid.problems]
    left_out |= len(valid.numbers) < len(cells)
    resolved, complete = None, False
    if valid.plan:
        try:
            known = () if problems or of_cells else only
            resolved = resolve(valid.plan, repeat=repeat, only=known, left_out=left_out)
            complete = not left_out
        except PlanProblems as found:
            of_cells += map(valid.of_cell, found.problems)
            complete = found.complete
    problems += [_as_written(problem, cells) for problem in of_cells]
    if problems or resolved is None:
        raise PlanProblems(problems, complete=complete)
    return resolved


def _cells(document: CommentedMap, defaults: object) -> tuple[list[Cell], list[Problem]]:
    """Returns the experiments whose lists can be swept, each with its defaults and without lists; and the problems of
    the others. Without a list of experiments there are no cells."""
    experiments = document.get("experiments")
    if not isinstance(experiments, CommentedSeq) or not isinstance(defaults, Mapping):
        return [], []

    def listed(experiment: object) -> object:
        return with_listed_sizes(experiment, _merged(defaults, experiment), document.get("family"))

    found: list[Cell] = []
    problems: list[Problem] = []
    for number, experiment in enumerate(experiments):
        try:
            swept = cells_of(number, listed(experiment), lambda fields: listed(_merged(defaults, fields)))
            cells = [replace(cell, fields=sized(cell.fields)) for cell in islice(swept, MOST_EXPERIMENTS)]
            if next(swept, None) is not None or len(found) + len(cells) > MOST_EXPERIMENTS:
                text = f"the lists give more than {MOST_EXPERIMENTS:,} experiments; shorten them"
                raise PlanProblems([Problem(("experiments", number), text)])
            found += cells
        except PlanProblems as wrong:
            problems.extend(wrong.problems)
    return found, problems


def _as_written(problem: Problem, cells: Sequence[Cell]) -> Problem:
    """Moves a problem from the cell that has it to the place in the file that the cell's value comes from."""
    match problem.location:
        case ("experiments", int(number), *within) if cells:
            return replace(problem, location=cells[number].origin(tuple(within)))
    return problem


def _default_problems(defaults: object) -> Iterable[Problem]:
    if not isinstance(defaults, Mapping):
        yield Problem(("defaults",), "expected a mapping of experiment fields")
        return
    known = [name for name in ExperimentPlan.model_fields if name not in OWN_FIELDS]
    for name in defaults:
        if name not in known:
            yield Problem(("defaults", name), unknown(("defaults", name)))


def _merged(defaults: Mapping[str, Any], experiment: object) -> object:
    """Returns the experiment with the defaults that it does not override."""
    if not isinstance(experiment, Mapping):
        return experiment
    procedure = experiment.get("procedure", defaults.get("procedure"))
    procedure = procedure.get("name") if isinstance(procedure, Mapping) else procedure
    # A field that only some procedures take is a default for these alone.
    merged = {
        name: value
        for name, value in defaults.items()
        if name in ExperimentPlan.model_fields and (not takers(name) or procedure in takers(name))
    }
    for name, value in experiment.items():
        base = merged.get(name)
        if name in MERGED and isinstance(base, Mapping) and isinstance(value, Mapping):
            merged[name] = {**base, **value}
        else:
            merged[name] = value
    # `connections: null` cancels a default.
    return {name: value for name, value in merged.items() if value is not None}
