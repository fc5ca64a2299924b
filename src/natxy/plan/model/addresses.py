# SPDX-License-Identifier: Apache-2.0
"""The addresses on the two links of a testbed.

The tester has one address on each link, and all other addresses that it plays are behind that next hop, unless a plan
asks for hosts on the link itself: thousands of on-link neighbours would slow the DUT.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    model_validator,
)

from natxy.addressing.embedding import embedded, embeds, extracted
from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.softwire_tables import Bindings
from natxy.plan.model.base import Pattern, PlanModel
from natxy.plan.model.terms import MapEnd, SoftwireEnd, TranslationKind
from natxy.untrusted.validation import got

_Read = TypeVar("_Read")


def read_text(read: Callable[[str], _Read], given: object, expected: str) -> _Read:
    """Reads an address or a prefix. The error of another value names what was expected once, whatever the families."""
    if not isinstance(given, str):
        raise ValueError(f"expected {expected}{got(given)}")
    try:
        return read(given)
    except ValueError as error:
        why = ", which has bits set beyond its length" if "host bits" in str(error) else ""
        raise ValueError(f"expected {expected}{got(given)}{why}") from error


def _read_by(read: Callable[[str], object], expected: str) -> BeforeValidator:
    def read_given(given: object) -> object:
        is_read = isinstance(given, IPv4Address | IPv6Address | IPv4Network | IPv6Network)
        return given if is_read else read_text(read, given, expected)

    return BeforeValidator(read_given)


IPInterface = Annotated[
    IPv4Interface | IPv6Interface, _read_by(ip_interface, "an address with the length of its prefix, as 198.18.0.1/24")
]
IPNetwork = Annotated[IPv4Network | IPv6Network, _read_by(ip_network, "a prefix such as 198.19.0.4/30")]
Pool = Annotated[
    IPv4Network | IPv6Network, _read_by(ip_network, "one prefix with all public addresses, such as 198.19.0.4/30")
]
IPv4Prefix = Annotated[IPv4Network, _read_by(IPv4Network, "an IPv4 prefix such as 198.18.0.0/24")]
IPv6Prefix = Annotated[IPv6Network, _read_by(IPv6Network, "an IPv6 prefix such as 2001:2:0:1::/112")]
IPAddress = Annotated[IPv4Address | IPv6Address, _read_by(ip_address, "an address such as 198.18.0.2")]
Mac = Annotated[
    str,
    Pattern(
        r"[0-9a-f][02468ace](:[0-9a-f]{2}){5}",
        "a port's MAC address in small letters, such as 02:00:00:00:00:01",
    ),
]
WELL_KNOWN_PREFIX = IPv6Network("64:ff9b::/96")  # RFC 6052 §2.1
WELL_KNOWN_SPACE = IPv6Network("64:ff9b::/47")  # has that, and 64:ff9b:1::/48 of RFC 8215
USUAL_MTU = 1500
MOST_ON_LINK = 32_768
# Above the addresses that links usually have for their own.
_FIRST_ON_LINK = {4: 1 << 8, 6: 1 << 16}


EmbeddingPrefix = Annotated[IPv6Prefix, AfterValidator(embeds)]


def power_of_two(number: int) -> int:
    if number & (number - 1):
        raise ValueError(f"expected a power of two such as 256, got {number}")
    return number


class LinkAddresses(PlanModel):
    """The addresses of one link.

    `dut` and `tester` are in the link's prefix. The DUT routes the prefixes `behind` to `tester`. Each of them is
    divided into `networks` equal parts, with a route for each. `on_link` is the number of further hosts that the tester
    plays on the link itself, neighbours of the DUT, at addresses from 256 above that of the prefix on (IPv6: 65,536).
    """

    dut: IPInterface
    """Address of the gateway, e.g. 198.18.0.1/24."""
    tester: IPInterface
    """Address of the tester, e.g. 198.18.0.2/24."""
    behind: tuple[IPNetwork, ...] = ()
    """Prefixes behind the tester, with a route for each; default: none."""
    networks: Annotated[int, Field(ge=1, le=65_536), AfterValidator(power_of_two)] = Field(
        default=1, exclude_if=lambda networks: networks == 1
    )
    """Networks that each prefix is divided into, a power of two, with a route for each."""
    on_link: Annotated[int, Field(ge=0, le=MOST_ON_LINK)] = Field(default=0, exclude_if=lambda hosts: hosts == 0)
    """Further hosts on the link, from 256 above the prefix on, with IPv6 from 65,536."""

    @model_validator(mode="after")
    def _divisible(self) -> LinkAddresses:
        for network in self.behind:
            if network.num_addresses < self.networks:
                raise ValueError(
                    f"{network} is too small for {self.networks} networks; give fewer, or a shorter prefix"
                )
        return self

    @model_validator(mode="after")
    def _room_on_link(self) -> LinkAddresses:
        if hosts := self.hosts_on_link:
            if hosts[-1] not in self.dut.network or hosts[-1] == self.dut.network.broadcast_address:
                text = f"{self.dut.network} has no room for {self.on_link} hosts from {hosts[0]} on"
                raise ValueError(f"{text}; give the link a shorter prefix, or fewer hosts on_link")
            if taken := next((each.ip for each in (self.dut, self.tester) if each.ip in hosts), None):
                raise ValueError(f"{taken} is one of the {self.on_link} hosts on_link; choose another address for it")
        return self

    @property
    def hosts_on_link(self) -> list[IPAddress]:
        """The hosts on the link itself, besides the tester's own address."""
        first = self.dut.network.network_address + _FIRST_ON_LINK[self.dut.version]
        return [first + number for number in range(self.on_link)]

    @property
    def neighbors(self) -> list[IPAddress]:
        """The tester's addresses that the DUT has on the link itself."""
        return [self.tester.ip, *self.hosts_on_link]

    @property
    def answered(self) -> tuple[IPNetwork, ...]:
        """The prefixes for which the tester answers ARP or neighbour solicitations."""
        return (*self.behind, *((self.dut.network,) if self.on_link else ()))

    @property
    def networks_behind(self) -> tuple[IPNetwork, ...]:
        deeper = self.networks.bit_length() - 1
        return tuple(part for network in self.behind for part in network.subnets(prefixlen_diff=deeper))

    @property
    def routes(self) -> tuple[IPNetwork, ...]:
        """The prefixes that the DUT needs routes to. It knows the link's own prefix."""
        return tuple(network for network in self.networks_behind if network != self.dut.network)


