# SPDX-License-Identifier: Apache-2.0
"""Named timings, and what the report says where a run departs from the standards."""

from __future__ import annotations

from typing import Final

from natxy.plan.base import PlanModel
from natxy.plan.models import TimingPlan, TimingPreset
from natxy.plan.units import Duration, format_duration


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


def timing_deviations(timing: Timing, *, fixed_duration: bool) -> list[str]:
    """Sentences for the report. `fixed_duration`: the trial's length is `trial`, not a count of connections."""
    asked = [
        ("trial", "The traffic of a trial lasts", "at least", "RFC 2544 §24"),
        ("drain", "Residual frames are waited for", "", "RFC 2544 §23"),
        ("settle", "The rest between trials is", "at least", "RFC 2544 §23"),
        ("learning_pause", "The pause between learning (or phase 1) and the traffic is", "", "RFC 2544 §23"),
    ]
    sentences = []
    for field, words, bound, source in asked:
        value, standard = getattr(timing, field), getattr(RFC_TIMING, field)
        if value < standard and (field != "trial" or fixed_duration):
            wanted = f"{bound} {format_duration(standard)}".strip()
            sentences.append(f"{words} {format_duration(value)}; {source} asks for {wanted}.")
    if timing.overrun_floor > 0:
        sentences.append(
            f"A trial whose last frame is up to {format_duration(timing.overrun_floor)} late counts as valid, also "
            "where that is more than 0.001 % of its duration."
        )
    if timing.max_pause > RFC_TIMING.max_pause:
        sentences.append(
            "Loss counts against the gateway although bursts after pauses of the tester's core of up to "
            f"{format_duration(timing.max_pause)} could explain it."
        )
    return sentences
