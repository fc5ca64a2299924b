# SPDX-License-Identifier: Apache-2.0
"""What a procedure says of itself: enough to check its plan, to estimate it and to print its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self, get_args

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import Unit, times

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment

USUAL_REPEAT: Final = 20


def _unit_in(annotation: object) -> Unit | None:
    """Also where it may be None besides."""
    if isinstance(annotation, Unit):
        return annotation
    within = (*getattr(annotation, "__metadata__", ()), *get_args(annotation))
    return next(filter(None, map(_unit_in, within)), None)


@dataclass(frozen=True)
class Figure:
    """One number that a repetition results in. `name` is its key in the results, `title` stands in reports.

    `with_headline` and `with_rate`: 1 where it rises with the headline or with the experiment's `rate`, -1 where it
    falls. Where these are bounds, so is the figure.
    """

    name: str
    title: str
    unit: Unit
    with_headline: int = 0
    with_rate: int = 0


class ProcedureDeclaration(PlanModel):
    """A subclass has a `name: Literal[...]`, and as its fields what only this procedure takes of a plan.

    An experiment without such fields says `procedure: NAME`, one with them `procedure: {name: NAME, field: value}`.
    """

    summary: ClassVar[str]
    figures: ClassVar[tuple[Figure, ...]]
    """The first is the headline: medians, ratios and shares are of it."""
    step_unit: ClassVar[Unit]
    """Of what is varied from trial to trial, such as a search's rate."""
    stateful: ClassVar[bool]
    """It measures the making or keeping of connections; others may run over established ones."""
    takes: ClassVar[frozenset[str]]
    """Those fields of an experiment that not every procedure takes."""

    stated: ClassVar[Mapping[str, str]] = {}
    """What a report has to state of it besides its settings, by title."""

    rate_title: ClassVar[str] = "Rate"
    """What its `rate` is in a report; where it is no rate of its trials, theirs is stated too."""

    reports_mean: ClassVar[bool] = False
    """Its RFC asks for the average of the repetitions, which then stands beside their median."""

    takes_mlrsearch: ClassVar[bool] = False
    """Its search may be one for a rate that is not by halving."""

    between_hosts: ClassVar[bool] = False
    """Hosts with a TCP/IP of their own are at the ends of the DUT's links, in the place of the tester's ports."""

    usual_frame_size: ClassVar[int | None] = None
    """Where the plan gives none; None: the smallest that its test frames fit in."""

    usual_flows: ClassVar[int | None] = None
    """Where the plan gives none; None: as many as its addresses and ports make."""

    timed: ClassVar[bool] = True
    """Its trials last as long as the timing's `trial` says; if not, as long as their frames or connections take."""

    def with_line_rate(self, line_fps: float) -> Self:
        """With what follows from the theoretical maximum of the plan's line, in frames per second."""
        return self

    def traffic_s(self, trial_s: float) -> float:
        """How long the traffic of a trial of fixed length lasts, given the timing's `trial`."""
        return trial_s

    def deviations(self, experiment: Experiment) -> list[str]:
        """Where what is particular to this procedure departs from its RFC, as sentences for the report. `experiment`:
        the resolved one."""
        return []

    def repeat_deviations(self, repeat: int) -> list[str]:
        if repeat >= USUAL_REPEAT:
            return []
        return [f"Experiments are measured {times(repeat)}; at least {USUAL_REPEAT} repetitions are usual."]

    @classmethod
    def unit_of(cls, name: str) -> Unit | None:
        """Of a field of its own: what its type is annotated with; None where it has no unit."""
        field = cls.model_fields[name]
        return next(filter(None, map(_unit_in, (*field.metadata, field.annotation))), None)

    @property
    def most_connections(self) -> int | None:
        """What the flow space has to hold, where the experiment's `connections` don't say it."""
        return None

    @classmethod
    def procedure_name(cls) -> str:
        return str(cls.model_fields["name"].default)

    @classmethod
    def headline(cls) -> Figure:
        return cls.figures[0]
