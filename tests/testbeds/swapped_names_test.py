# SPDX-License-Identifier: Apache-2.0
"""Tests that links are unset on a DUT that has exchanged the names of its interfaces since they were set."""

from __future__ import annotations

import os
import subprocess

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.interfaces import set_links, unset_links
from natxy.dut.transport.local import NetnsTransport
from natxy.plan.model.addresses import AddressPlan
from natxy.system.machine_sysctls import MachineSysctls
from tests.support import needs
from tests.support.lab_frames import IPV4, IPV6

DUT = f"sn-{os.getpid()}"
ENDS = DutInterfaces("left", "right")


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", "-n", DUT, *arguments], capture_output=True, text=True, check=True).stdout


@needs.NAMESPACES
@pytest.mark.parametrize("addresses", [IPV4, IPV6])
@pytest.mark.parametrize("swapped", [False, True])
def test_no_address_or_route_stays(addresses: AddressPlan, *, swapped: bool) -> None:
    subprocess.run(["ip", "netns", "add", DUT], check=True)
    try:
        for name in ("left", "right"):
            ip("link", "add", name, "type", "veth", "peer", "name", f"{name}-end")
            ip("link", "set", f"{name}-end", "up")
        transport = NetnsTransport(DUT, MachineSysctls(), own=False)
        set_links(transport, ENDS, addresses)
        assert ip("-brief", "address", "show", "scope", "global").count("/") == 2
        if swapped:
            for old, new in (("left", "old"), ("right", "left"), ("old", "right")):
                ip("link", "set", old, "down")
                ip("link", "set", old, "name", new)
                ip("link", "set", new, "up")
        unset_links(transport, ENDS, addresses)
        assert "/" not in ip("-brief", "address", "show", "scope", "global")
        assert ip("route") == ""
        assert [line for line in ip("-6", "route").splitlines() if not line.startswith("fe80")] == []
    finally:
        subprocess.run(["ip", "netns", "del", DUT], check=True)
