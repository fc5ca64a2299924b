# SPDX-License-Identifier: Apache-2.0
"""Searches the most connections that a gateway keeps (RFC 9693 §4.9): by doubling, then by bisection.

Each number of connections has a highest validated rate. It is measured only if it reaches a given share of the last
safe rate; below that share, the connections are too many. One accident decides nothing, unless a single attempt is to
decide: see `Keeper`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from natxy.search.contradictions import Contradicted
from natxy.search.kept import FAILURES, FAILURES_OF_RATES, Establish, Keeper
from natxy.search.outcome import Contradiction, Tried

Narrow = Callable[[float, float], bool]
"""Returns true when a bracket of rates needs no further trial."""


@dataclass(frozen=True)
class CapacityResult:
    """The result of a search.

    `safe` (CS) and `safe_rate` (RS) are the last that passed while doubling; `too_many` (CT) is the first that failed,
    None when all of `max_connections` were kept. `rates` has the rate for every number of connections that passed.
    `full` is true if a full table explains the upper bound: it kept the same number in every attempt. `rate_needed`
    is the rate that had to pass at the upper bound.
    """

    capacity: int
    safe: int
    safe_rate: float
    too_many: int | None
    upper_bound: int | None
    rates: dict[int, float]
    full: bool
    rate_needed: float


@dataclass(frozen=True)
class CapacitySearch:
    """Searches up to `max_connections`.

    `beta` and `gamma` are the RFC's shares of the last safe rate, for doubling and for bisection. `error` is its E, in
    connections. With `count`, bisection begins with the number of connections kept when there were too many, instead of
    the middle. RFC 9693 does not have this shortcut. Nor does it repeat an attempt, as with `failures` above 1.
    """

    max_connections: int
    beta: float
    gamma: float
    error: int
    narrow: Narrow
    count: bool = False
    failures: int = FAILURES

    def run(self, initial_connections: int, initial_rate: float, establish: Establish) -> CapacityResult:
        """Searches from `initial_connections` (C0), which are kept at `initial_rate` (R0).

        Contradicted if the gateway no longer keeps the connections that it had kept.
        """
        found = _Found(Keeper(establish, self.failures), {initial_connections: initial_rate})
        self._double(found)
        counted = found.keeper.last_kept if self.count else None
        while (upper := found.upper) is not None:
            if upper - found.capacity > self.error:
                self._try(found, self._next(found.capacity, upper, counted), self.gamma)
            elif self.failures == 1 or upper == found.last_tried or not self._try(found, upper, self.gamma):
                # The upper bound, which may have been found long ago, fails still, or its one failure decides.
                break
            else:
                # It passes now: accidents had rejected it.
                self._double(found)
        self._hold(found)
        return CapacityResult(
            found.capacity, found.safe, found.rates[found.safe], found.too_many, upper, found.rates,
            full=found.keeper.last_full, rate_needed=self.gamma * found.rates[found.capacity],
        )  # fmt: skip

    def _hold(self, found: _Found) -> None:
        """Tries the capacity again if fewer than half as many connections were kept when there were too many."""
        connections, kept = found.capacity, found.keeper.last_kept
        if found.upper is None or 2 * kept >= connections or found.keeper.keeps(connections, found.rates[connections]):
            return
        lost = 1 - found.keeper.last_kept / connections
        again, before = Tried(1, connections, passed=False, lost=lost), Tried(0, connections, passed=True, lost=0.0)
        raise Contradicted(Contradiction(again, before))

    def _double(self, found: _Found) -> None:
        """Doubles the connections until they are too many, unless a greater number is known to be."""
        while found.upper is None and found.capacity < self.max_connections:
            tried = min(2 * found.capacity, self.max_connections)
            found.safe = found.capacity
            if self._try(found, tried, self.beta):
                found.safe, found.too_many = tried, None
            else:
                found.too_many = tried

    def _try(self, found: _Found, connections: int, share: float) -> bool:
        """Searches a rate of at least `share` of the last safe one; records it and returns true if found."""
        most = found.rates[found.capacity]
        rate = self._highest_rate(found.keeper, connections, share * most, most)
        found.last_tried = connections
        found.rejected.discard(connections)
        if rate is None:
            found.rejected.add(connections)
            return False
        found.rates[connections] = rate
        return True

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

    def _highest_rate(self, keeper: Keeper, connections: int, rate_needed: float, most: float) -> float | None:
        """Returns the highest rate between `rate_needed` and `most` that passes; None when `rate_needed` fails.

        It tries `rate_needed` first, because that mostly decides, and then `most`, which passed with fewer
        connections and often still does.
        """
        if not keeper.keeps(connections, rate_needed):
            return None
        if keeper.keeps(connections, most, FAILURES_OF_RATES):
            return most
        low, high = rate_needed, most
        while not self.narrow(low, high):
            middle = (low + high) / 2
            if keeper.keeps(connections, middle, FAILURES_OF_RATES):
                low = middle
            else:
                high = middle
        return low


@dataclass
class _Found:
    """Holds what a search knows: the rates of the numbers that passed, and the numbers that were rejected."""

    keeper: Keeper
    rates: dict[int, float]
    rejected: set[int] = field(default_factory=set)
    last_tried: int = 0
    too_many: int | None = None
    safe: int = field(init=False)

    def __post_init__(self) -> None:
        self.safe = self.capacity

    @property
    def capacity(self) -> int:
        return max(self.rates)

    @property
    def upper(self) -> int | None:
        # Nothing above the lowest of these is tried, so that all are above the capacity.
        return min(self.rejected, default=None)
