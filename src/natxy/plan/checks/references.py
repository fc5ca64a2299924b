# SPDX-License-Identifier: Apache-2.0
"""Checks the names of experiments, and the references to earlier ones for a rate or for comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from natxy.plan.frames.mix import sizes_text
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import Unit
from natxy.plan.procedures import suppliers
from natxy.plan.written import ExperimentPlan, Plan
from natxy.untrusted.validation import guess


def check_references(plan: Plan) -> Iterator[Problem]:
    """Yields names that are used twice, and references to anything but an earlier experiment that fits."""
    earlier: dict[str, ExperimentPlan] = {}
    for number, experiment in enumerate(plan.experiments):
        location: Location = ("experiments", number)
        if experiment.name in earlier:
            yield Problem((*location, "name"), f"{experiment.name!r} is taken; every experiment has its own name")
        yield from _check_known_rates(experiment, earlier, plan.family, location)
        if experiment.baseline is not None:
            yield from _check_baseline(experiment, earlier, plan.family, (*location, "baseline"))
        if experiment.whole is not None:
            yield from _check_whole(experiment, earlier, plan.family, (*location, "whole"))
        earlier[experiment.name] = experiment


def _check_known_rates(
    experiment: ExperimentPlan, earlier: dict[str, ExperimentPlan], family: Family, location: Location
) -> Iterator[Problem]:
    for field, rate in (("phase1_rate", experiment.phase1_rate), ("rate", experiment.rate)):
        if rate is None or rate.experiment is None:
            continue
        at = (*location, field, "experiment")
        of_connections = field == "rate" and experiment.procedure.rate_unit == Unit.CPS
        supplied = "phase1_rate" if of_connections else field
        measured = {name: other for name, other in earlier.items() if other.procedure.supplies == supplied}
        if rate.experiment not in measured:
            wanted = " or ".join(suppliers(supplied))
            near = guess(rate.experiment, measured) or ";"
            text = f"{rate.experiment!r} is no earlier {wanted} experiment{near} there are: {_names(measured.values())}"
            yield Problem(at, text)
        elif field == "rate":
            other = measured[rate.experiment]
            if experiment.protocol != other.protocol:
                text = f"{other.name!r} has the protocol {other.protocol}, so its rate cannot be used here"
                yield Problem(at, text)
            if not of_connections:
                yield from _check_same_traffic(experiment, other, family, at, "its rate cannot be used here")


def _names(experiments: Iterable[ExperimentPlan]) -> str:
    return ", ".join(dict.fromkeys(each.sweep or each.name for each in experiments)) or "none"


def _check_same_traffic(
    experiment: ExperimentPlan, other: ExperimentPlan, family: Family, at: Location, consequence: str
) -> Iterator[Problem]:
    """Yields the fields whose traffic differs; `family` is the plan's, which experiments may override."""
    own, others = (_traffic(each, family) for each in (experiment, other))
    for field in own:
        if own[field] != others[field]:
            text = f"{other.name!r} has another `{field}`, {others[field]} instead of {own[field]}, so {consequence}"
            yield Problem(at, text)


def _traffic(experiment: ExperimentPlan, family: Family) -> dict[str, object]:
    """Returns the fields that TRAFFIC_FIELDS names, with their defaults; a mix is a size of its own, by its shares. The
    protocol is left out: what TCP costs beside UDP is a question of its own."""
    sizes = experiment.settled_sizes(family)
    return {
        "frame_size": sizes_text(sizes) if len(sizes) > 1 else sizes[0],
        "extension_headers": experiment.extension_headers,
        "size_convention": experiment.size_convention,
        "directions": experiment.directions or Directions.BIDIRECTIONAL,
        "family": experiment.families(family)[0],
    }


def _check_baseline(
    experiment: ExperimentPlan, earlier: dict[str, ExperimentPlan], family: Family, at: Location
) -> Iterator[Problem]:
    procedure = experiment.procedure.name
    base = earlier.get(experiment.baseline or "")
    if base is None or base.procedure.name != procedure:
        others = {name: other for name, other in earlier.items() if other.procedure.name == procedure}
        near, names = guess(experiment.baseline, others) or ";", _names(others.values())
        yield Problem(at, f"{experiment.baseline!r} is no earlier {procedure} experiment{near} there are: {names}")
        return
    yield from _check_same_traffic(experiment, base, family, at, "a ratio to it would mean nothing")


def _check_whole(
    experiment: ExperimentPlan, earlier: dict[str, ExperimentPlan], family: Family, at: Location
) -> Iterator[Problem]:
    """Yields what keeps an experiment from being one on a box of the chain that another one measures as a whole."""
    procedure = experiment.procedure.name
    if not _has_played_box(experiment):
        yield Problem(at, "only a chain with `tester` as a box has a whole; give such a chain, or remove it")
        return
    others = {
        name: other
        for name, other in earlier.items()
        if other.procedure.name == procedure and len(other.gateway.boxes) > 1 and not _has_played_box(other)
    }
    whole = others.get(experiment.whole or "")
    if whole is None:
        near, names = guess(experiment.whole, others) or ";", _names(others.values())
        yield Problem(
            at, f"{experiment.whole!r} is no earlier {procedure} experiment on a chain{near} there are: {names}"
        )
        return
    yield from _check_same_traffic(experiment, whole, family, at, "a ratio to it would mean nothing")


def _has_played_box(experiment: ExperimentPlan) -> bool:
    return any(box.is_played for box in experiment.gateway.boxes)
