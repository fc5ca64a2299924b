# SPDX-License-Identifier: Apache-2.0
"""What an interface of the tester's does to frames on its own: offloads, and which queue a frame comes to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from natxy.dut.transport import Transport, run_program
from natxy.lab.finding import Finding, unless
from natxy.plan.hardware import HardwareConfig

INTERFACES: Final = Path("/sys/class/net")
# They change what arrives or leaves: frames merged, split, or with their checksums left to the card.
_DISTURBING: Final = re.compile(
    r"^\s*((?:generic-receive|generic-segmentation|large-receive|tcp-segmentation)-offload): on", re.MULTILINE
)
_PORTS_HASHED: Final = "L4 bytes 0 & 1"


def disturbing_offloads(interface: str, transport: Transport | None = None) -> list[str]:
    """`transport`: to the machine that has the interface, where that isn't this one."""
    run = transport.run if transport else run_program
    return _DISTURBING.findall(run(["ethtool", "--show-features", interface], check=False).stdout)


def probe_interfaces(testbed: HardwareConfig) -> list[Finding]:
    """Of the ports that are interfaces of the kernel; others are DPDK's alone, which sets them."""
    wanted = [port.interface for port in (testbed.left, testbed.right) if port.interface]
    return [finding for name in wanted for finding in _probe(name, testbed)]


def _probe(interface: str, testbed: HardwareConfig) -> list[Finding]:
    if not (INTERFACES / interface).exists():
        return [Finding(interface, False, "this machine has no such interface", "see `ip -brief link`")]
    return [_offloads(interface), *_queues(interface, testbed)]


def _offloads(interface: str) -> Finding:
    name = f"{interface}: offloads"
    asked = run_program(["ethtool", "--show-features", interface], check=False)
    if asked.returncode != 0:
        return Finding(name, None, f"unknown: {asked.stderr.strip()}", "see to it that none merges or splits frames")
    on = disturbing_offloads(interface)
    off = f"ethtool -K {interface} gro off gso off lro off tso off"
    return Finding(name, not on or None, ", ".join(on) + " on" if on else "none that disturbs", unless(not on, off))


def _queues(interface: str, testbed: HardwareConfig) -> list[Finding]:
    name, wanted = f"{interface}: receive queues", testbed.queues
    there = len(list((INTERFACES / interface / "queues").glob("rx-*")))
    if there < wanted or (there > wanted and testbed.io == "af_xdp"):
        # AF_XDP takes its frames from the first queues only.
        lost = "" if there < wanted else "; frames of the others would be lost"
        remedy = f"ethtool -L {interface} combined {wanted}, or `queues: {there}` in the plan's testbed"
        return [Finding(name, False, f"{there}, and the plan opens {wanted}{lost}", remedy)]
    found = Finding(name, True, f"{there}, and the plan opens {wanted}")
    return [found] if wanted == 1 else [found, _spreading(interface)]


def _spreading(interface: str) -> Finding:
    """By addresses alone, the frames of two hosts all come to one queue."""
    name = f"{interface}: UDP ports spread frames over queues (RSS)"
    remedy = f"ethtool -N {interface} rx-flow-hash udp4 sdfn, and udp6; else plan with multiple addresses"
    families = ("udp4", "udp6")
    answers = [run_program(["ethtool", "-n", interface, "rx-flow-hash", udp], check=False) for udp in families]
    if refused := [answer for answer in answers if answer.returncode != 0]:
        return Finding(name, None, f"unknown: {refused[0].stderr.strip()}", remedy)
    spread = all(_PORTS_HASHED in answer.stdout for answer in answers)
    return Finding(name, spread or None, "yes" if spread else "no", unless(spread, remedy))
