# SPDX-License-Identifier: Apache-2.0
"""Tests the rules of NAT with one public address and with several, and that they are taken back."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface, ip_network
from typing import Any

import pytest

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.linux import IptablesConfig, IptablesTarget, NftablesConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.model.port_set import PortSetModel

IPV4 = AddressPlan(
    left=LinkAddresses(dut=ip_interface("10.0.0.1/24"), tester=ip_interface("10.0.0.2/24")),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)
IPV6 = AddressPlan(
    left=LinkAddresses(dut=ip_interface("fd00:2::1/64"), tester=ip_interface("fd00:2::2/64")),
    right=LinkAddresses(dut=ip_interface("2001:2:0:8000::1/64"), tester=ip_interface("2001:2:0:8000::2/64")),
)
SNAT = IptablesConfig(target=IptablesTarget.SNAT)


class MadeUpDut:
    """A transport to a DUT that has no rule yet. It records commands with their input."""

    def __init__(self) -> None:
        self.machine = self.network = OwnSysctls(self)
        self.asked: list[str] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.asked.append(" ".join(argv))
        self.asked += [line.strip() for line in (input or "").splitlines()]
        return CompletedCommand(tuple(argv), int("--check" in argv), "", "")

    def describe(self) -> str:
        return "made up"


def nat(config: GatewayConfig, links: AddressPlan, pool: str | None) -> tuple[Gateway[Any], MadeUpDut]:
    dut = MadeUpDut()
    addresses = links.model_copy(update={"pool": ip_network(pool) if pool else None})
    return registry.create(config, dut, DutInterfaces("a", "b"), addresses), dut


@pytest.mark.parametrize(
    ("config", "links", "pool", "rule"),
    [
        (NftablesConfig(), IPV4, None, 'oifname "b" masquerade'),
        (NftablesConfig(), IPV4, "198.19.0.4/30", 'oifname "b" snat to 198.19.0.4-198.19.0.7'),
        (NftablesConfig(), IPV4, "198.19.0.9/32", 'oifname "b" snat to 198.19.0.9'),
        (NftablesConfig(), IPV6, "2001:2:0:8000::10/127", 'oifname "b" snat to 2001:2:0:8000::10-2001:2:0:8000::11'),
        (SNAT, IPV4, None, "-o b -j SNAT --to-source 198.19.0.1"),
        (SNAT, IPV4, "198.19.0.4/30", "-o b -j SNAT --to-source 198.19.0.4-198.19.0.7"),
        (SNAT, IPV6, "2001:2:0:8000::10/127", "-o b -j SNAT --to-source 2001:2:0:8000::10-2001:2:0:8000::11"),
    ],
)
def test_the_rule_names_the_first_and_the_last_public_address(
    config: GatewayConfig, links: AddressPlan, pool: str | None, rule: str
) -> None:
    gateway, dut = nat(config, links, pool)
    gateway.install()  # type: ignore[attr-defined]
    assert [line for line in dut.asked if line.endswith(rule) and "--check" not in line]


@pytest.mark.parametrize(
    ("own", "pool", "rule"),
    [
        ({"psid_length": 2, "psid": 3, "offset": 0}, None, "snat to 198.19.0.1:49152-65535"),
        ({"psid_length": 2, "psid": 0, "offset": 0}, "198.19.0.9/32", "snat to 198.19.0.9:0-16383"),
        (
            {"psid_length": 8, "psid": 1, "offset": 2},
            None,
            "snat ip to numgen inc mod 3 map { 0 : 198.19.0.1 . 16448-16511, 1 : 198.19.0.1 . 32832-32895, "
            "2 : 198.19.0.1 . 49216-49279 }",
        ),
    ],
)
def test_connections_get_the_ports_of_a_port_set_in_turn(own: dict[str, int], pool: str | None, rule: str) -> None:
    gateway, dut = nat(NftablesConfig(port_set=PortSetModel(**own)), IPV4, pool)
    gateway.install()  # type: ignore[attr-defined]
    assert f'oifname "b" meta l4proto {{ tcp, udp }} {rule}' in dut.asked


def test_a_filter_without_nat_lets_only_connections_of_the_left_side_pass() -> None:
    gateway, dut = nat(NftablesConfig(nat=False), IPV4, None)
    gateway.install()  # type: ignore[attr-defined]
    assert dut.asked[-6:-2] == [
        "chain forward {",
        "type filter hook forward priority filter; policy accept;",
        "ct state established,related accept",
        'iifname "b" drop',
    ]
    assert not [line for line in dut.asked if "masquerade" in line or "snat" in line]


@pytest.mark.parametrize("config", [NftablesConfig(), SNAT])
def test_the_dut_has_the_pool_and_gives_it_back(config: GatewayConfig) -> None:
    gateway, dut = nat(config, IPV4, "198.19.0.4/30")
    gateway.install()  # type: ignore[attr-defined]
    assert "ip route replace local 198.19.0.4/30 dev b proto 110 metric 4096" in dut.asked
    dut.asked.clear()
    gateway.uninstall()  # type: ignore[attr-defined]
    assert "ip route del local 198.19.0.4/30 dev b proto 110 metric 4096" in dut.asked


@pytest.mark.parametrize("config", [NftablesConfig(), SNAT, IptablesConfig()])
def test_without_a_pool_there_is_no_route(config: GatewayConfig) -> None:
    gateway, dut = nat(config, IPV4, None)
    gateway.install()  # type: ignore[attr-defined]
    gateway.uninstall()  # type: ignore[attr-defined]
    assert not [line for line in dut.asked if line.startswith("ip route")]
