# SPDX-License-Identifier: Apache-2.0
"""The times of a trial: the presets, and the fields that replace parts of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import Duration, Share


class TimingPreset(StrEnum):
    """`rfc`: the times of RFC 2544. `lab`: short times for a lab's software links."""

    RFC = "rfc"
    LAB = "lab"


class TimingPlan(PlanModel):
    """A preset's name, or a mapping that replaces parts of a preset."""

    preset: TimingPreset | None = None
    trial: Annotated[Duration, Field(gt=0)] | None = None
    """Length of a throughput trial's traffic (RFC 2544 §24)."""
    drain: Duration | None = None
    """Wait for residual frames after the traffic (RFC 2544 §23)."""
    drain_ends_early: bool | None = None
    """If true, the wait ends as soon as every frame of the trial has arrived; later duplicates do not count."""
    settle: Duration | None = None
    """Pause before a trial (RFC 2544 §23); longer before each further attempt at a step."""
    learning_frames: bool | None = None
    """If true, the DUT's addresses are resolved anew before each trial, which also tells it the tester's (RFC 2544
    §23); otherwise once, when a gateway is set up."""
    learning_pause: Duration | None = None
    """Pause after address resolution, and between phases 1 and 2 (RFC 2544 §23)."""
    warm_up: Duration | None = None
    """Traffic that is sent before each trial of traffic and not counted, so that the gateway has learnt its flows."""
    overrun_floor: Duration | None = None
    """A last frame that is no later than this never makes a trial invalid."""
    max_pause: Duration | None = None
    """Longest pause of the tester's core that is tolerated: a trial is invalid if the bursts after longer pauses could
    explain its loss."""
    max_backlog: Share | None = None
    """Share of a trial's traffic time by which its last frame may be delayed, in a search for a rate. A trial fails if
    the gateway's queue has grown by more, since longer traffic would fill it."""


class Timing(PlanModel):
    """All times of a trial, in seconds; `TimingPlan` describes them."""

    preset: TimingPreset
    trial: Duration
    drain: Duration
    drain_ends_early: bool = False
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
    overrun_floor=0.0,
    max_pause=0.001,
)
# A software path empties within milliseconds. 0.001 % of half a second is 5 µs, less than one burst takes on a core of
# a shared virtual machine, so the bound needs a floor. The drain outlasts a queue of 1,000 frames of a gateway that
# forwards 10,000 a second, and a trial that has lost nothing does not need it: every frame has then left the queues.
# After it they are empty, so that the rest and the pause only let other tasks run.
LAB_TIMING: Final = Timing(
    preset=TimingPreset.LAB,
    trial=0.5,
    drain=0.1,
    drain_ends_early=True,
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
