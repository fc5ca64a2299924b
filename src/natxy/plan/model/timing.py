# SPDX-License-Identifier: Apache-2.0
"""The times of a trial, as presets or field by field."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import Duration


class TimingPreset(StrEnum):
    RFC = "rfc"
    LAB = "lab"


class TimingPlan(PlanModel):
    """A preset's name, or a mapping that replaces parts of a preset."""

    preset: TimingPreset | None = None
    trial: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None, description="traffic of one throughput trial (RFC 2544 §24)"
    )
    drain: Duration | None = Field(default=None, description="wait for residual frames (RFC 2544 §23)")
    settle: Duration | None = Field(
        default=None,
        description="rest before a trial (RFC 2544 §23); twice as long before the second try of an invalid one",
    )
    learning_pause: Duration | None = Field(
        default=None, description="wait after addresses were resolved, and between phases 1 and 2 (RFC 2544 §23)"
    )
    overrun_floor: Duration | None = Field(
        default=None, description="lateness of the last frame that never makes a trial invalid"
    )
    max_pause: Duration | None = Field(
        default=None,
        description="a trial whose loss the bursts after longer pauses of the tester's core could explain is invalid",
    )


class Timing(PlanModel):
    """All times of a trial, in seconds."""

    preset: TimingPreset
    trial: Duration
    drain: Duration
    settle: Duration
    learning_pause: Duration
    overrun_floor: Duration
    max_pause: Duration


# RFC 2544 §23 and §24. The overrun bound of 0.001 % alone is 0.6 ms of a 60 s trial, so no floor is needed.
RFC_TIMING: Final = Timing(
    preset=TimingPreset.RFC,
    trial=60.0,
    drain=2.0,
    settle=5.0,
    learning_pause=2.0,
    overrun_floor=0.0,
    max_pause=0.001,
)
# A software path empties within milliseconds. 0.001 % of half a second is 5 µs, less than one burst of a shared
# virtual machine's core, hence the floor.
LAB_TIMING: Final = Timing(
    preset=TimingPreset.LAB,
    trial=0.5,
    drain=0.1,
    settle=0.05,
    learning_pause=0.05,
    overrun_floor=0.001,
    max_pause=0.001,
)
PRESETS: Final = {TimingPreset.RFC: RFC_TIMING, TimingPreset.LAB: LAB_TIMING}


def resolve_timing(common: TimingPlan, own: TimingPlan) -> Timing:
    """An experiment's own preset starts afresh; without one it builds on the plan's timing."""
    layers = [own] if own.preset else [common, own]
    base = PRESETS[layers[0].preset or TimingPreset.RFC]
    for layer in layers:
        base = base.model_copy(update=layer.model_dump(exclude_none=True))
    return base
