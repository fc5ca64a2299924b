# SPDX-License-Identifier: Apache-2.0
"""Binary search for the greatest whole number that passes, such as the frames of a burst (RFC 2544 §26.4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Longest:
    """The result: `passed` is 0 when no number passed, `failed` is None when none failed."""

    passed: int
    failed: int | None


@dataclass(frozen=True)
class LongestSearch:
    """Searches the multiples of `step` up to `most`, which is one of them.

    It ends when `passed` and `failed` differ by no more than `error`, or by one `step`.
    """

    most: int
    error: int
    step: int = 1

    def run(self, passes: Callable[[int], bool]) -> Longest:
        """Searches the greatest number that passes. It tries `most` only if all other steps point to it."""
        passed, failed = 0, self.most + self.step
        while failed - passed > self._width:
            middle = (passed + failed) // 2 // self.step * self.step
            passed, failed = self._narrowed(passed, failed, middle, passes)
        if failed > self.most > passed:
            passed, failed = self._narrowed(passed, failed, self.most, passes)
        return Longest(passed, failed if failed <= self.most else None)

    def expected_steps(self) -> int:
        """Returns the approximate number of steps, for estimates of time."""
        return max(1, math.ceil(math.log2((self.most + self.step) / self._width)))

    @property
    def _width(self) -> int:
        return max(self.error // self.step, 1) * self.step

    @staticmethod
    def _narrowed(passed: int, failed: int, tried: int, passes: Callable[[int], bool]) -> tuple[int, int]:
        return (tried, failed) if passes(tried) else (passed, tried)
