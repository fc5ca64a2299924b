# SPDX-License-Identifier: Apache-2.0
"""Who has which address on the two links of a testbed.

The address plan is `gateway` by default: the tester has one address per link and everything else it plays lies
behind that next hop, because thousands of on-link neighbours slow a DUT.
"""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from natxy.plan.model.terms import TranslationKind

IPInterface = IPv4Interface | IPv6Interface
IPNetwork = IPv4Network | IPv6Network
IPAddress = IPv4Address | IPv6Address
EMBEDDING_LENGTH = 96
USUAL_MTU = 1500


def power_of_two(number: int) -> int:
    if number & (number - 1):
        raise ValueError(f"expected a power of two such as 256, got {number}")
    return number


class LinkAddresses(BaseModel):
    """One side: `dut` and `tester` share the link's prefix; `behind` is routed by the DUT to `tester`, each prefix as
    so many `networks`, with a route of its own for each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dut: IPInterface
    tester: IPInterface
    behind: tuple[IPNetwork, ...] = ()
    networks: Annotated[int, Field(ge=1, le=65_536), AfterValidator(power_of_two)] = Field(
        default=1, exclude_if=lambda networks: networks == 1
    )

    @model_validator(mode="after")
    def _divisible(self) -> LinkAddresses:
        for network in self.behind:
            if network.num_addresses < self.networks:
                raise ValueError(f"{network} cannot be divided into {self.networks} networks")
        return self

    @property
    def networks_behind(self) -> tuple[IPNetwork, ...]:
        deeper = self.networks.bit_length() - 1
        return tuple(part for network in self.behind for part in network.subnets(prefixlen_diff=deeper))

    @property
    def routes(self) -> tuple[IPNetwork, ...]:
        """Prefixes that the DUT has to have routes to: it knows the link's own."""
        return tuple(network for network in self.networks_behind if network != self.dut.network)


class LinkPair(BaseModel):
    """Both sides."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: LinkAddresses
    right: LinkAddresses


class AddressMapping(BaseModel):
    """IPv6 hosts and the IPv4 addresses that stand for them, one for one (RFC 7757)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ipv4: IPv4Network
    ipv6: IPv6Network

    @model_validator(mode="after")
    def _one_for_one(self) -> AddressMapping:
        if self.ipv4.num_addresses != self.ipv6.num_addresses:
            raise ValueError(f"{self.ipv4} and {self.ipv6} must hold equally many addresses, as a /24 and a /120 do")
        return self


class Translation(BaseModel):
    """What a gateway between IPv6 and IPv4 has to be told.

    `prefix`: a /96; an IPv4 host's IPv6 address is the prefix followed by its own (RFC 6052). `mappings`: the IPv4
    addresses of those IPv6 hosts that IPv4 hosts send to unasked. `pool`: what stands on the right for all hosts of
    the left where connections are kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: TranslationKind
    prefix: IPv6Network
    pool: IPNetwork
    mappings: tuple[AddressMapping, ...] = ()

    @field_validator("prefix")
    @classmethod
    def _embeds(cls, prefix: IPv6Network) -> IPv6Network:
        if prefix.prefixlen != EMBEDDING_LENGTH:
            raise ValueError(f"expected a /{EMBEDDING_LENGTH} such as 2001:2:0:64::/96, got {prefix}")
        return prefix

    def across(self, host: IPAddress) -> IPAddress | None:
        """The address that `host` has in the other family; None for an IPv6 host without a mapping."""
        if isinstance(host, IPv4Address):
            return self.prefix.network_address + int(host)
        for mapping in self.mappings:
            if host in mapping.ipv6:
                return mapping.ipv4.network_address + (int(host) - int(mapping.ipv6.network_address))
        return None


class AddressPlan(BaseModel):
    """The left side is the initiator's (private) side, the right one the responder's.

    With a `translation` they are of different families. `background`: further addresses of the same links, for native
    IPv6 traffic. `mtu` is that of both links: the longest frame's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: LinkAddresses
    right: LinkAddresses
    translation: Translation | None = None
    mtu: int = USUAL_MTU
    background: LinkPair | None = None

    @property
    def pairs(self) -> tuple[LinkPair, ...]:
        """All addresses of the two links."""
        own = LinkPair(left=self.left, right=self.right)
        return (own, self.background) if self.background else (own,)

    @property
    def networks(self) -> tuple[IPNetwork, ...]:
        """Everything that test traffic comes from or goes to."""
        return tuple(network for link in (self.left, self.right) for network in (link.dut.network, *link.behind))


class AddressPreset(StrEnum):
    SINGLE = "single"
    MULTIPLE = "multiple"
