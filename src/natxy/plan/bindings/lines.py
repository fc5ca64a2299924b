# SPDX-License-Identifier: Apache-2.0
"""Holds the softwires that a table lists, and reads their values. Every error names the line and the field."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from natxy.addressing.softwire_tables import MOST_IN_TABLE
from natxy.untrusted.validation import got

LONGEST_PSID: Final = 16


class TableError(ValueError):
    """Tells what is wrong with a table."""


def wrong(line: int, name: str, text: str) -> TableError:
    """Returns the error in a field of a line."""
    return TableError(f"line {line}: {name}: {text}")


def ipv4_of(line: int, name: str, given: str) -> IPv4Address:
    try:
        return IPv4Address(given)
    except AddressValueError:
        raise wrong(line, name, f"expected an IPv4 address{got(given)}") from None


def ipv6_of(line: int, name: str, given: str) -> IPv6Address:
    try:
        return IPv6Address(given)
    except AddressValueError:
        raise wrong(line, name, f"expected an IPv6 address{got(given)}") from None


def number_of(line: int, name: str, given: str, most: int) -> int:
    """Returns a number from 0 to `most`."""
    if not (given.isascii() and given.isdigit() and len(given) <= len(str(most)) and int(given) <= most):
        raise wrong(line, name, f"expected a number from 0 to {most}{got(given)}")
    return int(given)


@dataclass
class TableReader:
    """Collects the softwires of a table.

    A table may say for all of its softwires how long PSIDs are, with which offset, and which end the core has; all
    softwires have to agree.
    """

    ends: dict[tuple[IPv4Address, int], IPv6Address] = field(default_factory=dict)
    psid_length: int | None = None
    offset: int | None = None
    core: IPv6Address | None = None
    _lines: dict[tuple[IPv4Address, int], int] = field(default_factory=dict, compare=False, repr=False)

    def add(self, line: int, name: str, ipv4: IPv4Address, psid: int, end: IPv6Address) -> None:
        """Adds a softwire. `name`: the field to name if the table already has one of this address and PSID."""
        key = (ipv4, psid)
        if key in self.ends:
            text = f"{ipv4} has a softwire of PSID {psid} in line {self._lines[key]} already; remove one of the two"
            raise wrong(line, name, text)
        if len(self.ends) == MOST_IN_TABLE:
            raise wrong(line, name, f"expected at most {MOST_IN_TABLE:,} softwires; split the table")
        self.ends[key] = end
        self._lines[key] = line

    def agree_on_ports(self, line: int, names: tuple[str, str], psid_length: int, offset: int) -> None:
        """Takes the length and the offset of a softwire's PSID. `names`: those of both fields."""
        if psid_length + offset > LONGEST_PSID:
            raise wrong(
                line,
                names[1],
                f"expected at most {LONGEST_PSID - psid_length} beside a PSID of {psid_length} bits, got {offset}",
            )
        for name, before, given in ((names[0], self.psid_length, psid_length), (names[1], self.offset, offset)):
            if before not in {None, given}:
                text = f"expected {before} as in the lines before, got {given}: a table has one length and one offset"
                raise wrong(line, name, text)
        self.psid_length, self.offset = psid_length, offset

    def agree_on_core(self, line: int, name: str, core: IPv6Address) -> None:
        """Takes the core's end of a softwire."""
        if self.core not in {None, core}:
            text = f"expected {self.core} as in the lines before, got {core}: the tester's softwires have one core"
            raise wrong(line, name, text)
        self.core = core
