# SPDX-License-Identifier: Apache-2.0
"""The times of a trial: the presets, and the fields that replace parts of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from natxy.plan.model.base import PlanModel
from natxy.plan.model.terms import EarlyEnd
from natxy.plan.model.units import Duration, Share


class TimingPreset(StrEnum):
    """`rfc`: the times of RFC 2544. `lab`: short times for a lab's software links."""

    RFC = "rfc"
    LAB = "lab"


class TimingPlan(PlanModel):
    """A preset's name, or a mapping that replaces parts of a preset."""

    preset: TimingPreset | None = None
    """Preset of the other fields."""
    trial: Annotated[Duration, Field(gt=0)] | None = None
    """Traffic of a trial, unless connections decide its length (RFC 2544 §24)."""
    drain: Duration | None = None
    """Wait for residual frames (RFC 2544 §23)."""
    drain_ends_early: bool | None = None
    """Whether a trial ends once all its frames have arrived."""
    ends_early: EarlyEnd | None = None
    """Cause that ends a trial of a search for a throughput or a rate of answers before its length; see below."""
    settle: Duration | None = None
    """Rest before a trial (RFC 2544 §23), doubled before each further attempt, up to 2 s."""
    learning_frames: bool | None = None
    """Whether the DUT's addresses are resolved, from all of the tester's, before each trial or once (RFC 2544 §23)."""
    learning_pause: Duration | None = None
    """Wait after addresses were resolved, and between phases 1 and 2."""
    warm_up: Duration | None = None
    """Uncounted traffic before each trial of traffic, by which the gateway learns hosts and flows."""
    overrun_floor: Annotated[Duration, Field(le=1)] | None = None
    """Accepted lateness of the last frame, if above 0.001 % of the trial; up to 1 s."""
    max_pause: Annotated[Duration, Field(ge=1e-6, le=10)] | None = None
    """Longest pause of the tester's core that excuses no loss; up to 10 s."""
    max_backlog: Share | None = None
    """Accepted delay of the last frame in a search for a rate, as a share of the trial, at least 5 ms."""


class Timing(PlanModel):
    """All times of a trial, in seconds; `TimingPlan` describes them."""

    preset: TimingPreset
    trial: Duration
    drain: Duration
    drain_ends_early: bool = False
    ends_early: EarlyEnd = EarlyEnd.NEVER
    settle: Duration
    learning_frames: bool = False
    learning_pause: Duration
    warm_up: Duration = 0.0
    overrun_floor: Duration
    max_pause: Duration
    max_backlog: Share | None = None

    @property
    def learning_s(self) -> float:
        """Returns how long the DUT learns before each trial."""
        warming_s = self.warm_up + self.expected_drain_s if self.warm_up else 0.0
        return warming_s + (self.learning_pause if self.learning_frames else 0.0)

    @property
    def expected_drain_s(self) -> float:
        """Returns about how long a drain lasts: half, if it ends early, since half of a search's trials lose none."""
        return self.drain / 2 if self.drain_ends_early else self.drain


# RFC 2544 §23 and §24. The bound on lateness, 0.001 % of the traffic, is 0.6 ms of 60 s: it needs no floor.
RFC_TIMING: Final = Timing(
    preset=TimingPreset.RFC,
    trial=60.0,
    drain=2.0,
    settle=5.0,
    learning_frames=True,
    learning_pause=2.0,
    ends_early=EarlyEnd.LOST,
    overrun_floor=0.0,
    max_pause=0.001,
)
# A software path empties within milliseconds. 0.001 % of half a second is 5 µs, less than one burst takes on a core of
# a shared virtual machine, so the bound needs a floor. The drain outlasts a queue of 1,000 frames of a gateway that
# forwards 10,000 a second, and a trial that has lost nothing does not need it: every frame has then left the queues.
# After it they are empty, so that the rest and the pause only let other tasks run. A trial that fails has its length:
# there is little to save, and all of its lost frames tell more of their cause.
LAB_TIMING: Final = Timing(
    preset=TimingPreset.LAB,
    trial=0.5,
    drain=0.1,
    drain_ends_early=True,
    ends_early=EarlyEnd.INVALID,
    settle=0.02,
    learning_pause=0.01,
    overrun_floor=0.001,
    max_pause=0.001,
).model_copy(update={"max_backlog": 0.05})
PRESETS: Final = {TimingPreset.RFC: RFC_TIMING, TimingPreset.LAB: LAB_TIMING}


def resolve_timing(common: TimingPlan, own: TimingPlan) -> Timing:
    """Returns the times of an experiment. Its own preset replaces the plan's timing; without one, it extends it."""
    layers = [own] if own.preset else [common, own]
    fields = PRESETS[layers[0].preset or TimingPreset.RFC].model_dump()
    for layer in layers:
        fields |= layer.model_dump(exclude_none=True)
    return Timing.model_validate(fields)
