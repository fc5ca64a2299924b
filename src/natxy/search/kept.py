# SPDX-License-Identifier: Apache-2.0
"""Decides whether a gateway keeps a number of connections, so that one accident does not count against it.

If a single attempt is to decide, as RFC 9693 has it, the first one does. Otherwise an attempt that passes decides at
once, since all connections were found. One that fails is repeated, because a pause of the gateway can lose frames too.
Its count distinguishes a full table from that: it keeps the same number of connections every time. Once that number is
known, a single attempt that ends with it decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

# With 5 % of accidental failures, one number of connections in 8,000 is rejected by mistake.
FAILURES: Final = 3
FAILURES_OF_RATES: Final = 2
"""The number of failures that reject a rate which the capacity does not depend on."""


@dataclass(frozen=True)
class Kept:
    """The result of an attempt: whether all connections were found, and how many were kept."""

    passed: bool
    connections: int


Establish = Callable[[int, float], Kept]
"""Establishes a number of connections at a rate, and validates them."""


@dataclass
class Keeper:
    """Carries out the attempts, `failures` of which reject a number of connections.

    `last_kept` is the number kept in the last attempt that failed, and `last_full` is true if a full table explains the
    last rejection.
    """

    establish: Establish
    failures: int = FAILURES
    last_kept: int = 0
    last_full: bool = False
    _full: set[int] = field(default_factory=set)

    def keeps(self, connections: int, rate: float, failures: int = FAILURES) -> bool:
        """Returns true if the connections are kept at this rate, false after so many failures, or its own number."""
        kept: list[int] = []
        while len(kept) < min(failures, self.failures):
            found = self.establish(connections, rate)
            if found.passed:
                return True
            self.last_kept = found.connections
            kept.append(found.connections)
            if self._is_full(kept):
                self._full.add(found.connections)
                self.last_full = True
                return False
        self.last_full = False
        return False

    def _is_full(self, kept: list[int]) -> bool:
        """Returns true if a full table has ended with this number before, or has kept it in all attempts."""
        same = len(kept) == FAILURES and len(set(kept)) == 1
        return kept[-1] > 0 and (same or kept[-1] in self._full)
