# SPDX-License-Identifier: Apache-2.0
"""Tests the configuration and the commands for Jool, without Jool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_interface
from typing import Any

import pytest

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError, PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.jool import JoolConfig, JoolSiitConfig
from natxy.plan.model.addresses import AddressMapping, AddressPlan, LinkAddresses, Translation
from natxy.plan.model.terms import TranslationKind
from natxy.system.machine_sysctls import MachineSysctls

IPV4_LINK = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
IPV6_LINK = LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"))
PREFIX = IPv6Network("2001:2:0:64::/96")
NAT64 = Translation(kind=TranslationKind.NAT64, prefix=PREFIX, pool=IPv4Network("198.19.0.1/32"))


class MadeUpDut:
    """A transport to a DUT on which each new instance has the next of `sessions`."""

    def __init__(self, sessions: Sequence[int] = (0,)) -> None:
        self.machine = MachineSysctls()
        self.network = OwnSysctls(self)
        self.commands: list[list[str]] = []
        self.input = ""
        self._sessions = sessions

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.commands.append(list(argv))
        self.input = input or self.input
        made = self.commands.count(["jool", "file", "handle", "/run/natxy-jool.json"])
        output = f"{self._sessions[min(made, len(self._sessions)) - 1]}\n" if argv[0] == "sh" else ""
        return CompletedCommand(tuple(argv), 0, output, "")

    def describe(self) -> str:
        return "made up"


def gateway(config: GatewayConfig, translation: Translation | None, dut: MadeUpDut | None = None) -> Gateway[Any]:
    links = (IPV4_LINK, IPV6_LINK)
    left, right = links if translation and translation.kind == TranslationKind.NAT46 else reversed(links)
    addresses = AddressPlan(left=left, right=right, translation=translation)
    return registry.create(config, dut or MadeUpDut(), DutInterfaces(left="a", right="b"), addresses)


def test_nat64_in_jools_words() -> None:
    settings = json.loads(gateway(JoolConfig(udp_timeout_s=3725), NAT64).configuration())  # type: ignore[attr-defined]
    assert settings["global"] == {
        "pool6": "2001:2:0:64::/96",
        "lowest-ipv6-mtu": 1500,
        "udp-timeout": "1:02:05",
    }
    assert {entry["protocol"] for entry in settings["pool4"]} == {"UDP", "TCP", "ICMP"}
    assert {(entry["prefix"], entry["port range"]) for entry in settings["pool4"]} == {("198.19.0.1/32", "1024-65535")}
    assert settings["bib"] == []


def test_nat46_binds_every_mapped_address_once() -> None:
    mapping = AddressMapping(ipv4=IPv4Network("198.18.7.0/30"), ipv6=IPv6Network("2001:2::40/126"))
    translation = Translation(
        kind=TranslationKind.NAT46, prefix=PREFIX, pool=IPv6Network("2001:2::/120"), mappings=(mapping,)
    )
    settings = json.loads(gateway(JoolConfig(bib_port=7000), translation).configuration())  # type: ignore[attr-defined]
    assert [tuple(entry.values()) for entry in settings["bib"]] == [
        (protocol, f"2001:2::{0x40 + host:x}#7000", f"198.18.7.{host}#7000")
        for host in range(4)
        for protocol in ("UDP", "TCP")
    ]
    assert {(entry["prefix"], entry["port range"]) for entry in settings["pool4"]} == {("198.18.7.0/30", "7000")}


def test_more_bindings_than_are_reasonable() -> None:
    mapping = AddressMapping(ipv4=IPv4Network("198.18.0.0/16"), ipv6=IPv6Network("2001:2::/112"))
    translation = Translation(kind=TranslationKind.NAT46, prefix=PREFIX, pool=PREFIX, mappings=(mapping,))
    with pytest.raises(PlanError, match="binding for each of 65536 addresses, and natxy sets at most 4096"):
        gateway(JoolConfig(), translation).apply()


@pytest.mark.parametrize("kind", [TranslationKind.SIIT, TranslationKind.NAT46])
def test_siit_maps_addresses_from_either_side(kind: TranslationKind) -> None:
    mapping = AddressMapping(ipv4=IPv4Network("198.18.0.2/32"), ipv6=IPv6Network("2001:2::2/128"))
    translation = Translation(kind=kind, prefix=PREFIX, pool=IPv4Network("198.19.0.1/32"), mappings=(mapping,))
    settings = json.loads(gateway(JoolSiitConfig(), translation).configuration())  # type: ignore[attr-defined]
    assert settings["eamt"] == [{"ipv6 prefix": "2001:2::2/128", "ipv4 prefix": "198.18.0.2/32"}]
    assert settings["global"]["pool6"] == str(PREFIX)
    assert settings["global"]["rfc6791v4-prefix"] == "198.19.0.1/32"


def test_without_a_translation() -> None:
    with pytest.raises(PlanError, match="give the experiment a `translation`"):
        gateway(JoolConfig(), None).apply()


def test_a_table_that_forgets_too_early() -> None:
    with pytest.raises(PlanError, match="set the gateway's udp_timeout_s to at least 301"):
        gateway(JoolConfig(), NAT64).check(TableNeed(100_000, 64_512, 2, 300))
    gateway(JoolConfig(), NAT64).check(TableNeed(100_000, 64_512, 2, 299))


def test_clear_removes_the_instance_until_it_counts_nothing() -> None:
    dut = MadeUpDut(sessions=[3, 0])
    gateway(JoolConfig(), NAT64, dut).clear()
    assert dut.commands.count(["jool", "instance", "remove", "natxy"]) == 2
    assert json.loads(dut.input)["instance"] == "natxy"


def test_table_that_does_not_get_empty() -> None:
    with pytest.raises(DutError, match="Jool still has 7 sessions after its instance was removed 15 times"):
        gateway(JoolConfig(), NAT64, MadeUpDut(sessions=[7])).clear()
