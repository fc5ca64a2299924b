# SPDX-License-Identifier: Apache-2.0
"""Figures that each direction of the traffic has on its own."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import Figure

# As the streams of a trial are named.
STREAMS: Final = ("forward", "reverse")
BACKGROUND_STREAMS: Final = tuple(f"{stream} background" for stream in STREAMS)


def applies(figure: Figure, directions: str | None) -> bool:
    """Not to the figures of a direction in which nothing is sent; `directions` as in the plan."""
    return directions not in STREAMS or not set(figure.name.split("_")) & (set(STREAMS) - {directions})


def per_direction(name: str, title: str, unit: Unit) -> tuple[Figure, ...]:
    return tuple(Figure(f"{name}_{stream}", f"{title}, {stream}", unit) for stream in STREAMS)
