# SPDX-License-Identifier: Apache-2.0
"""The cells of sweeps: gives their coordinates plain values, and links references to the cells that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from ipaddress import IPv4Address, IPv6Address

from natxy.plan.model.problems import Location, PlanProblems, Problem
from natxy.plan.model.search import KnownRate
from natxy.plan.model.terms import CellValue
from natxy.plan.model.traffic import PortRange
from natxy.plan.model.units import Percent
from natxy.plan.written import ExperimentPlan


def as_cell(experiment: ExperimentPlan, labels: Mapping[str, str]) -> ExperimentPlan:
    """Returns the experiment with its coordinates: the value of each swept field, or its label if it is not plain."""
    cell = {field: _plain(_value_at(experiment, field), label) for field, label in labels.items()}
    return experiment.model_copy(update={"cell": cell})


def linked(experiments: Sequence[ExperimentPlan]) -> tuple[list[ExperimentPlan], list[Problem]]:
    """Returns the experiments with references to cells instead of sweeps.

    A reference to a swept experiment means the cell with equal values in the fields that both sweep. It is a problem
    if there is no such cell, or more than one.
    """
    problems: list[Problem] = []
    result = []
    for number, experiment in enumerate(experiments):
        changes: dict[str, object] = {}
        for field, name, location in _references(experiment, ("experiments", number)):
            try:
                cell = _cell_meant(experiment, name, experiments, location)
            except PlanProblems as found:
                problems += found.problems
                continue
            old = getattr(experiment, field)
            changes[field] = old.model_copy(update={"experiment": cell}) if isinstance(old, KnownRate) else cell
        result.append(experiment.model_copy(update=changes))
    return result, problems


def _references(experiment: ExperimentPlan, location: Location) -> Iterator[tuple[str, str, Location]]:
    """Yields each field that refers to an experiment, with that experiment's name and the field's location."""
    for field in ("phase1_rate", "rate"):
        rate: KnownRate | None = getattr(experiment, field)
        if rate and rate.experiment:
            yield field, rate.experiment, (*location, field, "experiment")
    for field in ("baseline", "whole"):
        if name := getattr(experiment, field):
            yield field, name, (*location, field)


def _cell_meant(
    experiment: ExperimentPlan, name: str, experiments: Sequence[ExperimentPlan], location: Location
) -> str:
    cells = [other for other in experiments if other.sweep == name]
    if not cells:
        return name
    shared = [field for field in cells[0].cell if field in experiment.cell]
    fitting = [cell for cell in cells if all(cell.cell.get(field) == experiment.cell[field] for field in shared)]
    if len(fitting) > 1:
        # An experiment that is not swept means the cell whose swept fields it shares.
        fitting = [cell for cell in fitting if _alike(experiment, cell)] or fitting
    if len(fitting) == 1:
        return fitting[0].name
    own = " and ".join(f"{field} {experiment.cell[field]}" for field in shared)
    if not fitting:
        text = f"{name!r} is swept too, but has no cell with {own}; give both the same values, or name one of its cells"
    else:
        open_fields = " and ".join(field for field in cells[0].cell if field not in shared)
        text = f"{name!r} is swept over {open_fields}, which leaves open what is meant: sweep it here too, or name"
        text += f" one of its cells, such as {fitting[0].name!r}"
    raise PlanProblems([Problem(location, text)])


def _alike(experiment: ExperimentPlan, cell: ExperimentPlan) -> bool:
    return all(_value_at(experiment, field) == _value_at(cell, field) for field in cell.cell)


def _plain(value: object, label: CellValue) -> CellValue:
    """Returns the value as a plain one, or else the `label` that the sweep gave it."""
    match value:
        case Enum():
            return str(value.value)
        case bool() | int() | str():
            return value
        case float():
            return int(value) if value.is_integer() else value
        case Percent() | IPv4Address() | IPv6Address():
            return str(value)
        case PortRange(min=low, max=high):
            return low if low == high else f"{low}-{high}"
    return label


def _value_at(experiment: ExperimentPlan, field: str) -> object:
    value: object = experiment
    for part in field.split("."):
        value = getattr(value, part, None)
    return value
