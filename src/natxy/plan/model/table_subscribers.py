# SPDX-License-Identifier: Apache-2.0
"""Subscribers that a table lists, each with an IPv4 address, a PSID and its end of a softwire, as lw4o6 has them (RFC
7596)."""

from __future__ import annotations

from functools import cached_property
from ipaddress import IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationInfo, WithJsonSchema, model_validator

from natxy.addressing.port_sets import USUAL_OFFSET
from natxy.addressing.softwire_tables import SoftwireTable
from natxy.plan.bindings.csv_table import as_csv
from natxy.plan.bindings.lines import LONGEST_PSID, TableReader
from natxy.plan.bindings.table import read_table, read_table_file
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.base import PlanModel
from natxy.untrusted.validation import got

PLAN_FOLDER: Final = "plan_folder"
"""The name of the plan's folder in the context of validation."""


def _read(given: object, info: ValidationInfo) -> TableReader:
    """Reads the table of a file, or of a text of several lines, as resolved plans have it."""
    if isinstance(given, TableReader):
        return given
    if not isinstance(given, str):
        raise ValueError(f"expected the path of a table of softwires{got(given)}")
    if "\n" in given:
        return read_table(given)
    return read_table_file(Path((info.context or {}).get(PLAN_FOLDER, ".")) / Path(given).expanduser())


Table = Annotated[
    Any,
    BeforeValidator(_read),
    PlainSerializer(lambda table: as_csv(table.ends)),
    WithJsonSchema({"type": "string"}),
]
_Bits = Annotated[int, Field(ge=0, le=LONGEST_PSID)]


class TableSubscribersPlan(PlanModel):
    """Subscribers that a table lists.

    All PSIDs have one length and one offset, and all softwires one core. What the table says of these comes first.
    """

    table: Table
    """File with the softwires, seen from the plan's folder: lines of ipv4,psid,b4, or a configuration of Snabb's lwAFTR
    or VPP's `map`; or its lines themselves."""
    psid_length: _Bits | None = None
    """Bits of a PSID; default: the table's, or as many as its greatest PSID has."""
    offset: _Bits | None = None
    """Bits of a port before the PSID; default: the table's, or 6."""
    core: IPv6Address | None = None
    """The core's end of the softwires; default: the table's, or an address of natxy's own."""


class TableSubscribers(TableSubscribersPlan):
    """The same, with all values that have a default."""

    psid_length: _Bits
    offset: _Bits

    @classmethod
    def of(cls, plan: TableSubscribersPlan) -> TableSubscribers:
        """Returns the subscribers with all values. ValueError for a value that contradicts the table."""
        table: TableReader = plan.table
        for name in ("psid_length", "offset", "core"):
            own, given = getattr(plan, name), getattr(table, name)
            if own is not None and given not in {None, own}:
                raise ValueError(f"`{name}` is {own}, and the table has {given}; remove one of the two")
        greatest = max(psid for _, psid in table.ends)
        length = plan.psid_length if table.psid_length is None else table.psid_length
        offset = plan.offset if table.offset is None else table.offset
        return cls(
            table=TableReader(table.ends),
            psid_length=greatest.bit_length() if length is None else length,
            offset=USUAL_OFFSET if offset is None else offset,
            core=plan.core or table.core,
        )

    @model_validator(mode="after")
    def _is_whole(self) -> TableSubscribers:
        greatest = max(psid for _, psid in self.table.ends)
        if greatest >> self.psid_length:
            raise ValueError(f"`psid_length` is {self.psid_length}, and the table has a PSID of {greatest}")
        if self.psid_length + self.offset > LONGEST_PSID:
            raise ValueError(
                f"expected an offset and a PSID of at most {LONGEST_PSID} bits together, got {self.offset} and "
                f"{self.psid_length}"
            )
        # Raises ValueError if the tester cannot play the table.
        _ = self.bindings
        return self

    @cached_property
    def bindings(self) -> SoftwireTable:
        return SoftwireTable.of(self.table.ends, self.psid_length, self.offset)

    @property
    def count(self) -> int:
        return self.bindings.subscriber_count

    @property
    def ipv6(self) -> IPv6Network:
        """The smallest network with all of the subscribers' ends."""
        return self.bindings.ipv6

    @cached_property
    def addresses(self) -> AddressRanges:
        """The addresses: one range, or each of them where they have gaps."""
        own = self.bindings.addresses
        if int(own[-1]) - int(own[0]) == len(own) - 1:
            return AddressRanges((AddressRange(first=own[0], last=own[-1]),))
        return AddressRanges(tuple(AddressRange(first=each, last=each) for each in own))

    @property
    def ipv4(self) -> IPv4Network:
        """The smallest network with all of the subscribers' addresses."""
        return self.bindings.ipv4

    @property
    def share_addresses(self) -> bool:
        return self.psid_length > 0

    @property
    def port_limits(self) -> tuple[int, int]:
        """The lowest and the highest port that a subscriber has, where subscribers share addresses."""
        return self.bindings.port_limits
