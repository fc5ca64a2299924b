# SPDX-License-Identifier: Apache-2.0
"""One real frame through a gateway in a lab, and what a lab could leave behind: what the tests of labs share."""

from __future__ import annotations

import json
import subprocess
import sys
from ipaddress import ip_interface, ip_network
from typing import Any

from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.namespaces import LabNamespaces

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
INSIDE = {4: "10.0.1.2", 6: "2001:2:0:1000::2"}
OUTSIDE = {4: "198.19.200.9", 6: "2001:2:0:9000::9"}

# Runs in the tester's namespace: sends one UDP frame into `left`, prints as JSON what comes out of `right`.
SEND_ONE = """
import json, sys
from scapy.all import Ether, IP, IPv6, UDP, Raw, sendp, sniff
source, destination = sys.argv[1:3]
layer = IPv6 if ":" in source else IP
def is_ours(frame):
    return UDP in frame and frame[UDP].dport == 4444
frames = sniff(iface="right", lfilter=is_ours, count=1, timeout=5, started_callback=lambda: sendp(
    Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:11") / layer(src=source, dst=destination)
    / UDP(sport=5555, dport=4444) / Raw(b"natxy"), iface="left", verbose=False))
seen = [{"source": f[layer].src, "destination": f[layer].dst, "port": f[UDP].sport,
         "payload": bytes(f[UDP].payload)[:5].decode()} for f in frames]
print(json.dumps(seen))
"""


def traces() -> dict[str, object]:
    """All that a lab could leave behind on this machine."""
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
    """Sends one UDP frame from inside to outside. Stands in for the engine, which would answer ARP and ND."""
    neighbor = [str(addresses.right.tester.ip), "lladdr", "02:00:00:00:01:01", "dev", lab.interfaces.right]
    lab.transport.run(["ip", "neigh", "replace", *neighbor])
    version = addresses.left.dut.version
    program = [sys.executable, "-c", SEND_ONE, INSIDE[version], OUTSIDE[version]]
    argv = ["ip", "netns", "exec", namespace_of_tester(), *program]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen: list[dict[str, Any]] = json.loads(done.stdout)
    return seen
