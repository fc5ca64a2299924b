# SPDX-License-Identifier: Apache-2.0
"""Examines interfaces: offloads that merge or split frames, and the receive queues that frames arrive on."""

from __future__ import annotations

from typing import Final

from natxy.doctor.finding import Finding, unless
from natxy.dut.linux.interfaces import INTERFACES, parse_offloads
from natxy.dut.transport.base import Transport
from natxy.plan.testbeds.ports import EnginePorts

_PORTS_HASHED: Final = "L4 bytes 0 & 1"


def probe_interfaces(ports: EnginePorts, here: Transport) -> list[Finding]:
    """Examines the tester's ports that are interfaces of the kernel. DPDK alone sets up the others."""
    wanted = dict.fromkeys(port.interface for port in ports.of_cables if port.interface)
    return [
        finding
        for name in wanted
        for finding in _missing(name, here) or [_offloads(name, here), *_opened_queues(name, here, ports)]
    ]


def probe_interface(interface: str, machine: Transport, cores: int = 1) -> list[Finding]:
    """Examines an interface of a DUT or a host, whose kernel can spread the frames over `cores`."""
    return _missing(interface, machine) or [
        _offloads(interface, machine),
        *_shared_queues(interface, machine, cores),
    ]


def _missing(interface: str, machine: Transport) -> list[Finding]:
    if machine.run(["test", "-e", str(INTERFACES / interface)], check=False).returncode == 0:
        return []
    return [Finding(interface, False, f"{machine.describe()} has no such interface", "see `ip -brief link` there")]


def _offloads(interface: str, machine: Transport) -> Finding:
    name = f"{interface}: offloads"
    asked = machine.run(["ethtool", "--show-features", interface], check=False)
    if asked.returncode != 0:
        return Finding(name, None, f"unknown: {asked.stderr.strip()}", "make sure that none merges or splits frames")
    on = parse_offloads(asked.stdout)
    off = f"ethtool -K {interface} gro off gso off lro off tso off"
    return Finding(name, not on or None, ", ".join(on) + " on" if on else "off", unless(not on, off))


def _queues(interface: str, machine: Transport) -> int:
    """Returns the number of receive queues."""
    listed = machine.run(["ls", str(INTERFACES / interface / "queues")], check=False).stdout
    return sum(name.startswith("rx-") for name in listed.split())


def _opened_queues(interface: str, here: Transport, ports: EnginePorts) -> list[Finding]:
    name, wanted = f"{interface}: receive queues", ports.queues
    present = _queues(interface, here)
    if present < wanted or (present > wanted and ports.io == "af_xdp"):
        # AF_XDP takes its frames from the first queues only.
        lost = "" if present < wanted else "; frames on the others would be lost"
        remedy = f"ethtool -L {interface} combined {wanted}, or `queues: {present}` in the plan's testbed"
        return [Finding(name, False, f"{present}, and the plan opens {wanted}{lost}", remedy)]
    found = Finding(name, True, f"{present}, and the plan opens {wanted}")
    return [found] if wanted == 1 else [found, _spreading(interface, here)]


def _shared_queues(interface: str, machine: Transport, cores: int) -> list[Finding]:
    name, present = f"{interface}: receive queues", _queues(interface, machine)
    if present == 1 and cores > 1:
        remedy = f"if the card has more: ethtool -L {interface} combined {cores}"
        return [Finding(name, None, f"1, so one of {cores} cores receives all frames", remedy)]
    found = Finding(name, True, str(present))
    return [found] if present == 1 else [found, _spreading(interface, machine)]


def _spreading(interface: str, machine: Transport) -> Finding:
    """Examines the hash that selects a queue. By addresses alone, all frames of two hosts arrive on one queue."""
    name = f"{interface}: UDP ports spread frames over queues (RSS)"
    remedy = f"ethtool -N {interface} rx-flow-hash udp4 sdfn, and udp6; else use `addresses: multiple` in the plan"
    families = ("udp4", "udp6")
    answers = [machine.run(["ethtool", "-n", interface, "rx-flow-hash", udp], check=False) for udp in families]
    if refused := [answer for answer in answers if answer.returncode != 0]:
        return Finding(name, None, f"unknown: {refused[0].stderr.strip()}", remedy)
    spread = all(_PORTS_HASHED in answer.stdout for answer in answers)
    return Finding(name, spread or None, "yes" if spread else "no", unless(spread, remedy))
