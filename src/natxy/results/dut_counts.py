# SPDX-License-Identifier: Apache-2.0
"""The record of what the DUT's own counters say about a trial: how far each of them rose between two readings.

Counters are kept under the command that shows them to a user, such as `conntrack -S`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from natxy.untrusted.values import Whole

CONNTRACK: Final = "conntrack -S"
CONNTRACK_LOSSES: Final = ("chaintoolong", "insert_failed", "drop")
"""A frame that the first one counts is counted by the others as well, and so on."""
KERNEL: Final = "nstat"
NEIGHBORS: Final = "lnstat"
RECEIVED: Final = ("IpInReceives", "Ip6InReceives")
FORWARDED: Final = ("IpForwDatagrams", "Ip6OutForwDatagrams")
SENT: Final = ("IpOutTransmits", "Ip6OutTransmits")
# These say what the DUT did, and not that it lost a frame by it.
_NO_LOSS: Final = {*RECEIVED, *FORWARDED, *SENT}


class Rise(NamedTuple):
    """Says how far a counter rose, and which command shows the counter."""

    counter: str
    by: int
    shown_by: str

    def text(self) -> str:
        return f"{self.counter} rose by {self.by:,} in `{self.shown_by}`"


class DutCounts(BaseModel):
    """Holds the counters that rose during a trial, by command and name, and the sizes of the DUT's connection table.

    `connections`, `table_size` and `buckets` are netfilter's, after the trial; None where the DUT does not tell them.
    `silent_rules` are rules of its filters that drop frames and do not count them. Of several gateways, the counters
    are added up, and the sizes are those of the table with the most connections.
    """

    # A later natxy may have recorded more.
    model_config = ConfigDict(extra="ignore", frozen=True)

    rose: dict[str, dict[str, Whole]] = Field(default={})
    connections: Whole | None = None
    table_size: Whole | None = None
    buckets: Whole | None = None
    silent_rules: tuple[str, ...] = ()

    def rise(self, shown_by: str, *counters: str) -> int:
        """Returns how far these counters of a command rose in all."""
        return sum(self.rose.get(shown_by, {}).get(counter, 0) for counter in counters)

    def losses(self) -> Iterator[Rise]:
        """Yields the counters of lost frames that rose; those of the connection table come first, in their order."""
        tracked = self.rose.get(CONNTRACK, {})
        yield from (Rise(name, tracked[name], CONNTRACK) for name in CONNTRACK_LOSSES if name in tracked)
        for shown_by, counters in self.rose.items():
            if shown_by == CONNTRACK:
                continue
            yield from (Rise(name, by, shown_by) for name, by in counters.items() if name not in _NO_LOSS)


def together(hops: Sequence[DutCounts]) -> DutCounts:
    """Returns the counts of several gateways on one machine, one behind the other."""
    rose: dict[str, dict[str, int]] = {}
    for each in hops:
        for shown_by, counters in each.rose.items():
            own = rose.setdefault(shown_by, {})
            for name, by in counters.items():
                # The tables of neighbours are the whole machine's.
                own[name] = max(own.get(name, 0), by) if shown_by.startswith(NEIGHBORS) else own.get(name, 0) + by
    fullest = max(hops, key=lambda each: each.connections or 0)
    return fullest.model_copy(
        update={
            "rose": rose,
            "silent_rules": tuple(dict.fromkeys(rule for each in hops for rule in each.silent_rules)),
        }
    )
