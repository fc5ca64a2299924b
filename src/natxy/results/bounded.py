# SPDX-License-Identifier: Apache-2.0
"""Values that may be only a bound of the truth, because the limits of a search cut them off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Bound(StrEnum):
    """Relates the truth to a value: the truth is equal to it, at least the value, and so on.

    The values are the signs that reports and CSV files show.
    """

    EXACTLY = ""
    AT_LEAST = "≥"
    AT_MOST = "≤"
    BELOW = "<"
    ABOVE = ">"

    @property
    def opposite(self) -> Bound:
        """The bound of a difference that the value is subtracted in, or of a ratio that it divides."""
        return _OPPOSITES[self]


_OPPOSITES: Final = {
    Bound.EXACTLY: Bound.EXACTLY,
    Bound.AT_LEAST: Bound.AT_MOST,
    Bound.AT_MOST: Bound.AT_LEAST,
    Bound.BELOW: Bound.ABOVE,
    Bound.ABOVE: Bound.BELOW,
}


@dataclass(frozen=True)
class Bounded:
    """Holds a value and how the truth relates to it."""

    value: float
    bound: Bound = Bound.EXACTLY

    def text(self, show: Callable[[float], str], gap: str = " ") -> str:
        """Returns the sign of the bound, if any, the gap and the value as `show` writes it, such as `≥ 1.2 Mfps`."""
        return f"{self.bound}{gap}{show(self.value)}" if self.bound else show(self.value)
