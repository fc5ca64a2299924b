# SPDX-License-Identifier: Apache-2.0
"""Joins network namespaces by veth pairs that carry frames as a wire does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from natxy.dut.transport.local import NetnsTransport
from natxy.engine.devices import ring_slots
from natxy.engine.messages.common import Side

TESTER_MACS: Final = {Side.LEFT: "02:00:00:00:00:01", Side.RIGHT: "02:00:00:00:01:01"}

# The engine or a guest answers at the end of the link, so the kernel of the namespace must not.
SILENT_SYSCTLS: Final = {
    "net.ipv6.conf.all.disable_ipv6": 1,
    "net.ipv6.conf.default.disable_ipv6": 1,
    "net.ipv4.conf.all.arp_ignore": 8,
}
# Offloads leave checksums unfinished and merge frames; on the veth pair a frame must look as it does on a wire.
OFFLOADS_OFF: Final = [word for offload in ("tx", "rx", "gro", "gso", "tso", "sg") for word in (offload, "off")]


@dataclass(frozen=True)
class VethEnd:
    """Describes one end of a veth pair."""

    transport: NetnsTransport
    name: str
    mac: str


def join(end: VethEnd, peer: VethEnd, *, queues: int, mtu: int) -> None:
    """Makes a veth pair and sets both ends up, without offloads."""
    numbers = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
    there = ["peer", "name", peer.name, "address", peer.mac, *numbers, "netns", peer.transport.namespace]
    end.transport.run(["ip", "link", "add", end.name, "address", end.mac, *numbers, "type", "veth", *there])
    for each in (end, peer):
        each.transport.run(["ethtool", "-K", each.name, *OFFLOADS_OFF])
        each.transport.run(["ip", "link", "set", each.name, "mtu", str(mtu), "up"])


def veth_device(number: int, name: str, io: str, queues: int, mtu: int) -> str:
    """Returns the DPDK device of the veth pair's end that has this name."""
    if io == "af_xdp":
        return f"net_af_xdp{number},iface={name},start_queue=0,queue_count=1,busy_budget=0"
    return f"net_af_packet{number},iface={name},qpairs={queues}{ring_slots(mtu)}"


def mac_of_pair(mac: str, pair: int) -> str:
    """Returns the address of the end in another pair of veth pairs that this one has in the first."""
    octets = mac.split(":")
    return ":".join([*octets[:3], f"{pair:02x}", *octets[4:]])


def mac_of_hop(mac: str, hop: int) -> str:
    """Returns the address of the end at a further gateway that this one has at the first."""
    *octets, last = mac.split(":")
    return ":".join([*octets, f"{int(last, 16) + hop:02x}"])


def name_of_pair(name: str, pair: int) -> str:
    """Returns the name of an end in a pair of veth pairs: those of further pairs have the pair's number."""
    return f"{name}{pair + 1}" if pair else name
