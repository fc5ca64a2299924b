# SPDX-License-Identifier: Apache-2.0
"""Homes behind one core that all have the same address, as DS-Lite allows them (RFC 6333 §6.6)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Annotated, Final

from pydantic import AfterValidator, Field, model_validator

from natxy.addressing.port_sets import LAST_PORT
from natxy.addressing.softwire_tables import MOST_HOMES, Homes
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import IPv6Prefix
from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import Count

# The tester computes addresses half by half.
_LONGEST_PREFIX: Final = 64


_NO_HOME: Final = ("is_multicast", "is_loopback", "is_unspecified", "is_reserved", "is_link_local")


def _of_a_home(address: IPv4Address) -> IPv4Address:
    if address.is_global or any(getattr(address, each) for each in _NO_HOME):
        raise ValueError(f"expected a private address such as 192.168.1.2, which homes have, got {address}")
    return address


class HomesPlan(PlanModel):
    """Homes whose packets all have one IPv4 address. Only their softwires tell them apart, and the core is a NAT that
    looks at them."""

    inner: Annotated[IPv4Address, AfterValidator(_of_a_home)]
    """IPv4 address of every home."""
    count: Annotated[Count, Field(le=MOST_HOMES)] = 256
    """Number of homes."""
    ipv6: IPv6Prefix = IPv6Network("fd00:2:6::/48")
    """Prefix of the homes' IPv6 addresses, their ends of the softwires."""

    @model_validator(mode="after")
    def _fits(self) -> HomesPlan:
        bits = (self.count - 1).bit_length()
        if self.ipv6.prefixlen + bits > _LONGEST_PREFIX:
            raise ValueError(
                f"{self.count:,} homes need {bits} bits behind {self.ipv6}, and ends have prefixes of at most "
                f"{_LONGEST_PREFIX} bits; give a shorter `ipv6`, such as one of {_LONGEST_PREFIX - bits} bits"
            )
        return self

    @property
    def core(self) -> None:
        """None: the core's end of the softwires is an address of natxy's own."""

    @property
    def bindings(self) -> Homes:
        return Homes.of(self.ipv6, self.inner, self.count)

    @property
    def ipv4(self) -> IPv4Network:
        """The network of the homes' address."""
        return IPv4Network(self.inner)

    @property
    def addresses(self) -> AddressRanges:
        """The numbers of the homes: the tester's four-tuples have them in place of the address."""
        first, last = self.bindings.numbers
        return AddressRanges((AddressRange(first=first, last=last),))

    @property
    def port_limits(self) -> tuple[int, int]:
        """The lowest and the highest port of a home."""
        return 1, LAST_PORT

    @property
    def share_addresses(self) -> bool:
        """False: each home has all ports."""
        return False
