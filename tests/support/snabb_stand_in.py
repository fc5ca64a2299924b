# SPDX-License-Identifier: Apache-2.0
"""Stands in for `snabb`: a relay of a few frames, which knows no more than Snabb's configuration and commands say."""

from __future__ import annotations

import re
import sys
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.relay_stand_in import Lookup, Port, Relay, ask, listening

# The program is called for each softwire that is changed, and what reads its configuration takes long to load.
if TYPE_CHECKING:
    from natxy.plan.bindings.lines import TableReader

SOFTWIRES: Final = "/softwire-config/binding-table/softwire"


def of_table(table: TableReader) -> Lookup:
    from natxy.addressing.port_sets import psid_of

    return lambda address, port: table.ends.get((address, psid_of(port, table.psid_length or 0, table.offset or 0)))


def changed(table: TableReader, asked: str) -> str:
    """Carries out `snabb config add` or `remove` of one softwire; returns what is wrong with it, if anything."""
    from natxy.plan.bindings.snabb import read_snabb

    verb, path, value = asked.split("\0")
    try:
        if verb == "add" and path == SOFTWIRES:
            more = read_snabb(f"softwire {value}")
            if (more.psid_length, more.offset, more.core) != (table.psid_length, table.offset, table.core):
                return "not like the others"
            for (address, psid), end in more.ends.items():
                table.add(1, "softwire", address, psid, end)
            return "" if len(more.ends) == 1 else "no softwire"
        found = re.fullmatch(rf"{SOFTWIRES}\[ipv4=(\S+)\]\[psid=(\d+)\]", path)
        if verb != "remove" or not found or value:
            return f"no such command: {verb} {path} {value}"
        del table.ends[IPv4Address(found[1]), int(found[2])]
    except (ValueError, KeyError) as error:
        return repr(error)
    return ""


def snabb() -> None:
    if sys.argv[1:] == ["--version"]:
        print("snabb 0 (a stand-in)")
        return
    if sys.argv[1] == "config":
        _, _, verb, name, path, *value = sys.argv
        if wrong := ask(f"\0{name}", "\0".join((verb, path, *(value or [""])))):
            sys.exit(wrong)
        return
    from natxy.plan.bindings.snabb import read_snabb

    assert sys.argv[1:3] == ["lwaftr", "run"]
    assert "--xdp" not in sys.argv
    settings = Path(sys.argv[sys.argv.index("--conf") + 1]).read_text(encoding="utf-8")
    table = read_snabb(settings)
    assert table.core
    ports = []
    for device, block in (("device", "internal"), ("external-device", "external")):
        [interface] = re.findall(rf' {device} "(\S+)";', settings)
        [own] = re.findall(rf"{block}-interface {{ ip \S+; mac (\S+);", settings)
        ports.append(Port.of(interface, own))
    name = sys.argv[sys.argv.index("--name") + 1]
    internal, external = ports
    Relay(
        of_table(table),
        table.core.packed,
        internal,
        external,
        listening(f"\0{name}"),
        lambda asked: changed(table, asked),
    ).run()
