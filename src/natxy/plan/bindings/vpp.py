# SPDX-License-Identifier: Apache-2.0
"""Reads the softwires of lw4o6 from commands of VPP's `map` plugin: a domain for each address, a rule for each PSID."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from natxy.plan.bindings.lines import LONGEST_PSID, TableReader, ipv4_of, ipv6_of, number_of, wrong
from natxy.untrusted.validation import got

_COMMAND: Final = re.compile(r"^\s*(?:vppctl\s+)?map\s+add\s+(domain|rule)\b(.*)$", re.MULTILINE)
_OF_DOMAIN: Final = ("ip4-pfx", "ip6-pfx", "ip6-src", "ea-bits-len", "psid-offset", "psid-len", "mtu", "tag")
_OF_RULE: Final = ("index", "psid", "ip6-dst")
_MOST_DOMAINS: Final = 0xFFFF_FFFF


@dataclass(frozen=True)
class _Domain:
    ipv4: IPv4Address
    psid_length: int


def is_vpp(text: str) -> bool:
    """Returns whether a text has commands of VPP's `map` plugin."""
    return _COMMAND.search(text) is not None


def read_vpp(text: str) -> TableReader:
    """Returns the softwires; other commands count for nothing. Domains are numbered from 0 on, as VPP does that has
    none before. Raises TableError."""
    found = TableReader()
    domains: list[_Domain] = []
    for line, content in enumerate(text.splitlines(), 1):
        if (command := _COMMAND.match(content)) is None:
            continue
        if command[1] == "domain":
            domains.append(_domain(found, line, _values(line, command[2], _OF_DOMAIN)))
            continue
        values = _values(line, command[2], _OF_RULE)
        index = number_of(line, "index", _given(line, "index", values), _MOST_DOMAINS)
        if index >= len(domains):
            raise wrong(line, "index", f"expected one of the {len(domains)} domains before it, from 0 on, got {index}")
        domain = domains[index]
        psid = number_of(line, "psid", _given(line, "psid", values), (1 << domain.psid_length) - 1)
        found.add(line, "psid", domain.ipv4, psid, ipv6_of(line, "ip6-dst", _given(line, "ip6-dst", values)))
    return found


def _values(line: int, text: str, names: tuple[str, ...]) -> dict[str, str]:
    words = text.split()
    values: dict[str, str] = {}
    while words:
        name = words.pop(0)
        if name == "map-t":
            raise wrong(line, name, "expected a domain of encapsulation: lw4o6 has softwires, and MAP-T has none")
        if name not in names:
            raise wrong(line, name[:50], f"unknown field; expected one of {', '.join(names)}")
        if not words:
            raise wrong(line, name, "expected a value after it")
        values[name] = words.pop(0)
    return values


def _given(line: int, name: str, values: dict[str, str]) -> str:
    if name not in values:
        raise wrong(line, name, "missing")
    return values[name]


def _domain(found: TableReader, line: int, values: dict[str, str]) -> _Domain:
    """Returns a domain of one address. One without rules has a single softwire, to an `ip6-pfx` of 128 bits."""
    if number_of(line, "ea-bits-len", values.get("ea-bits-len", "0"), 48):
        text = (
            "expected 0, as lw4o6 has it; with EA bits a rule gives the softwires: give `ipv4`, `ipv6`, `ea_length` "
            "and `offset` in the plan"
        )
        raise wrong(line, "ea-bits-len", text)
    ipv4 = ipv4_of(line, "ip4-pfx", _address(line, "ip4-pfx", values, 32))
    core, _, length = _given(line, "ip6-src", values).partition("/")
    if length not in {"", "128"}:
        raise wrong(line, "ip6-src", f"expected an address or a prefix of 128 bits{got(values['ip6-src'])}")
    found.agree_on_core(line, "ip6-src", ipv6_of(line, "ip6-src", core))
    psid_length, offset = (
        number_of(line, name, values.get(name, "0"), LONGEST_PSID) for name in ("psid-len", "psid-offset")
    )
    found.agree_on_ports(line, ("psid-len", "psid-offset"), psid_length, offset)
    if psid_length == 0 and values.get("ip6-pfx", "").endswith("/128"):
        found.add(line, "ip4-pfx", ipv4, 0, ipv6_of(line, "ip6-pfx", _address(line, "ip6-pfx", values, 128)))
    return _Domain(ipv4, psid_length)


def _address(line: int, name: str, values: dict[str, str], bits: int) -> str:
    """Returns the address of a prefix that has no other."""
    given = _given(line, name, values)
    address, _, length = given.partition("/")
    if length != str(bits):
        raise wrong(line, name, f"expected a prefix of {bits} bits: a domain of lw4o6 has one address{got(given)}")
    return address
