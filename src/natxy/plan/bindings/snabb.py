# SPDX-License-Identifier: Apache-2.0
"""Reads the softwires of a configuration of Snabb's lwAFTR, in the text form of its YANG schema (snabb-softwire-v2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from natxy.plan.bindings.lines import LONGEST_PSID, TableReader, ipv4_of, ipv6_of, number_of, wrong

# A comment, white space, a bracket or the end of a statement, a text in quotes, or a word.
_TOKEN: Final = re.compile(r'//[^\n]*|/\*.*?\*/|\s+|[{};]|"[^"\n]*"|[^\s{};"]+|.', re.DOTALL)
_SOFTWIRE, _PORT_SET = "softwire", "port-set"
_OF_SOFTWIRE: Final = ("ipv4", "psid", "b4-ipv6", "br-address", "padding")
_OF_PORT_SET: Final = ("psid-length", "reserved-ports-bit-count", "shift")
_NAMES: Final = {_SOFTWIRE: _OF_SOFTWIRE, _PORT_SET: _OF_PORT_SET}

# Each with its line.
_Values = dict[str, tuple[int, str]]


def is_snabb(text: str) -> bool:
    """Returns whether a text has softwires of Snabb's lwAFTR."""
    return re.search(r"\bsoftwire\s*\{", text) is not None


def read_snabb(text: str) -> TableReader:
    """Returns the softwires; all else in the configuration counts for nothing. Raises TableError."""
    found = TableReader()
    blocks: list[tuple[int, str]] = []
    values: _Values = {}
    statement: list[str] = []
    last = 1
    for line, token in _tokens(text):
        last = line
        if token == "{":
            if not statement:
                raise wrong(line, "{", "expected a name before it")
            blocks.append((line, statement[0]))
            if blocks[-1][1] == _SOFTWIRE:
                values = {}
            statement = []
        elif token in {"}", ";"}:
            if statement and blocks:
                _take(values, blocks[-1][1], line, statement)
            statement = []
            if token == "}":
                if not blocks:
                    raise wrong(line, "}", "expected a { before it")
                began, name = blocks.pop()
                if name == _SOFTWIRE:
                    _add(found, began, values)
        else:
            statement.append(token)
    if blocks:
        raise wrong(last, blocks[-1][1], f"expected a }} that ends what begins in line {blocks[-1][0]}")
    return found


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yields the words and signs with their lines, without comments and white space."""
    line = 1
    for match in _TOKEN.finditer(text):
        token = match[0]
        if not token.isspace() and not token.startswith(("//", "/*")):
            yield line, token.strip('"')
        line += token.count("\n")


def _take(values: _Values, block: str, line: int, statement: list[str]) -> None:
    """Takes a statement inside a softwire or its port set."""
    if block not in _NAMES:
        return
    name, *given = statement
    if name not in _NAMES[block]:
        raise wrong(line, name, f"unknown field of a {block}; expected one of {', '.join(_NAMES[block])}")
    if len(given) != 1:
        raise wrong(line, name, f"expected one value and a semicolon, got {len(given)} values")
    if name in values:
        raise wrong(line, name, f"is in line {values[name][0]} already; remove one of the two")
    values[name] = (line, given[0])


def _add(found: TableReader, began: int, values: _Values) -> None:
    def given(name: str, default: str | None = None) -> tuple[int, str, str]:
        if name in values:
            line, value = values[name]
            return line, name, value
        if default is None:
            raise wrong(began, name, "missing in the softwire that begins here")
        return began, name, default

    ipv4, end = ipv4_of(*given("ipv4")), ipv6_of(*given("b4-ipv6"))
    psid_length = number_of(*given("psid-length"), LONGEST_PSID)
    offset = number_of(*given("reserved-ports-bit-count", "0"), LONGEST_PSID)
    # The shift is what the other two leave of 16 bits.
    left = LONGEST_PSID - psid_length - offset
    if "shift" in values and number_of(*given("shift"), LONGEST_PSID) != left:
        raise wrong(values["shift"][0], "shift", f"expected {left}, what the other fields leave of 16 bits")
    line = values["psid-length"][0]
    found.agree_on_ports(line, ("psid-length", "reserved-ports-bit-count"), psid_length, offset)
    psid = number_of(*given("psid", "0" if psid_length == 0 else None), (1 << psid_length) - 1)
    if "br-address" in values:
        found.agree_on_core(values["br-address"][0], "br-address", ipv6_of(*given("br-address")))
    found.add(given("psid", "0")[0], "psid", ipv4, psid, end)