class LinkMacs(PlanModel):
    """The MAC addresses of two ports, one on each link."""

    left: Mac
    right: Mac


class LinkPair(PlanModel):
    """The addresses of both links."""

    left: LinkAddresses
    right: LinkAddresses


class AddressMapping(PlanModel):
    """IPv6 hosts and the IPv4 addresses that represent them, one for each (RFC 7757)."""

    ipv4: IPv4Prefix
    """IPv4 prefix that represents the IPv6 hosts."""
    ipv6: IPv6Prefix
    """IPv6 prefix with as many addresses as the IPv4 prefix."""

    @model_validator(mode="after")
    def _one_for_one(self) -> AddressMapping:
        if self.ipv4.num_addresses != self.ipv6.num_addresses:
            raise ValueError(
                f"{self.ipv4} and {self.ipv6} must have the same number of addresses, as a /24 and a /120 do"
            )
        return self


class Translation(PlanModel):
    """The settings of a gateway that translates between IPv6 and IPv4.

    The IPv6 address of an IPv4 host is its IPv4 address behind the `prefix` (RFC 6052 §2.2).
    `mappings` give IPv4 addresses to the IPv6 hosts that IPv4 hosts send to of their own accord, and in a clat IPv6
    addresses to the IPv4 hosts on the left. Where the gateway keeps connections, `pool` has the addresses that replace
    those of all left hosts on the right.
    """

    kind: TranslationKind
    prefix: EmbeddingPrefix
    pool: Pool
    mappings: tuple[AddressMapping, ...] = ()

    def across(self, host: IPAddress) -> IPAddress | None:
        """Returns the host's address in the other family, or None for an IPv6 host that has none.

        A mapping comes before the prefix (RFC 7757 §3.3).
        """
        if isinstance(host, IPv4Address):
            if mapping := self.mapping_of(host):
                return mapping.ipv6.network_address + (int(host) - int(mapping.ipv4.network_address))
            return embedded(self.prefix, host)
        if mapping := self.mapping_of(host):
            return mapping.ipv4.network_address + (int(host) - int(mapping.ipv6.network_address))
        with suppress(ValueError):
            return extracted(self.prefix, host)
        return None

    def mapping_of(self, host: IPAddress) -> AddressMapping | None:
        return next((each for each in self.mappings if host in each.ipv4 or host in each.ipv6), None)


