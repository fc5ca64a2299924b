# SPDX-License-Identifier: Apache-2.0
"""Holds some of a core's subscribers, whose bindings are withdrawn and added together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address

from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.softwire_tables import SoftwireTable, TableSubscriber


@dataclass(frozen=True)
class SubscriberRange:
    """Holds subscribers of a rule or a table by their numbers: all those of successive IPv4 addresses."""

    several: MapRule | SoftwireTable
    numbers: range

    @classmethod
    def of(cls, several: MapRule | SoftwireTable, first: IPv4Address, last: IPv4Address) -> SubscriberRange:
        """Returns the subscribers of a rule or a table that have addresses from `first` to `last`.

        The rule gives single addresses, and the table lists all addresses between the two. ValueError for an address
        of nobody.
        """
        shared_by = several.psid_count
        low, high = (several.place(each) * shared_by for each in (first, last))
        return cls(several, range(low, high + shared_by))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[MapSubscriber | TableSubscriber]:
        return map(self.several.subscriber, self.numbers)

    @property
    def addresses(self) -> tuple[IPv4Address, IPv4Address]:
        """The first and the last IPv4 address."""
        first, last = (self.several.subscriber(number) for number in (self.numbers[0], self.numbers[-1]))
        return first.ipv4, last.ipv4


def changed(
    before: Sequence[SubscriberRange], after: Sequence[SubscriberRange]
) -> tuple[list[SubscriberRange], list[SubscriberRange]]:
    """Returns what changes between two sets of subscribers without a binding: who loses a binding, and who gets one."""
    return [each for each in after if each not in before], [each for each in before if each not in after]
