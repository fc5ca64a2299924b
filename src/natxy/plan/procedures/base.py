# SPDX-License-Identifier: Apache-2.0
"""The base of all procedure declarations: the facts that check a plan, estimate its duration and print its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, NamedTuple, Self, get_args

from pydantic import Field, field_validator

from natxy.plan.frames.forms import Protocol
from natxy.plan.frames.segments import Segment, Sender
from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import AbsoluteRate, Duration, Unit
from natxy.plan.procedures.figures import Figure

OF_NETWORK_FLOWS: Final = frozenset({
    "directions", "flows", "pairs", "start_interval", "connections", "phase1_rate", "phase1_loss", "background",
})  # fmt: skip
"""Names the fields of traffic that may be of several network flows (RFC 8219 §10)."""


class LifeStep(NamedTuple):
    """A frame that each connection has in the trial that opens it, `age_s` after its first one.

    Reports have the `name`. Frames of TCP are segments; those of UDP have none.
    """

    name: str
    age_s: float
    sender: Sender
    segment: Segment | None = None


class ProcedureDeclaration(PlanModel):
    """Declares a procedure: its name in plans, the settings that only this procedure has, and facts about it.

    Every procedure is a subclass with a field `name: Literal["NAME"] = "NAME"`; its other fields are the settings. An
    experiment selects it with `procedure: NAME`, or with `procedure: {name: NAME, field: value}` to set any of them.
    """

    if TYPE_CHECKING:
        name: str

    list_position: ClassVar[int]
    """Orders the procedures where they are listed; the hundreds are topics, such as delays or connections."""
    summary: ClassVar[str]
    """Says in one line what is measured, with the section of the RFC."""
    figures: ClassVar[tuple[Figure, ...]]
    """The results of a repetition. The first is the headline, which medians, ratios and shares refer to."""
    takes: ClassVar[frozenset[str]]
    """The fields of an experiment that apply to this procedure, among those that do not apply to all."""

    step_unit: ClassVar[Unit] = Unit.FPS
    """The unit of the value that is varied from step to step, such as a search's rate."""

    stateful: ClassVar[bool] = False
    """True if the procedure measures how connections are made or kept; others may run over established connections."""

    mostly_waits: ClassVar[bool] = False
    """True if its trials send few frames in a long time, so that the time of the gateway's cores says little of a
    frame."""

    counts_connections: ClassVar[bool] = False
    """True if a number of connections enters the result, so that phase 1 must not make one of them twice."""

    stated: ClassVar[Mapping[str, str]] = {}
    """Facts that a report states beside the settings, by title."""

    supplies: ClassVar[str | None] = None
    """The field of later experiments that may refer to this procedure's headline: `rate`, or `phase1_rate`, which
    stands for a `rate` of new connections too."""

    rate_title: ClassVar[str] = "Rate"
    """The title of the experiment's `rate` in a report. A title other than "Rate" means that trials run at another
    rate, which is then reported too."""

    rate_unit: ClassVar[Unit] = Unit.FPS
    """The unit of the experiment's `rate`."""

    reports_mean: ClassVar[bool] = False
    """True if the RFC asks for the mean of the repetitions, which is then reported beside their median."""

    takes_mlrsearch: ClassVar[bool] = False
    """True if the search may be an MLRsearch; otherwise it is always a binary search."""

    needs_mlrsearch: ClassVar[bool] = False
    """True if the search is always an MLRsearch, because it has two goals."""

    searches_if_asked: ClassVar[bool] = False
    """True if the procedure, which takes a `search`, has none unless the plan gives one."""

    at_softwire: ClassVar[bool] = False
    """True if the tester has to play one end of a softwire, or where this is enough, one of MAP-T."""

    changes_bindings: ClassVar[bool] = False
    """True if the tester has to play the subscribers of a core whose bindings natxy can change while traffic flows."""

    counts_instructions: ClassVar[bool] = False
    """True if the DUT counts the procedure's figures itself, so that the tester's frames do not show them."""

    keeps_to_the_end: ClassVar[bool] = False
    """True if the last frame of every connection comes after all connections are opened."""

    needs_tcp: ClassVar[bool] = False
    """True if it measures what only connections of TCP have."""

    sustained: ClassVar[bool] = False
    """True if the rate must not depend on the length of trials, so that a queue which grows is a failure."""

    expects_loss: ClassVar[bool] = False
    """True if frames are lost while it measures what it should, so that lost frames are no failure."""

    ends_early: ClassVar[bool] = False
    """True if all that a trial has to tell is whether it lost too many frames."""

    pairs_frames: ClassVar[bool] = False
    """True if it compares each frame with the next, so that one core has to receive all frames of a stream."""

    between_hosts: ClassVar[bool] = False
    """True if hosts with their own TCP/IP stack replace the tester's ports."""

    asks_dns64: ClassVar[bool] = False
    """True if the tester asks a DNS64 server queries, which it answers itself, instead of sending frames through a
    gateway."""

    usual_frame_size: ClassVar[int | None] = None
    """The default frame size in bytes; None selects the smallest size that can hold a test frame."""

    usual_flows: ClassVar[int | None] = None
    """The default number of flows; None selects every four-tuple of the addresses and ports."""

    usual_destination_port: ClassVar[int | None] = None
    """The default port of what the left side sends; None for RFC 4814's range, or as many as connections need."""

    fewest_flows: ClassVar[int] = 0
    """The number of flows or connections that the plan must give at least; 0 if it need not give any."""

    most_flows: ClassVar[int | None] = None
    """The largest number of flows; None for no limit."""

    timed: ClassVar[bool] = True
    """True if a trial lasts as long as the timing's `trial`, False if as long as its frames or connections take."""

    def with_line_rate(self, line_fps: float) -> Self:
        """Returns a copy with the defaults that follow from the line's theoretical maximum, in frames per second."""
        return self

    @property
    def lacks_maximum_rate(self) -> bool:
        """True if the procedure needs a `maximum_rate` that neither the plan nor its line rate gives."""
        return False

    @property
    def dut_command_field(self) -> str | None:
        """The setting that gives a command to run on the DUT; None if there is no command."""
        return None

    @property
    def most_connections(self) -> int | None:
        """The connections that the flow space has to hold if the experiment has no `connections` field."""
        return None

    @property
    def partial_loss_ratio(self) -> float | None:
        """The loss that the second goal of its search allows; None if the search has one goal."""
        return None

    @property
    def frame_timeout_s(self) -> float | None:
        """The time after which a frame counts as lost; None if it may arrive until the end of the drain."""
        return None

    def life(self, protocol: Protocol) -> tuple[LifeStep, ...]:
        """Returns the frames that a connection has in the trial that opens it, in their order, without its first."""
        return ()

    def life_s(self, protocol: Protocol) -> float:
        """Returns the time from a connection's first frame to its last one in the trial that opens it."""
        steps = self.life(protocol)
        return steps[-1].age_s if steps else 0.0

    def most_at_once(self, connections: int, rate_fps: float | None, protocol: Protocol) -> int:
        """Returns for how many of the connections opened at a rate the gateway needs room at once; the rate is None if
        it is not searched for."""
        return connections

    def traffic_s(self, trial_s: float) -> float:
        """Returns how long the traffic of a trial lasts, given the timing's `trial`."""
        return trial_s

    @classmethod
    def procedure_name(cls) -> str:
        return str(cls.model_fields["name"].default)

    @classmethod
    def headline(cls) -> Figure:
        return cls.figures[0]

    @classmethod
    def judged_figures(cls) -> tuple[Figure, ...]:
        """Returns the figures by which gateways are compared, the headline first."""
        return tuple(figure for figure in cls.figures if not figure.of_tester)

    @classmethod
    def unit_of(cls, name: str) -> Unit | None:
        """Returns the unit that the type of a setting is annotated with, or None."""
        field = cls.model_fields[name]
        return next(filter(None, map(_unit_in, (*field.metadata, field.annotation))), None)


