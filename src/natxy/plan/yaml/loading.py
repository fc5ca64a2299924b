# SPDX-License-Identifier: Apache-2.0
"""Loads a plan from YAML. Every error names the file, line, column and field, and what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from natxy.errors import PlanError, PlanFileError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.model.problems import Location, PlanProblems, Problem, field_path, shortened
from natxy.plan.model.table_size import sized
from natxy.plan.procedures import takers
from natxy.plan.resolve import resolve
from natxy.plan.written import ExperimentPlan
from natxy.plan.yaml.field_errors import unknown
from natxy.plan.yaml.frame_size_lists import with_listed_sizes
from natxy.plan.yaml.parsing import parse
from natxy.plan.yaml.schema import OWN_FIELDS
from natxy.plan.yaml.sweep import Cell, cells_of
from natxy.plan.yaml.syntax import why_no_yaml
from natxy.plan.yaml.validating import validated
from natxy.untrusted.validation import guess_path

# Each experiment takes at least seconds. More are a mistake in a sweep, and would fill the memory.
MOST_EXPERIMENTS: Final = 10_000

# Bytes: more than MOST_EXPERIMENTS need with all their defaults. Without a limit, reading a device would not end.
_LONGEST: Final = 64 * 2**20

# Mend these first.
_MOST_SHOWN: Final = 20

# An experiment overrides these mappings of `defaults` key by key. It replaces every other field as a whole.
_MERGED: Final = frozenset({"search", "timing", "orders", "ports"})


def load_plan(path: Path, *, repeat: int | None = None, only: Sequence[str] = ()) -> ResolvedPlan:
    """Returns the resolved plan; see `resolve` for `repeat` and `only`.

    PlanError lists all errors of the file that can be found before any of them is mended.
    """
    return plan_of(_read(path), path, repeat=repeat, only=only)


def plan_of(text: str, path: Path, *, repeat: int | None = None, only: Sequence[str] = ()) -> ResolvedPlan:
    """Returns the resolved plan of a text, as `load_plan` does; errors name `path`."""
    document = _parse(path, text)
    try:
        return _checked(document, repeat, only)
    except PlanProblems as found:
        lines = _lines(path, document, found.problems)
        if len(lines) > _MOST_SHOWN:
            lines[_MOST_SHOWN:] = [f"and {len(lines) - _MOST_SHOWN:,} more"]
        if not found.complete:
            lines.append("Mend these first: what depends on them could not be checked.")
        raise PlanFileError("\n".join([f"the plan {path} has errors:", *lines])) from found


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        # `natxy list plans` prints the names without the folder.
        ready = Path("plans") / f"{path.name}.yaml"
        near = ""
        if isinstance(error, FileNotFoundError):
            near = f"; did you mean {ready}?" if ready.exists() else guess_path(path)
        raise PlanError(f"the plan {path} cannot be read: {reason}{near}") from error
    if len(content) > _LONGEST:
        raise PlanError(f"the plan {path} cannot be read: it is longer than {_LONGEST // 2**20} MiB")
    return text


def _parse(path: Path, text: str) -> CommentedMap:
    try:
        document = parse(text)
    except YAMLError as error:
        raise PlanFileError(why_no_yaml(path, text, error)) from error
    if not isinstance(document, CommentedMap):
        raise PlanFileError(f"{path}: expected a mapping with `name` and `experiments`, as in plans/quickstart.yaml")
    return document


def _checked(document: CommentedMap, repeat: int | None, only: Sequence[str]) -> ResolvedPlan:
    """Returns the resolved plan. Raises PlanProblems with those of every step, located in the document."""
    defaults = document.get("defaults") or {}
    cells, problems = _cells(document, defaults)
    left_out = bool(problems)
    problems += _default_problems(defaults)
    valid = validated({key: value for key, value in document.items() if key != "defaults"}, cells)
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
        if name in _MERGED and isinstance(base, Mapping) and isinstance(value, Mapping):
            merged[name] = {**base, **value}
        else:
            merged[name] = value
    # `connections: null` cancels a default.
    return {name: value for name, value in merged.items() if value is not None}


def _lines(path: Path, document: CommentedMap, problems: Iterable[Problem]) -> list[str]:
    """Returns a line for each problem, in the file's order; an error in a default is one line for all experiments."""
    lines: dict[tuple[int, int, str, str], None] = {}
    for problem in problems:
        line, column, found = _locate(document, problem.location)
        lines[line, column, field_path(found), problem.message] = None
    return [
        f"{path}:{line}:{column}: {shortened(f'{field}: {text}' if field else text)}"
        for line, column, field, text in sorted(lines)
    ]


def _locate(document: CommentedMap, location: Location) -> tuple[int, int, Location]:
    """Returns line and column, counted from 1, and the location without the parts that the YAML does not have.

    A field that an experiment takes from `defaults` is located there.
    """
    nodes: list[tuple[object, Location]] = [(document, ())]
    line, column = 0, 0
    found: Location = ()
    lacking: Location = ()
    for position, part in enumerate(location):
        deeper = []
        for node, path in nodes:
            if isinstance(node, CommentedMap) and part in node:
                deeper.append((node[part], (*path, part), node.lc.key(part)))
            elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
                deeper.append((node[part], (*path, part), node.lc.item(part)))
        if not deeper:
            # The last part is a missing field, perhaps of a missing mapping. Other parts are pydantic's names of a
            # union's members.
            if position == len(location) - 1 and isinstance(nodes[0][0], CommentedMap):
                found = (*nodes[0][1], *lacking, part)
            elif part in _MERGED:
                lacking = (*lacking, part)
            continue
        # A field that came by `<<` has no place of its own.
        line, column = deeper[0][2] or (line, column)
        found = deeper[0][1]
        nodes = [(node, path) for node, path, _ in deeper]
        if location[: position + 1] == ("experiments", part) and isinstance(document.get("defaults"), CommentedMap):
            nodes.append((document["defaults"], ("defaults",)))
    return line + 1, column + 1, found
