# SPDX-License-Identifier: Apache-2.0
"""The hosts and ports of an experiment's traffic, with the links that lead to the hosts."""

from __future__ import annotations

from pydantic import Field

from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import AddressPreset, LinkAddresses, Pool
from natxy.plan.model.base import PlanModel
from natxy.plan.model.traffic import PortRange
from natxy.plan.moved import block_of, moved_hosts, moved_link


class Addresses(PlanModel):
    preset: AddressPreset
    left: LinkAddresses
    right: LinkAddresses
    left_hosts: AddressRanges
    right_hosts: AddressRanges
    pool: Pool | None = Field(default=None, exclude_if=lambda pool: pool is None)

    @property
    def destination_networks(self) -> int:
        """The number of networks behind the side that has fewer."""
        return min(len(self.left.networks_behind), len(self.right.networks_behind))

    def of_pair(self, number: int) -> Addresses:
        """Returns the addresses of a pair of interfaces, from 0 on.

        Each side's are those of the first pair, moved by as many prefixes as hold all of that side's. ValueError when
        there are no such addresses.
        """
        if number == 0:
            return self
        blocks = (block_of(link) for link in (self.left, self.right))
        left, right = (number * (block.stop - block.start) for block in blocks)
        moved = {
            "left": moved_link(self.left, left),
            "right": moved_link(self.right, right),
            "left_hosts": moved_hosts(self.left_hosts, left),
            "right_hosts": moved_hosts(self.right_hosts, right),
        }
        return self.model_copy(update=moved)


class PortPair(PlanModel):
    source: PortRange
    destination: PortRange

    @property
    def size(self) -> int:
        """The number of combinations."""
        return self.source.size * self.destination.size

    def alone(self, step: int = 0) -> PortPair:
        """Returns one port of each range, so many ports after the first; after the last, it begins again."""
        return PortPair(source=_only(self.source, step), destination=_only(self.destination, step))


class Ports(PortPair):
    """The ports of traffic from left to right and, where these differ, from right to left."""

    reverse: PortPair | None = None

    @property
    def in_reverse(self) -> PortPair:
        """The ports of traffic from right to left."""
        return self.reverse or self


def _only(ports: PortRange, step: int) -> PortRange:
    port = ports.min + step % ports.size
    return PortRange(min=port, max=port)
