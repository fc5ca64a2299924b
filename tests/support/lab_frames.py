# SPDX-License-Identifier: Apache-2.0
"""Sends one real frame through a gateway in a lab, and reads what a lab could leave behind."""

from __future__ import annotations

import socket
import subprocess
from ipaddress import ip_interface, ip_network
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.namespaces import LabNamespaces
from tests.support.capture import Direction, captured, inside

IPV4 = AddressPlan(
    left=LinkAddresses(
        dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"), behind=(ip_network("10.0.0.0/16"),)
    ),
    right=LinkAddresses(
        dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"), behind=(ip_network("198.19.128.0/17"),)
    ),
)
IPV6 = AddressPlan(
    left=LinkAddresses(
        dut=ip_interface("2001:2::1/64"),
        tester=ip_interface("2001:2::2/64"),
        behind=(ip_network("2001:2:0:1000::/52"),),
    ),
    right=LinkAddresses(
        dut=ip_interface("2001:2:0:8000::1/64"),
        tester=ip_interface("2001:2:0:8000::2/64"),
        behind=(ip_network("2001:2:0:9000::/52"),),
    ),
)
# The kernel drops a frame when the queue is full that a core has for all labs.
_ATTEMPTS = 3
INSIDE = {4: "10.0.1.2", 6: "2001:2:0:1000::2"}
OUTSIDE = {4: "198.19.200.9", 6: "2001:2:0:9000::9"}


def traces() -> dict[str, object]:
    """Returns everything that a lab could leave behind on this machine."""
    machine = MachineSysctls()
    mine = str(Owner.current())
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {
        "namespaces": [line for line in names.splitlines() if mine in line],
        "conntrack_max": machine.read("net.netfilter.nf_conntrack_max"),
        "conntrack_buckets": machine.read("net.netfilter.nf_conntrack_buckets"),
    }


def namespace_of_tester() -> str:
    return LabNamespaces(Owner.current()).tester


def send_one(lab: NetnsLab, addresses: AddressPlan) -> list[dict[str, Any]]:
    """Sends a UDP frame from inside to outside; returns what the tester's right port receives of it.

    The next hop is a static neighbor, because no engine answers ARP and ND.
    """
    neighbor = [str(addresses.right.tester.ip), "lladdr", "02:00:00:00:01:01", "dev", lab.interfaces.right]
    lab.transport.run(["ip", "neigh", "replace", *neighbor])
    version = addresses.left.dut.version
    layer = IP if version == 4 else IPv6
    packet = layer(src=INSIDE[version], dst=OUTSIDE[version]) / UDP(sport=5555, dport=4444) / Raw(b"natxy")
    frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:11") / packet
    namespace = namespace_of_tester()
    for _ in range(_ATTEMPTS):
        with (
            captured(namespace, "right", Direction.IN, at_least=1) as frames,
            inside(namespace),
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender,
        ):
            sender.bind(("left", 0))
            sender.send(bytes(frame))
        if frames:
            break
    return [
        {
            "source": frame[layer].src,
            "destination": frame[layer].dst,
            "port": frame[UDP].sport,
            "payload": bytes(frame[UDP].payload)[:5].decode(),
        }
        for frame in frames
    ]
