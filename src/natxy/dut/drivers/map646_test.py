# SPDX-License-Identifier: Apache-2.0
"""Tests the command lines for map646, which few machines have."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_interface
from pathlib import Path

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.map646 import Map646Gateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import GatewayMissingError, PlanError
from natxy.plan.gateways.map646 import Map646Config
from natxy.plan.model.addresses import AddressMapping, AddressPlan, LinkAddresses, Translation
from natxy.plan.model.terms import TranslationKind
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls

LINK = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))


def addresses(ipv4: str = "198.18.0.2/31", ipv6: str = "2001:2::2/127") -> AddressPlan:
    mapping = AddressMapping(ipv4=IPv4Network(ipv4), ipv6=IPv6Network(ipv6))
    translation = Translation(
        kind=TranslationKind.SIIT,
        prefix=IPv6Network("2001:2:0:64::/96"),
        pool=IPv4Network("198.19.0.1/32"),
        mappings=(mapping,),
    )
    return AddressPlan(left=LINK, right=LINK, translation=translation)


class MadeUpDut:
    """Records all commands of a DUT that has `programs`."""

    def __init__(self, folder: Path, programs: Sequence[str] = ("map646",)) -> None:
        self.machine = MachineSysctls(Ledger(folder), root=folder)
        self.network = OwnSysctls(self)
        self.asked: list[str] = []
        self.written = ""
        self._programs = programs

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        output, code = "", 0
        match list(argv):
            case ["which", program]:
                output, code = f"/opt/{program}\n", 0 if program in self._programs else 1
            case ["readlink", _]:
                output = "net:[4026]\n"
            case ["tee", _]:
                self.written = input or ""
        self.asked.append(" ".join(argv))
        return CompletedCommand(tuple(argv), code, output, "")

    def describe(self) -> str:
        return "made up"


def test_command_lines_and_configuration(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path)
    gateway = Map646Gateway(Map646Config(), dut, DutInterfaces("a", "b"), addresses())
    gateway.install()
    assert dut.written.splitlines() == [
        "mapping-prefix 2001:2:0:64::",
        "map-static 198.18.0.2 2001:2::2",
        "map-static 198.18.0.3 2001:2::3",
    ]
    assert dut.asked[-5:] == [
        "start-stop-daemon --start --background --make-pidfile --pidfile /run/natxy-map646-4026.pid "
        "--output /run/natxy-map646-4026.log --startas /opt/map646 -- -c /run/natxy-map646-4026.conf",
        "ip link show tun646",
        "ip link set tun646 up txqueuelen 10000 mtu 1500",
        "ip route replace 2001:2:0:64::/96 dev tun646",
        "ip route replace 198.18.0.2/31 dev tun646",
    ]
    dut.asked.clear()
    gateway.uninstall()
    assert dut.asked == [
        "start-stop-daemon --stop --oknodo --retry 2 --remove-pidfile "
        "--pidfile /run/natxy-map646-4026.pid --name map646",
        "rm -f /run/natxy-map646-4026.pid /run/natxy-map646-4026.log /run/natxy-map646-4026.conf",
    ]


def test_without_map646(tmp_path: Path) -> None:
    dut = MadeUpDut(tmp_path, programs=())
    gateway = Map646Gateway(Map646Config(), dut, DutInterfaces("a", "b"), addresses())
    with pytest.raises(GatewayMissingError, match=r"map646 not found \(made up\); build it from"):
        gateway.install()


def test_more_hosts_than_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="map646 is configured host by host, and the translation's mappings have 65536"):
        Map646Gateway(
            Map646Config(), MadeUpDut(tmp_path), DutInterfaces("a", "b"), addresses("198.18.0.0/16", "2001:2::/112")
        )