class Softwire(PlanModel):
    """One end of a softwire: IPv4 packets to the networks that it `carries` go in IPv6 packets from `own` to `far`.

    A core of several `subscribers` carries to each of them what their rule or table says; `far` is the first one's end.
    """

    end: SoftwireEnd
    own: IPv6Address
    far: IPv6Address
    carries: tuple[IPv4Prefix, ...]
    subscribers: Bindings | None = None


class MapDomain(PlanModel):
    """One end of MAP-T: IPv4 packets between a subscriber and the networks that an edge `carries` are translated.

    A subscriber's IPv6 address follows from the `rule`, and that of a far IPv4 host is behind the `prefix` of the
    default mapping rule (RFC 7599 §5). `only` is the number of the subscriber where the rule has others that are not
    there; None if all of them are.
    """

    end: MapEnd
    rule: MapRule
    only: int | None = None
    prefix: EmbeddingPrefix
    carries: tuple[IPv4Prefix, ...] = ()

    @property
    def subscribers(self) -> list[MapSubscriber]:
        numbers = range(self.rule.subscriber_count) if self.only is None else (self.only,)
        return [self.rule.subscriber(number) for number in numbers]

    @property
    def subscriber_network(self) -> IPv6Network:
        """The network of the subscribers' IPv6 addresses."""
        return self.rule.ipv6 if self.only is None else self.rule.subscriber(self.only).prefix

    @property
    def translated(self) -> tuple[IPNetwork, ...]:
        """The networks whose packets this end translates, by their destinations."""
        if self.end == MapEnd.EDGE:
            return (*self.carries, self.subscriber_network)
        return (self.rule.ipv4, self.prefix)

    def across(self, host: IPAddress) -> IPAddress | None:
        """Returns a host's address in the other family: that of the first subscriber that has the address, or of a far
        host. None for an IPv6 host that is neither."""
        rule = self.rule
        if isinstance(host, IPv4Address):
            if host not in rule.ipv4:
                return embedded(self.prefix, host)
            of_address = int(host) - int(rule.ipv4.network_address) << rule.psid_length
            return rule.subscriber(of_address if self.only is None else self.only).address
        if host in self.subscriber_network:
            # The interface identifier has the address (RFC 7597 §6).
            return IPv4Address(int(host) >> 16 & 0xFFFF_FFFF)
        with suppress(ValueError):
            return extracted(self.prefix, host)
        return None


class AddressPlan(PlanModel):
    """The addresses of both sides: the initiator's (private) side is left, the responder's is right.

    With a `translation`, a `softwire` or a `map_domain`, the sides are of different families. Without a translation,
    `pool` has the addresses that replace those of all left hosts on the right, where that is not the DUT's own address
    alone.
    `background` has further addresses of the same links, for native IPv6 traffic. `mtu` is the MTU of all links, large
    enough for the longest frame. `further` has the links of further pairs of interfaces.
    """

    left: LinkAddresses
    right: LinkAddresses
    translation: Translation | None = None
    softwire: Softwire | None = None
    map_domain: MapDomain | None = None
    pool: Pool | None = None
    mtu: int = USUAL_MTU
    background: LinkPair | None = None
    further: tuple[LinkPair, ...] = ()

    @property
    def translates(self) -> bool:
        """True if the gateway translates between IPv6 and IPv4."""
        return bool(self.translation or self.map_domain)

    @property
    def has_subscribers(self) -> bool:
        """True if the gateway is the core of several subscribers."""
        domain = self.map_domain
        of_map_t = domain is not None and domain.end == MapEnd.CORE and domain.only is None
        return of_map_t or bool(self.softwire and self.softwire.subscribers)

    @property
    def public(self) -> IPNetwork:
        """The addresses that replace those of all left hosts on the right, if anything does."""
        return self.translation.pool if self.translation else self.pool or ip_network(self.right.dut.ip)

    @property
    def pairs(self) -> tuple[LinkPair, ...]:
        """The foreground's addresses of the first two links, and the background's, if it has any."""
        own = LinkPair(left=self.left, right=self.right)
        return (own, self.background) if self.background else (own,)

    @property
    def networks(self) -> tuple[IPNetwork, ...]:
        """The networks that test traffic comes from or goes to."""
        pairs = (LinkPair(left=self.left, right=self.right), *self.further)
        links = (link for pair in pairs for link in (pair.left, pair.right))
        own = (network for link in links for network in (link.dut.network, *link.behind))
        return (*own, *([self.pool] if self.pool else []))


class AddressPreset(StrEnum):
    """`single`: one host on each side. `multiple`: 16 bits of the hosts' addresses vary on both sides."""

    SINGLE = "single"
    MULTIPLE = "multiple"
