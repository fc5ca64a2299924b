# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Iterator
from ipaddress import ip_address, ip_interface
from pathlib import Path

import pytest

from natxy.dut.transport.local import NetnsTransport, run_program
from natxy.errors import DutError
from natxy.plan.model.addresses import LinkAddresses
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.host_links import TABLE, linked_host

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

LINKS = {
    4: (LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24")), "198.18.9.9"),
    6: (LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64")), "2001:2:0:9::9"),
}


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetnsTransport]:
    """Returns the transport to a network namespace with the interface `end`."""
    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: tmp_path)
    name = f"host-links-{os.getpid()}"
    run_program(["ip", "netns", "add", name])
    try:
        run_program(["ip", "-n", name, "link", "add", "end", "type", "veth", "peer", "name", "other"])
        run_program(["ip", "-n", name, "link", "set", "other", "up"])
        yield NetnsTransport(name, MachineSysctls())
    finally:
        run_program(["ip", "netns", "del", name])


def state(inside: NetnsTransport) -> list[str]:
    return [
        line
        for version in ("-4", "-6")
        for what in (["address", "show", "scope", "global"], ["rule"], ["route", "show", "table", "all", "dev", "end"])
        for line in inside.run(["ip", "-o", version, *what]).stdout.splitlines()
        # The kernel's own, of a link that is up.
        if "fe80::" not in line and "ff00::" not in line
    ]


@pytest.mark.parametrize("version", LINKS)
@pytest.mark.parametrize("gone", [False, True])
def test_a_host_is_removed_also_when_a_part_of_it_is_gone(inside: NetnsTransport, version: int, gone: bool) -> None:
    link, address = LINKS[version]
    before = state(inside)
    with linked_host(inside, "end", link, ip_address(address), 1400):
        assert f"default via {link.dut.ip} table {TABLE}" in "\n".join(state(inside))
        assert len(state(inside)) > len(before) + 4
        if gone:
            inside.run(["ip", "address", "flush", "dev", "end", "scope", "global"])
            inside.run(["ip", f"-{version}", "rule", "del", "from", address])
            inside.run(["ip", f"-{version}", "route", "flush", "table", TABLE], check=False)
    assert state(inside) == before
    assert inside.run(["cat", "/sys/class/net/end/mtu"]).number() == 1500
    assert Ledger().entries() == []


def test_what_cannot_be_deleted_is_an_error(inside: NetnsTransport) -> None:
    link, address = LINKS[4]

    def leave_with_another_prefix() -> None:
        with linked_host(inside, "end", link, ip_address(address), 1500):
            inside.run(["ip", "address", "del", f"{address}/32", "dev", "end"])
            inside.run(["ip", "address", "add", f"{address}/31", "dev", "end"])

    with pytest.raises(DutError, match=f"ip address del {address}/32"):
        leave_with_another_prefix()
    assert len(Ledger().entries()) == 1
