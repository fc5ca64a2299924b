# SPDX-License-Identifier: Apache-2.0
"""Searches the most connections that a gateway keeps (RFC 9693 §4.9): by doubling, then by bisection.

Each number of connections has a highest validated rate. It is measured only if it reaches a given share of the last
safe rate; below that share, the connections are too many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Narrow = Callable[[float, float], bool]
"""Returns true when a bracket of rates needs no further trial."""

Passes = Callable[[int, float], bool]
"""Establishes a number of connections at a rate. Returns true when validation finds all of them."""

Count = Callable[[], int]
"""Returns the number of connections kept in the last attempt, which had too many."""


@dataclass(frozen=True)
class CapacityResult:
    """The result of a search.

    `safe` (CS) and `safe_rate` (RS) are the last that passed while doubling; `too_many` (CT) is the first that failed,
    None when all of `max_connections` were kept. `rates` has the rate for every number of connections that passed.
    """

    capacity: int
    safe: int
    safe_rate: float
    too_many: int | None
    upper_bound: int | None
    rates: dict[int, float]


@dataclass(frozen=True)
class CapacitySearch:
    """Searches up to `max_connections`.

    `beta` and `gamma` are the RFC's shares of the last safe rate, for doubling and for bisection. `error` is its E, in
    connections.
    """

    max_connections: int
    beta: float
    gamma: float
    error: int
    narrow: Narrow

    def run(
        self, initial_connections: int, initial_rate: float, passes: Passes, count: Count | None = None
    ) -> CapacityResult:
        """Searches from `initial_connections` (C0), which are kept at `initial_rate` (R0).

        With `count`, bisection begins with the number of connections kept when there were too many, instead of the
        middle. RFC 9693 does not have this shortcut.
        """
        rates = {initial_connections: initial_rate}

        def keeps(connections: int, share: float) -> bool:
            """Searches a rate of at least `share` of the last safe one; records it and returns True if found."""
            safe_rate = rates[max(rates)]
            found = self._highest_rate(connections, share * safe_rate, safe_rate, passes)
            if found is None:
                return False
            rates[connections] = found
            return True

        too_many: int | None = None
        while too_many is None and max(rates) < self.max_connections:
            tried = min(2 * max(rates), self.max_connections)
            if not keeps(tried, self.beta):
                too_many = tried
        safe, safe_rate = max(rates.items())
        upper = too_many
        counted = count() if count and too_many else None
        while upper is not None and upper - max(rates) > self.error:
            tried = self._next(max(rates), upper, counted)
            if not keeps(tried, self.gamma):
                upper = tried
        return CapacityResult(max(rates), safe, safe_rate, too_many, upper, rates)

    def _next(self, safe: int, upper: int, counted: int | None) -> int:
        """Returns the next number: away from `counted` by doubling distances, until the other bound is found."""
        middle = (safe + upper) // 2
        if counted is None:
            return middle
        if safe < counted < upper:
            return counted
        if counted <= safe:
            return min(middle, counted + max(self.error, 2 * (safe - counted)))
        return max(middle, counted - max(self.error, 2 * (counted - upper)))

    def _highest_rate(self, connections: int, enough: float, most: float, passes: Passes) -> float | None:
        """Returns the highest rate between `enough` and `most` that passes; None when `enough` fails.

        It tries `enough` first, because that mostly decides, and then `most`, which passed with fewer connections and
        often still does.
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
