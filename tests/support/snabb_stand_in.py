# SPDX-License-Identifier: Apache-2.0
"""Stands in for `snabb`: a relay of a few frames, which knows no more than Snabb's configuration and commands say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from natxy.addressing.port_sets import psid_of
from natxy.plan.bindings.lines import TableReader
from natxy.plan.bindings.snabb import read_snabb
from tests.support.relay_stand_in import Lookup, Port, Relay, listening


def of_table(table: TableReader) -> Lookup:
    return lambda address, port: table.ends.get((address, psid_of(port, table.psid_length or 0, table.offset or 0)))


def snabb() -> None:
    if sys.argv[1:] == ["--version"]:
        print("snabb 0 (a stand-in)")
        return
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
    Relay(of_table(table), table.core.packed, internal, external, listening(f"\0{name}"), lambda _: "").run()
