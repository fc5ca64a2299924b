# SPDX-License-Identifier: Apache-2.0
"""Writes the testbed of a plan: a lab on siitperf's cores, or the machines that siitperf measures with."""

from __future__ import annotations

import re
from itertools import count
from typing import Final

from natxy.api.terms import CoresOfTasks
from natxy_siitperf.importing.source import Source
from natxy_siitperf.importing.text import Field, mapping
from natxy_siitperf.sides import Letter, cores_of, numbers_of

FILL_IN: Final = "FILL IN"
"""Stands for the name of a device or of a machine, of which it is never one."""

_CORES: Final = tuple(f"CPU-{side}-{task}" for side in Letter for task in ("Send", "Recv"))


def testbed_fields(source: Source) -> list[Field]:
    """Returns `testbed`; nothing if it is natxy's default."""
    cores = cores_of(source.conf, source.left)
    if source.hardware:
        return [Field("testbed", _hardware(source, cores))]
    if cores is None:
        return []
    if numbers_of(cores) < source.usable_cores:
        text = mapping({"kind": "lab", "tester_cores": _tasks(cores)})
        return [Field("testbed", text, _source_of_cores(source))]
    source.differences.append(
        "CPU-… are not in the plan, because this machine lacks one of these cores, or a further one for a lab's "
        f"gateway. On a machine that has them, give the testbed `tester_cores: {mapping(_tasks(cores))}`."
    )
    return []


def filled_in(text: str) -> str:
    """Returns a plan in which something stands for each device and machine that its user has to fill in."""
    numbers = count(1)
    text = re.sub(f"pci: {FILL_IN}", lambda _: f'pci: "0000:00:{next(numbers):02x}.0"', text)
    return re.sub(FILL_IN, lambda _: f"name{next(numbers)}", text)


def _hardware(source: Source, cores: CoresOfTasks | None) -> list[Field]:
    fields = [Field("kind", "hardware")]
    cards = dict(zip(Letter, source.cards, strict=False))
    for name, side in (("left", source.left), ("right", source.right)):
        of = {"mac": f"MAC-{side}-Tester", "dut_mac": f"MAC-{side}-DUT"}
        macs = {field: source.conf.mac(key) for field, key in of.items() if source.conf.has(key)}
        order = "first" if side is Letter.LEFT else "second"
        said = f"the {order} card here that is bound to a driver of DPDK" if side in cards else "or `interface`"
        if macs:
            said += f"; {source.of(*(of[field] for field in macs))}"
        fields.append(Field(name, mapping({"pci": cards.get(side, FILL_IN)} | macs), said))
    said = "the gateway's machine and its interfaces; add `addresses: keep` if these have addresses and routes"
    dut = {"ssh": f"root@{FILL_IN}", "left": FILL_IN, "right": FILL_IN}
    fields.append(Field("dut", mapping(dut), said))
    if cores:
        fields.append(Field("tester_cores", mapping(_tasks(cores)), _source_of_cores(source)))
    if source.conf.has("MEM-Channels"):
        said = f"of cards given by pci: remove it with `interface`; {source.of('MEM-Channels')}"
        fields.append(Field("memory_channels", str(source.conf.number("MEM-Channels")), said))
    return fields


def _tasks(cores: CoresOfTasks) -> dict[str, dict[str, int]]:
    tasks: dict[str, dict[str, int]] = {"left": {}, "right": {}}
    for side, task, (core,) in cores.tasks():
        tasks[side][task] = core
    return tasks


def _source_of_cores(source: Source) -> str:
    return source.of(*(key for key in _CORES if source.conf.has(key)))
