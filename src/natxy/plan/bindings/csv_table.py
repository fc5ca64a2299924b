# SPDX-License-Identifier: Apache-2.0
"""Reads and writes natxy's own tables of softwires: lines of an IPv4 address, a PSID and an IPv6 address."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from typing import Final

from natxy.plan.bindings.lines import TableReader, ipv4_of, ipv6_of, number_of, wrong

HEADER: Final = "ipv4,psid,b4"
_FIELDS: Final = ("ipv4", "psid", "b4")
_GREATEST_PSID: Final = 0xFFFF


def read_csv(text: str) -> TableReader:
    """Returns the softwires. Empty lines and those that begin with # count for nothing. Raises TableError."""
    found = TableReader()
    named = False
    for line, content in enumerate(text.splitlines(), 1):
        values = [each.strip() for each in content.split(",")]
        if values == [""] or values[0].startswith("#"):
            continue
        if not named:
            named = True
            if tuple(each.lower() for each in values) == _FIELDS:
                continue
            raise wrong(line, "header", f"expected {HEADER}, got {content[:50]!r}")
        if len(values) != len(_FIELDS):
            name = _FIELDS[min(len(values), len(_FIELDS) - 1)]
            raise wrong(line, name, f"expected {len(_FIELDS)} values, {HEADER}, got {len(values)}")
        ipv4 = ipv4_of(line, "ipv4", values[0])
        psid = number_of(line, "psid", values[1] or "0", _GREATEST_PSID)
        found.add(line, "psid", ipv4, psid, ipv6_of(line, "b4", values[2]))
    return found


def as_csv(ends: Mapping[tuple[IPv4Address, int], IPv6Address]) -> str:
    """Returns the table of these softwires."""
    return "".join([f"{HEADER}\n", *(f"{ipv4},{psid},{end}\n" for (ipv4, psid), end in ends.items())])
