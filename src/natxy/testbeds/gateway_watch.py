# SPDX-License-Identifier: Apache-2.0
"""Defines how a testbed watches its gateway while a trial runs: absences of its cores, and what the DUT spends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from natxy.plan.caveats import own_rule
from natxy.results.dut_load import DutLoad
from natxy.system.core_watch import Absence

REPEATED: Final = own_rule(
    "A failed trial is repeated if something else ran on the gateway's core for so long that this explains the loss."
)
"""The caveat of results on a testbed whose watch explains failures."""


class Spending(Protocol):
    """Reads what the DUT spends: a reading before the trial and one after it."""

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def load(self) -> DutLoad | None:
        """Returns what was spent between `begin` and `end`; None if that is unknown."""
        ...


def _unknown() -> None:
    return None


@dataclass(frozen=True)
class GatewayWatch:
    """Watches the gateway's cores between `begin` and `end`, which returns the absence of the one away longest.

    `end` returns None when nothing is known. `cores`: the number of cores that share the frames. `buffer_frames`: the
    size of the smallest queue in which frames wait for an absent core. If it is None, absences are recorded for the
    report and explain no failure. `load` returns what the DUT spent between `begin` and `end`, None if that is unknown.
    """

    begin: Callable[[], None]
    end: Callable[[], Absence | None]
    cores: int
    buffer_frames: int | None
    load: Callable[[], DutLoad | None] = _unknown

    def with_load(self, spent: Spending) -> GatewayWatch:
        """Returns a watch that also reads what the DUT spends, outside of the time in which its cores are watched."""

        def begin() -> None:
            spent.begin()
            self.begin()

        def end() -> Absence | None:
            absence = self.end()
            spent.end()
            return absence

        return replace(self, begin=begin, end=end, load=spent.load)

    def that_only_records(self) -> GatewayWatch:
        """Returns a watch of the same cores whose absences explain no failure."""
        return replace(self, buffer_frames=None)
