# SPDX-License-Identifier: Apache-2.0
"""The subscribers of a core: how many there are, and the addresses and ports of each, by a mapping rule (RFC 7597), by
a table (RFC 7596), or as homes with the same address (RFC 6333)."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Network
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.port_sets import LAST_PORT, USUAL_OFFSET
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import IPv4Prefix, IPv6Prefix
from natxy.plan.model.base import PlanModel
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.table_subscribers import TableSubscribers, TableSubscribersPlan

# An end-user prefix of at most 64 bits: the tester computes addresses half by half.
_LONGEST_PREFIX: Final = 64
_SUFFIX_BITS: Final = 32
# Of the addresses behind 198.18.128.0.
_MOST_BITS: Final = 15


class SubscribersPlan(PlanModel):
    """The subscribers behind one core, each with a softwire of its own.

    Each has an address of `ipv4` or, with more `ea_length` bits than `ipv4` leaves, a part of an address's ports.
    """

    ipv4: IPv4Prefix | None = None
    """Prefix of the subscribers' IPv4 addresses; default: 256 addresses behind the left link."""
    ipv6: IPv6Prefix = IPv6Network("fd00:2:6::/48")
    """Prefix of the subscribers' IPv6 addresses, their ends of the softwires."""
    ea_length: Annotated[int, Field(ge=1, le=48)] | None = None
    """Embedded address bits, which tell subscribers apart; default: one subscriber for each address."""
    offset: Annotated[int, Field(ge=0, le=15)] = USUAL_OFFSET
    """Bits of a port before the PSID, where subscribers share addresses."""


class Subscribers(SubscribersPlan):
    """The same, with all values."""

    ipv4: IPv4Prefix

    @model_validator(mode="after")
    def _fits(self) -> Subscribers:
        # Raises ValueError for a rule that contradicts itself.
        rule = self.rule
        if rule.ea_length < _SUFFIX_BITS - self.ipv4.prefixlen:
            raise ValueError(
                f"{rule.ea_length} EA bits give each subscriber a prefix, and the tester plays single addresses; give "
                f"at least {_SUFFIX_BITS - self.ipv4.prefixlen}, or an `ipv4` with a longer prefix"
            )
        if (length := self.ipv6.prefixlen + rule.ea_length) > _LONGEST_PREFIX:
            raise ValueError(
                f"{self.ipv6} and {rule.ea_length} EA bits make prefixes of {length} bits; expected at most "
                f"{_LONGEST_PREFIX}, so give a shorter `ipv6`"
            )
        return self

    @property
    def core(self) -> None:
        """None: the core's end of the softwires is an address of natxy's own."""

    @property
    def bindings(self) -> MapRule:
        return self.rule

    @property
    def rule(self) -> MapRule:
        length = _SUFFIX_BITS - self.ipv4.prefixlen if self.ea_length is None else self.ea_length
        return MapRule(self.ipv6, self.ipv4, length, self.offset)

    @property
    def count(self) -> int:
        return self.rule.subscriber_count

    @property
    def addresses(self) -> AddressRanges:
        """All addresses of `ipv4`: a rule maps the first and the last one, too."""
        return AddressRanges((AddressRange(first=self.ipv4.network_address, last=self.ipv4.broadcast_address),))

    @property
    def share_addresses(self) -> bool:
        return self.rule.psid_length > 0

    @property
    def port_limits(self) -> tuple[int, int]:
        """The lowest and the highest port that a subscriber may have, where subscribers share addresses."""
        return 1 << 16 - self.offset if self.offset else 1, LAST_PORT

    def subscriber(self, number: int) -> MapSubscriber:
        return self.rule.subscriber(number)


def as_prefix(given: object) -> object:
    """Returns what was given. ValueError for a number of subscribers, with the prefix that has as many."""
    if isinstance(given, bool) or not isinstance(given, int):
        return given
    bits = max(given - 1, 0).bit_length()
    if not 0 < given <= 1 << _MOST_BITS:
        raise ValueError("expected a mapping such as {ipv4: 198.18.128.0/24}: a subscriber for each address")
    more = "" if given == 1 << bits else f", which has {1 << bits:,}: a prefix has a power of two"
    raise ValueError(
        f"expected a mapping, got {given}; a prefix tells how many: write {{ipv4: 198.18.128.0/{_SUFFIX_BITS - bits}}}"
        f"{more}"
    )


def _kind(given: Any) -> str:
    """Returns the tag of what subscribers are given by."""
    for tag, field, models in (
        ("in a table", "table", TableSubscribersPlan),
        ("with one address", "inner", HomesPlan),
    ):
        if isinstance(given, models) or (isinstance(given, Mapping) and field in given):
            return tag
    return "by a rule"


AnySubscribersPlan = Annotated[
    Annotated[SubscribersPlan, Tag("by a rule")]
    | Annotated[TableSubscribersPlan, Tag("in a table")]
    | Annotated[HomesPlan, Tag("with one address")],
    Discriminator(_kind),
    BeforeValidator(as_prefix),
]
AnySubscribers = Annotated[
    Annotated[Subscribers, Tag("by a rule")]
    | Annotated[TableSubscribers, Tag("in a table")]
    | Annotated[HomesPlan, Tag("with one address")],
    Discriminator(_kind),
]