class MaximumRate(ProcedureDeclaration):
    """Declares a procedure that refers to the highest rate of the medium."""

    maximum_rate: AbsoluteRate | None = None
    """Highest rate of the medium, frames per second per direction; default: that of `line_rate`."""

    needs_maximum_rate: ClassVar[bool] = True
    """True if the procedure needs the rate; otherwise the rate is a limit that may be unknown."""

    def with_line_rate(self, line_fps: float) -> Self:
        return self if self.maximum_rate is not None else self.model_copy(update={"maximum_rate": line_fps})

    @property
    def lacks_maximum_rate(self) -> bool:
        return self.needs_maximum_rate and self.maximum_rate is None

    @property
    def maximum_fps(self) -> float:
        """The rate, in a plan that has passed its checks, for a procedure that needs it."""
        assert self.maximum_rate is not None
        return self.maximum_rate


class DuringTraffic(ProcedureDeclaration):
    """Declares a procedure in which natxy does something once while a trial's traffic goes on."""

    steady: Annotated[Duration, Field(gt=0)] | None = None
    """Time before the reset or the change; default: the timing's `trial`."""
    recovery: Annotated[Duration, Field(gt=0)] | None = None
    """Time from the reset or the change on, longer than that takes; default: the timing's `trial`."""

    def steady_s(self, trial_s: float) -> float:
        return trial_s if self.steady is None else self.steady

    def traffic_s(self, trial_s: float) -> float:
        return self.steady_s(trial_s) + (trial_s if self.recovery is None else self.recovery)


class FrameTimeout(ProcedureDeclaration):
    """Declares a procedure whose lost frames may include those that arrive late."""

    frame_timeout: Duration | None = None
    """Time after which a frame counts as lost, at least 1 µs; default: the drain's end."""

    @field_validator("frame_timeout")
    @classmethod
    def _measurable(cls, given: float | None) -> float | None:
        if given is not None and given < 1e-6:
            raise ValueError("expected at least 1us; to let every frame count that arrives, remove it")
        return given

    @property
    def frame_timeout_s(self) -> float | None:
        return self.frame_timeout


def _unit_in(annotation: object) -> Unit | None:
    """Returns the unit in the metadata of a type, also of one within a union with None."""
    if isinstance(annotation, Unit):
        return annotation
    within = (*getattr(annotation, "__metadata__", ()), *get_args(annotation))
    return next(filter(None, map(_unit_in, within)), None)
