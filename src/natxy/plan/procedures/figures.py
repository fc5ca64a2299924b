# SPDX-License-Identifier: Apache-2.0
"""The figures that a repetition results in, those of each direction included."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from natxy.plan.model.units import Unit

# The directions of a trial's streams.
STREAMS: Final = ("forward", "reverse")

# RFC 8219 §7.2 asks a report to state the definition of latency that applies.
DELAY_DEFINITION: Final = {
    "Definition of delay": "RFC 1242 §3.8, store and forward: of whole frames, from handing one to a port to fetching "
    "it from the other"
}


@dataclass(frozen=True)
class Figure:
    """Describes one number that a repetition results in: its key in the results, its title in reports and its unit.

    `with_headline` and `with_rate` are 1 if the figure rises with the headline or with the experiment's `rate`, -1 if
    it falls and 0 if it does not depend on it. If the headline or the rate is only a bound, so is the figure.

    `more_is_better` is None if the unit decides: more frames, connections or bits are better, and more time is worse.
    A percentage is of a loss unless this says otherwise. `signed` is True for a figure that may be negative.
    `left_out` is True for a number of lost frames, which have no delay and which the other figures leave out.
    `of_tester` is True for a condition of the measurement, by which no gateway is judged.
    """

    name: str
    title: str
    unit: Unit
    with_headline: int = 0
    with_rate: int = 0
    more_is_better: bool | None = None
    signed: bool = False
    left_out: bool = False
    of_tester: bool = False

    @property
    def is_better_when_higher(self) -> bool:
        return self.unit not in _WORSE_WHEN_HIGHER if self.more_is_better is None else self.more_is_better


CORE_SPEED: Final = Figure("core_speed", "Loops of the speed probe on the gateway's core", Unit.HZ, of_tester=True)
"""The rate at which the gateway's slowest core could have executed a fixed piece of work; None if unknown. Ratios of
experiments with this figure are at equal speed."""

_WORSE_WHEN_HIGHER: Final = {Unit.NS, Unit.SECONDS, Unit.PERCENT, Unit.INSTRUCTIONS, Unit.CYCLES}


def per_direction(
    name: str, title: str, unit: Unit, *, more_is_better: bool | None = None, signed: bool = False
) -> tuple[Figure, ...]:
    """Returns one figure for each direction: `NAME_forward` and `NAME_reverse`."""
    return tuple(
        Figure(f"{name}_{stream}", f"{title}, {stream}", unit, more_is_better=more_is_better, signed=signed)
        for stream in STREAMS
    )


def frames_left_out(name: str, title: str) -> tuple[Figure, ...]:
    """Returns a figure for each direction that counts its lost frames, which figures of delays leave out."""
    return tuple(
        replace(figure, left_out=True) for figure in per_direction(name, title, Unit.FRAMES, more_is_better=False)
    )


def applies(figure: Figure, directions: str | None) -> bool:
    """Returns False for a figure of a direction in which nothing is sent; `directions` is the plan's setting."""
    return directions not in STREAMS or not set(figure.name.split("_")) & (set(STREAMS) - {directions})
