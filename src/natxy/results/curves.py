# SPDX-License-Identifier: Apache-2.0
"""What of a repetition is more than a few numbers, for charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from natxy.plan.model.units import Unit


@dataclass(frozen=True)
class Axis:
    title: str
    unit: Unit


@dataclass(frozen=True)
class Curve:
    """Points in the order they are joined. `name` tells a repetition's curves apart, `title` stands in reports."""

    name: str
    title: str
    x: Axis
    y: Axis
    points: tuple[tuple[float, float], ...]


CURVES: Final = TypeAdapter(tuple[Curve, ...])
