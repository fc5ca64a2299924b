# SPDX-License-Identifier: Apache-2.0
"""Validates a plan by its models. What has an error is left out, so that the rest can be checked further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from natxy.plan.cells import as_cell
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.table_subscribers import PLAN_FOLDER
from natxy.plan.written import Plan
from natxy.plan.yaml.field_errors import explained_all
from natxy.plan.yaml.sweep import Cell


@dataclass(frozen=True)
class Validated:
    """Holds the plan without the experiments that have errors, None if errors elsewhere leave nothing to check.

    `numbers` are those of the cells that its experiments come from.
    """

    plan: Plan | None
    numbers: Sequence[int]
    problems: Sequence[Problem]

    def of_cell(self, problem: Problem) -> Problem:
        """Returns a problem in an experiment of the plan as one of the cell that it comes from."""
        return _of_cell(problem, self.numbers)


def validated(top: Mapping[str, Any], cells: Sequence[Cell], folder: Path) -> Validated:
    """Validates the plan's fields with the experiments in `cells`, and once more without those that have errors.

    An unknown field is ignored then, so that the other fields of its experiment are checked further. Without cells,
    only the fields beside the experiments are validated. Files that the plan names are seen from its `folder`.
    """
    problems: list[Problem] = []
    numbers = [*range(len(cells))]
    extra: Literal["forbid", "ignore"] = "forbid"
    while True:
        experiments = {"experiments": [cells[number].fields for number in numbers]} if cells else {}
        try:
            plan = Plan.model_validate({**top, **experiments}, extra=extra, context={PLAN_FOLDER: folder})
        except ValidationError as error:
            errors = error.errors()
            found = explained_all(errors)
            if not cells:
                return Validated(None, (), [each for each in found if _experiment(each.location) is None])
            problems += [_of_cell(problem, numbers) for problem in found]
            wrong = {_experiment(each["loc"]) for each in errors if each["type"] != "extra_forbidden"}
            numbers = [number for position, number in enumerate(numbers) if position not in wrong]
            if None in wrong or not numbers:
                return Validated(None, (), problems)
            extra = "ignore"
        else:
            return Validated(_with_labels(plan, [cells[number] for number in numbers]), numbers, problems)


def _with_labels(plan: Plan, cells: Sequence[Cell]) -> Plan | None:
    if not cells:
        return None
    experiments = [
        as_cell(experiment, cell.labels) if cell.labels else experiment
        for experiment, cell in zip(plan.experiments, cells, strict=True)
    ]
    return plan.model_copy(update={"experiments": experiments})


def _experiment(location: Location) -> int | None:
    """Returns the position of the experiment that a location is in, None elsewhere."""
    match location:
        case ("experiments", int(position), *_):
            return position
    return None


def _of_cell(problem: Problem, numbers: Sequence[int]) -> Problem:
    match problem.location:
        case ("experiments", int(position), *within):
            return replace(problem, location=("experiments", numbers[position], *within))
    return problem
