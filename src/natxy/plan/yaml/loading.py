# SPDX-License-Identifier: Apache-2.0
"""Reads a plan from YAML so that every error names file, line, column, field, and what was expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.model.problems import Location, PlanProblems, Problem, field_path
from natxy.plan.model.table_size import sized
from natxy.plan.procedures import takers
from natxy.plan.resolve import resolve
from natxy.plan.written import ExperimentPlan, Plan
from natxy.plan.yaml.field_errors import explained_all, unknown
from natxy.plan.yaml.frame_size_lists import with_listed_sizes
from natxy.plan.yaml.schema import OWN_FIELDS
from natxy.plan.yaml.sweep import Cell
from natxy.plan.yaml.sweep import cells as cells_of
from natxy.plan.yaml.syntax import why_no_yaml

# Each takes seconds at the least; more are a mistake in a sweep, and would fill the memory.
MOST_EXPERIMENTS: Final = 10_000

# Bytes, more than so many experiments with all their defaults have; a device has no end.
_LONGEST: Final = 64 * 2**20

# Mappings of `defaults` that an experiment may override key by key; every other field is replaced whole.
_MERGED: Final = frozenset({"search", "timing", "orders", "ports"})


def load_plan(path: Path, *, repeat: int | None = None, only: Sequence[str] = ()) -> ResolvedPlan:
    """PlanError lists everything that is wrong with the file; see `resolve` for `repeat` and `only`."""
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        # `natxy list plans` names them so.
        ready = Path("plans") / f"{path.name}.yaml"
        guess = f"; did you mean {ready}?" if isinstance(error, FileNotFoundError) and ready.exists() else ""
        raise PlanError(f"the plan {path} cannot be read: {reason}{guess}") from error
    if len(content) > _LONGEST:
        raise PlanError(f"the plan {path} cannot be read: it is longer than {_LONGEST // 2**20} MiB")
    try:
        return _loaded(path, text, repeat, only)
    except RecursionError as error:
        raise PlanError(f"{path}: nested too deep, or an alias stands in its own anchor; write it flatter") from error


def _loaded(path: Path, text: str, repeat: int | None, only: Sequence[str]) -> ResolvedPlan:
    document = _parse(path, text)
    cells = None
    try:
        cells = _cells(document)
        return resolve(_validate(document, cells), repeat=repeat, only=only)
    except PlanProblems as found:
        lines = _lines(path, document, [_as_written(problem, cells) for problem in found.problems])
        raise PlanError("\n".join([f"the plan {path} is wrong:", *lines])) from found


def _parse(path: Path, text: str) -> CommentedMap:
    try:
        document = YAML().load(text)
    except YAMLError as error:
        raise PlanError(why_no_yaml(path, text, error)) from error
    if not isinstance(document, CommentedMap):
        raise PlanError(f"{path}: expected a mapping with `name` and `experiments`; see plans/quickstart.yaml")
    return document


def _cells(document: CommentedMap) -> list[Cell] | None:
    """Every experiment with its defaults and without lists; None where there are no experiments to be read."""
    defaults, experiments = document.get("defaults") or {}, document.get("experiments")
    if not isinstance(experiments, CommentedSeq) or not isinstance(defaults, Mapping):
        return None

    def listed(experiment: object) -> object:
        return with_listed_sizes(experiment, _merged(defaults, experiment), document.get("family"))

    found: list[Cell] = []
    problems: list[Problem] = []
    for number, experiment in enumerate(experiments):
        try:
            swept = cells_of(number, listed(experiment), lambda fields: listed(_merged(defaults, fields)))
            found += [replace(cell, fields=sized(cell.fields)) for cell in islice(swept, MOST_EXPERIMENTS)]
            if next(swept, None) is not None or len(found) > MOST_EXPERIMENTS:
                text = f"its lists give more than {MOST_EXPERIMENTS:,} experiments; shorten them"
                raise PlanProblems([Problem(("experiments", number), text)])
        except PlanProblems as unfit:
            problems.extend(unfit.problems)
    if problems:
        raise PlanProblems(problems)
    return found


def _as_written(problem: Problem, cells: Sequence[Cell] | None) -> Problem:
    match problem.location:
        case ("experiments", int(number), *within) if cells:
            return replace(problem, location=cells[number].origin(tuple(within)))
    return problem


def _validate(document: CommentedMap, cells: Sequence[Cell] | None) -> Plan:
    problems = [*_default_problems(document.get("defaults") or {})]
    given = {key: value for key, value in document.items() if key != "defaults"}
    if cells is not None:
        given["experiments"] = [cell.fields for cell in cells]
    try:
        plan = Plan.model_validate(given)
    except ValidationError as error:
        problems += explained_all(error.errors())
    if problems:
        raise PlanProblems(problems)
    return plan


def _default_problems(defaults: object) -> Iterable[Problem]:
    if not isinstance(defaults, Mapping):
        yield Problem(("defaults",), "expected a mapping of experiment fields")
        return
    known = [name for name in ExperimentPlan.model_fields if name not in OWN_FIELDS]
    for name in defaults:
        if name not in known:
            yield Problem(("defaults", name), unknown(str(name), known))


def _merged(defaults: Mapping[str, Any], experiment: object) -> object:
    if not isinstance(experiment, Mapping):
        return experiment
    procedure = experiment.get("procedure", defaults.get("procedure"))
    procedure = procedure.get("name") if isinstance(procedure, Mapping) else procedure
    # Defaults that only some procedures take don't reach the others.
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
    # `connections: null` takes a default back.
    return {name: value for name, value in merged.items() if value is not None}


def _lines(path: Path, document: CommentedMap, problems: Iterable[Problem]) -> list[str]:
    """One line a problem, in the file's order. A wrong default is told once, not for every experiment."""
    told: dict[tuple[int, int, str, str], None] = {}
    for problem in problems:
        line, column, found = _locate(document, problem.location)
        told[line, column, field_path(found), problem.message] = None
    return [
        f"{path}:{line}:{column}: {field + ': ' if field else ''}{text}" for line, column, field, text in sorted(told)
    ]


def _locate(document: CommentedMap, location: Location) -> tuple[int, int, Location]:
    """Line and column from 1, and the path without parts that no YAML key stands for.

    What an experiment has from `defaults` is found there.
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
            # A last part that is in no mapping is a missing field, which a mapping may be missing with; others are
            # names of a union's members.
            if position == len(location) - 1 and isinstance(nodes[0][0], CommentedMap):
                found = (*nodes[0][1], *lacking, part)
            elif part in _MERGED:
                lacking = (*lacking, part)
            continue
        line, column = deeper[0][2]
        found = deeper[0][1]
        nodes = [(node, path) for node, path, _ in deeper]
        if location[: position + 1] == ("experiments", part) and isinstance(document.get("defaults"), CommentedMap):
            nodes.append((document["defaults"], ("defaults",)))
    return line + 1, column + 1, found
