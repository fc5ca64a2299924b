# SPDX-License-Identifier: Apache-2.0
"""Search for the most connections that a gateway keeps (RFC 9693 §4.8): doubling, then bisection.

At each number of connections the highest validated rate counts, but only as far as it matters: whether it reaches a
share of the last safe rate, and if so how high it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Narrow = Callable[[float, float], bool]
"""Whether a bracket of rates needs no further trial."""

Passes = Callable[[int, float], bool]
"""Whether all of so many connections, established at a rate, were there when they were validated."""

Count = Callable[[], int]
"""How many connections were kept of those tried last, which were too many."""


@dataclass(frozen=True)
class CapacityResult:
    """`safe` (CS) and `safe_rate` (RS) are where the doubling ended, `too_many` (CT) is where it failed: None when
    `max_connections` were all kept. `rates` has the rate found at every number of connections that was not too many."""

    capacity: int
    safe: int
    safe_rate: float
    too_many: int | None
    upper_bound: int | None
    rates: dict[int, float]


@dataclass(frozen=True)
class CapacitySearch:
    """`beta`, `gamma` and `error` as the RFC names them: shares, and connections."""

    max_connections: int
    beta: float
    gamma: float
    error: int
    narrow: Narrow

    def run(
        self, initial_connections: int, initial_rate: float, passes: Passes, count: Count | None = None
    ) -> CapacityResult:
        """From `initial_connections` (C0), which are kept at `initial_rate` (R0). With `count`, the second half begins
        with how many of too many connections were kept, instead of the middle; RFC 9693 knows no such shortcut."""
        rates = {initial_connections: initial_rate}
        safe, rate, too_many = initial_connections, initial_rate, None
        while too_many is None and safe < self.max_connections:
            tried = min(2 * safe, self.max_connections)
            found = self.highest_rate(tried, self.beta * rate, rate, passes)
            if found is None:
                too_many = tried
            else:
                safe, rate = tried, found
                rates[tried] = found
        doubled, doubled_rate = safe, rate
        upper = too_many
        counted = count() if count and too_many else None
        while upper is not None and upper - safe > self.error:
            tried = self._next(safe, upper, counted)
            found = self.highest_rate(tried, self.gamma * rate, rate, passes)
            if found is None:
                upper = tried
            else:
                safe, rate = tried, found
                rates[tried] = found
        return CapacityResult(safe, doubled, doubled_rate, too_many, upper, rates)

    def _next(self, safe: int, upper: int, counted: int | None) -> int:
        """From what was counted away in steps that double, until the other side is found."""
        middle = (safe + upper) // 2
        if counted is None:
            return middle
        if safe < counted < upper:
            return counted
        if counted <= safe:
            return min(middle, counted + max(self.error, 2 * (safe - counted)))
        return max(middle, counted - max(self.error, 2 * (counted - upper)))

    def highest_rate(self, connections: int, enough: float, most: float, passes: Passes) -> float | None:
        """Between `enough` and `most`; None when not even `enough` passes.

        `enough` is tried first, since at most numbers of connections it decides; then `most`, which passed with fewer
        connections and often still does.
        """
        if not passes(connections, enough):
            return None
        if passes(connections, most):
            return most
        low, high = enough, most
        while not self.narrow(low, high):
            middle = (low + high) / 2
            if passes(connections, middle):
                low = middle
            else:
                high = middle
        return low
