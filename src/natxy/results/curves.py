# SPDX-License-Identifier: Apache-2.0
"""Curves that a repetition measures besides its figures, such as the distribution of delays, for charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import TypeAdapter

from natxy.plan.model.units import Unit
from natxy.untrusted.values import Real


@dataclass(frozen=True)
class Axis:
    title: str
    unit: Unit


@dataclass(frozen=True)
class Curve:
    """Holds points in the order in which they are joined.

    `name` distinguishes the curves of a repetition, `title` is shown in reports.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    points: tuple[tuple[Real, Real], ...]


CURVES: Final = TypeAdapter(tuple[Curve, ...])
