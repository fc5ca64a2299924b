# SPDX-License-Identifier: Apache-2.0
"""Adds to an experiment on a chain one on each of its two boxes alone, with the tester as the other box.

RFC 8219 §4.2 asks for both set-ups: the whole hides a box that is faster than the other, or one-sided.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Any

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.chain import ChainConfig
from natxy.plan.gateways.checking_core import CheckingCoreModel
from natxy.plan.gateways.tester import TesterConfig
from natxy.plan.model.problems import Location, PlanProblems, Problem, field_path
from natxy.plan.procedures.reset import ResetConfig
from natxy.plan.written import ExperimentPlan, Plan

_OF_CONNECTIONS = ("connections", "active_connections", "phase1_rate", "phase1_loss")


class Box(StrEnum):
    """The boxes of a chain: the edge, with all that stands before it, and the core, with all that follows."""

    EDGE = "edge"
    CORE = "core"


@dataclass(frozen=True)
class Expanded:
    """Holds experiments, each with the number of the one in the plan that it comes from."""

    experiments: tuple[ExperimentPlan, ...]
    origins: tuple[int, ...]
    problems: tuple[Problem, ...] = ()

    def as_written(self, problems: Sequence[Problem]) -> list[Problem]:
        """Returns the problems as those of the plan's own experiments.

        One of a box alone is that of the setting `boxes_alone`, unless the whole has it, too.
        """
        found = [each for each in problems if self._added(each.location) is None]
        found = [replace(each, location=self._origin(each.location)) for each in found]
        said = {each.location for each in found}
        for each in problems:
            box, origin = self._added(each.location), self._origin(each.location)
            if box is not None and origin not in said:
                text = f"alone, {box.gateway.title}: {field_path(origin[2:])}: {each.message}"
                found.append(Problem((*origin[:2], "boxes_alone"), text))
        return found

    def _origin(self, location: Location) -> Location:
        """Returns the location in the plan's own experiment."""
        if not _is_experiment(location):
            return location
        return ("experiments", self.origins[int(location[1])], *location[2:])

    def _added(self, location: Location) -> ExperimentPlan | None:
        """Returns the box alone that a location is in; None elsewhere."""
        own = self.experiments[int(location[1])] if _is_experiment(location) else None
        # A box alone that the plan itself names is an experiment of its own.
        return own if own and self.origins.count(self.origins[int(location[1])]) > 1 and own.whole else None


def _is_experiment(location: Location) -> bool:
    return len(location) > 1 and location[0] == "experiments"


def with_boxes_alone(plan: Plan) -> Expanded:
    """Returns the plan's experiments, and after each with `boxes_alone` those on its boxes; cells stay together."""
    found: list[tuple[int, ExperimentPlan]] = []
    problems: list[Problem] = []
    numbered = [*enumerate(plan.experiments)]
    for _, cells in groupby(numbered, key=lambda each: each[1].sweep or each[0]):
        alone: dict[Box, list[tuple[int, ExperimentPlan]]] = {box: [] for box in Box}
        for number, own in cells:
            found.append((number, own.model_copy(update={"boxes_alone": False})))
            if not own.boxes_alone:
                continue
            try:
                for box, experiment in _boxes_of(plan, own, number):
                    alone[box].append((number, experiment))
            except PlanProblems as refused:
                problems += refused.problems
        found += [each for box in Box for each in alone[box]]
    return Expanded(tuple(each for _, each in found), tuple(number for number, _ in found), tuple(problems))


def _boxes_of(plan: Plan, own: ExperimentPlan, number: int) -> Iterator[tuple[Box, ExperimentPlan]]:
    gateway = own.gateway
    if not isinstance(gateway, ChainConfig) or any(box.is_played for box in gateway.boxes):
        text = "only a chain of two boxes has boxes to measure alone, e.g. [softwire, softwire, nftables]; remove it"
        raise PlanProblems([_problem(number, text)])
    if plan.testbed.fewest_hops > 1:
        text = (
            f"the testbed has {plan.testbed.fewest_hops} DUTs in a row, so that no box has the tester beside it; "
            "remove it, and measure each box on a testbed with that DUT alone, as [softwire, tester]"
        )
        raise PlanProblems([_problem(number, text)])
    families = own.families(plan.family)
    kinds = gateway.kinds(*families, own.translation.kind if own.translation else None)
    if kinds is None:
        # The whole has an error of its own.
        return
    ends = [place for place, kind in enumerate(kinds) if kind]
    if len(ends) != 2:
        text = f"{gateway.title} has no edge whose packets a core takes back; give a chain that has both, or remove it"
        raise PlanProblems([_problem(number, text)])
    edge, core = ends
    before = sum(not box.is_played for box in gateway.boxes[:core])
    for box, boxes, skipped in (
        (Box.EDGE, (*gateway.boxes[: edge + 1], TesterConfig()), 0),
        (Box.CORE, (TesterConfig(), _for_tester(gateway.boxes[core]), *gateway.boxes[core + 1 :]), before),
    ):
        alone = _alone(own, box, boxes, skipped)
        if alone:
            yield box, alone


def _for_tester(core: GatewayModel) -> GatewayModel:
    """Returns a core without an edge's port set: as its only subscriber, the tester has all ports of an address."""
    return core.model_copy(update={"port_set": None}) if isinstance(core, CheckingCoreModel) else core


def _problem(number: int, text: str) -> Problem:
    return Problem(("experiments", number, "boxes_alone"), text)


def _alone(own: ExperimentPlan, box: Box, boxes: tuple[GatewayModel, ...], skipped: int) -> ExperimentPlan | None:
    """Returns the experiment on a box, without what does not apply to it; None if its procedure does not.

    `skipped` gateways of the whole stand before the box.
    """
    gateway = ChainConfig(gateways=boxes)
    title = own.title or own.name
    changes: dict[str, Any] = {
        "name": _named(own.name, box),
        "title": f"{box} of {title}",
        "sweep": own.sweep and _named(own.sweep, box),
        "gateway": gateway,
        "boxes_alone": False,
        "whole": own.name,
        # Thresholds are those of the whole.
        "expect": None,
    }
    if gateway.keeps_connections is False:
        if own.procedure.stateful:
            return None
        # As many four-tuples, over the same ports, as those of the connections, where the procedure takes flows.
        if "flows" in own.procedure.takes:
            changes["flows"] = own.flows or own.connections
        # A field that is set, if only to None, is refused where the procedure does not take it.
        changes |= dict.fromkeys(name for name in _OF_CONNECTIONS if name in own.model_fields_set)
    if own.addresses.pool and not gateway.hides_left:
        changes["addresses"] = own.addresses.model_copy(update={"pool": None})
    reset = own.procedure
    if isinstance(reset, ResetConfig) and reset.gateway_number:
        place = reset.gateway_number - skipped
        if not 1 <= place <= len(gateway.hops):
            return None
        changes["procedure"] = reset.model_copy(update={"gateway_number": place})
    return own.model_copy(update=changes)


def _named(name: str, box: Box) -> str:
    """Returns the name of an experiment, or of a sweep's cell, on a box."""
    own, slash, cell = name.partition("/")
    return f"{own}-{box}{slash}{cell}"
