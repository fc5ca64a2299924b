# SPDX-License-Identifier: Apache-2.0
"""Ranges of the addresses that the tester plays on one side, as a plan gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import pairwise
from typing import Annotated, Any, Final

from pydantic import (
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    RootModel,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from natxy.plan.model.addresses import IPAddress, IPNetwork, read_text
from natxy.plan.model.base import PlanModel
from natxy.system.interrupts import dumped

MOST_BITS: Final = 32
# A longer list makes a message to the engine slow to read. A bit field has no such limit.
MOST_ADDRESSES_LISTED: Final = 65_536
_EXPECTED: Final = "an address, a prefix such as 198.18.0.0/24, or {first: 198.18.0.2, last: 198.18.0.9}"


class AddressRange(PlanModel):
    """An address, a prefix, or `first` to `last`.

    `first` and `last` may differ in one field of at most 32 bits; `low_bit` is its lowest bit, counted from the least
    significant one. A prefix is the range of its hosts.
    """

    first: IPAddress
    last: IPAddress
    low_bit: Annotated[int, Field(ge=0, le=127)] = 0

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, given: object) -> object:
        if isinstance(given, IPv4Address | IPv6Address):
            return {"first": given, "last": given}
        return given if isinstance(given, Mapping | AddressRange) else _of_text(given)

    @model_validator(mode="after")
    def _one_field(self) -> AddressRange:
        if self.first.version != self.last.version:
            raise ValueError("first and last must be of the same family, both IPv4 or both IPv6")
        varying = int(self.first) ^ int(self.last)
        if varying >> self.low_bit << self.low_bit != varying or (varying >> self.low_bit).bit_length() > MOST_BITS:
            raise ValueError(
                f"first and last may differ only in the 32 bits from bit {self.low_bit} upwards; "
                "set `low_bit` to the lowest bit that varies"
            )
        if int(self.first) > int(self.last):
            raise ValueError(f"first ({self.first}) must not be above last ({self.last})")
        return self

    @property
    def size(self) -> int:
        return ((int(self.last) - int(self.first)) >> self.low_bit) + 1

    @property
    def values(self) -> tuple[int, int]:
        """The first and the last value of the bits that vary."""
        first, last = int(self.first) >> self.low_bit, int(self.last) >> self.low_bit
        return first & self._ones, last & self._ones

    @property
    def fixed_part(self) -> int:
        """The address with all bits that vary set to 0."""
        return int(self.first) & ~(self._ones << self.low_bit)

    @property
    def _ones(self) -> int:
        return (1 << ((int(self.first) ^ int(self.last)) >> self.low_bit).bit_length()) - 1

    def within(self, networks: Iterable[IPNetwork]) -> bool:
        return any(self.first in network and self.last in network for network in networks)

    def __contains__(self, address: IPAddress) -> bool:
        above, below_field = int(address) - int(self.first), (1 << self.low_bit) - 1
        return 0 <= above <= int(self.last) - int(self.first) and not above & below_field

    def __str__(self) -> str:
        return str(self.first) if self.size == 1 else f"{self.first} to {self.last}"


def _of_text(given: object) -> dict[str, IPAddress]:
    if isinstance(given, str) and "/" in given:
        return _hosts_of(read_text(ip_network, given, _EXPECTED))
    address = read_text(ip_address, given, _EXPECTED)
    return {"first": address, "last": address}


def _hosts_of(network: IPNetwork) -> dict[str, IPAddress]:
    """Returns the network's range without its first address and without IPv4's broadcast address."""
    if network.max_prefixlen - network.prefixlen > MOST_BITS:
        raise ValueError(
            f"{network} has more than 2^32 addresses; give a prefix of /96 or longer, or {{first, last, low_bit}}"
        )
    first, last = network.network_address, network.broadcast_address
    if network.num_addresses > 2:
        first += 1
        last -= network.version == 4
    return {"first": first, "last": last}


class AddressRanges(
    RootModel[Annotated[tuple[AddressRange, ...], Field(min_length=1, max_length=MOST_ADDRESSES_LISTED)]]
):
    """A range, or a list of ranges that have the same values in the same bits: addresses, or prefixes of one length."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        several = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [several["items"], several]}

    @model_validator(mode="before")
    @classmethod
    def _one(cls, given: object) -> object:
        return given if isinstance(given, list | tuple) else (given,)

    @model_validator(mode="after")
    def _alike(self) -> AddressRanges:
        first = self.ranges[0]
        for other in self.ranges[1:]:
            if other.first.version != first.first.version:
                raise ValueError(f"{first} and {other} must be of the same family, both IPv4 or both IPv6")
            if other.values != first.values or (first.size > 1 and other.low_bit != first.low_bit):
                raise ValueError(
                    f"{first} and {other} must have the same values in the same bits, as prefixes of one length do"
                )
        for one, next_one in pairwise(sorted(self.ranges, key=lambda each: each.fixed_part)):
            if one.fixed_part == next_one.fixed_part:
                raise ValueError(f"{one} is in the list twice; remove one")
        if self.size > 1 << MOST_BITS:
            raise ValueError(f"expected at most 2^32 addresses, got {self.size:,}")
        return self

    @model_serializer
    def _shortest(self) -> Any:
        shortest = [str(each.first) if each.size == 1 else dumped(each) for each in self.ranges]
        return dumped(self.ranges[0]) if len(shortest) == 1 else shortest

    @property
    def ranges(self) -> tuple[AddressRange, ...]:
        return self.root

    @property
    def first(self) -> IPAddress:
        return self.ranges[0].first

    @property
    def last(self) -> IPAddress:
        return self.ranges[-1].last

    @property
    def size(self) -> int:
        return sum(each.size for each in self.ranges)

    @property
    def first_alone(self) -> AddressRanges:
        return AddressRanges.model_validate(self.first)

    def __contains__(self, address: IPAddress) -> bool:
        return any(address in each for each in self.ranges)

    def __str__(self) -> str:
        return str(self.first) if self.size == 1 else f"{self.first} to {self.last}"
