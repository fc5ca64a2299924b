# SPDX-License-Identifier: Apache-2.0
"""Holds what a plan is made from: a configuration, a procedure, and a program's arguments if they are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from natxy.api.plans import DEFAULTS
from natxy.api.terms import Family, TranslationKind
from natxy_siitperf.arguments import Arguments, flow_space
from natxy_siitperf.conf import Conf
from natxy_siitperf.program import PROCEDURES
from natxy_siitperf.sides import FORWARD, REVERSE, Direction, Letter, active, enumerates, family, initiator

OF_CONNECTIONS: Final = frozenset({"connection-rate", "validated-connection-rate", "tear-down-rate", "table-capacity"})
"""Names those that measure connections, and have no traffic over them."""

VALIDATING: Final = frozenset({"validated-connection-rate", "table-capacity"})
"""Names those of them that read the state table, by a reply to each connection."""

MOST_CONNECTIONS: Final = DEFAULTS.max_connections
"""Ends the search for a table's capacity, if the plan does not."""

# What stands for N without arguments.
_USUAL_CONNECTIONS: Final = 1_000_000


@dataclass(frozen=True)
class Source:
    """Holds what a plan is made from.

    The plan's left side has the initiator, which is siitperf's right side with `Stateful 2`.

    With `hardware`, the testbed is siitperf's own instead of a lab. `usable_cores` are those of this machine, and
    `cards` its cards for siitperf's left and right side, as far as they are known. `differences` collects sentences on
    where the plan departs from the configuration.
    """

    conf: Conf
    procedure: str
    arguments: Arguments | None = None
    gateway: str | None = None
    hardware: bool = False
    usable_cores: frozenset[int] = frozenset()
    cards: Sequence[str] = ()
    differences: list[str] = field(default_factory=list)

    @property
    def stateful(self) -> bool:
        return initiator(self.conf) is not None

    @property
    def first(self) -> Direction:
        """Returns the direction from the plan's left side."""
        return initiator(self.conf) or FORWARD

    @property
    def second(self) -> Direction:
        return FORWARD if self.first is REVERSE else REVERSE

    @property
    def left(self) -> Letter:
        return self.first.sender

    @property
    def right(self) -> Letter:
        return self.second.sender

    @property
    def families(self) -> tuple[Family, Family]:
        """Returns the families of the plan's left and right side."""
        return family(self.conf, self.left), family(self.conf, self.right)

    @property
    def translation(self) -> TranslationKind | None:
        left, right = self.families
        if left == right:
            return None
        if left == Family.IPV4:
            return TranslationKind.NAT46
        return TranslationKind.NAT64 if self.stateful else TranslationKind.SIIT

    @property
    def phase2(self) -> bool:
        """Returns True if there is traffic other than new connections and their validation."""
        return self.procedure not in OF_CONNECTIONS

    @property
    def replies(self) -> bool:
        """Returns True if replies read the state table."""
        of_phase2 = self.stateful and self.phase2 and self.conf.flag(self.second.key)
        return of_phase2 or self.procedure in VALIDATING

    @property
    def has_background(self) -> bool:
        return self.phase2 and self.arguments is not None and self.arguments.m < self.arguments.n

    @property
    def sending(self) -> list[Direction]:
        """Returns the directions whose frames have flows of their own: replies have not."""
        return [self.first] if self.stateful else active(self.conf)

    @property
    def connections(self) -> int:
        if self.arguments:
            return self.arguments.foreground_of_phase1
        if self.draws:
            return _USUAL_CONNECTIONS
        return min(flow_space(self.conf, self.first), _USUAL_CONNECTIONS)

    @property
    def most_connections(self) -> int:
        """Returns the connections of the largest trial: a search for a table's capacity has trials of many sizes."""
        if self.procedure == "table-capacity":
            return min(flow_space(self.conf, self.first), MOST_CONNECTIONS)
        return self.connections

    @property
    def draws(self) -> bool:
        """Returns True if phase 1 draws four-tuples, which may repeat."""
        return self.stateful and not enumerates(self.conf)

    def of(self, *keys: str) -> str:
        """Returns a comment: the keys that a field is from, with their lines or `default`."""
        lines = self.conf.lines
        return ", ".join(f"{key} ({f'line {lines[key]}' if key in lines else 'default'})" for key in keys)

    def argument(self, name: str) -> str:
        """Returns a comment: the argument that a field is from, or that it is a guess without arguments."""
        return (
            f"argument {name}" if self.arguments else f"a guess: {name} is an argument of {PROCEDURES[self.procedure]}"
        )
