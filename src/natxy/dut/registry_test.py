# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_interface
from pathlib import Path
from typing import get_args

import pytest
from pydantic import TypeAdapter

from natxy.addressing.map_rules import MapRule
from natxy.dut.base import Capability, DutInterfaces, Gateway
from natxy.dut.drivers.linux import NftablesGateway
from natxy.dut.registry import GATEWAYS, SINGLE_GATEWAYS, create
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, PlanError
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.chain import ChainConfig
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.gateways.map_t import MapTBy, MapTConfig
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig
from natxy.plan.gateways.reference import ReferenceConfig, ReferenceMode
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.gateways.tester import TesterConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, MapDomain, Softwire, Translation
from natxy.plan.model.terms import MapEnd, SoftwireEnd, TranslationKind
from natxy.system.machine_sysctls import MachineSysctls

LINK = LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"))
TRANSLATION = Translation(
    kind=TranslationKind.SIIT, prefix=IPv6Network("2001:2:0:64::/96"), pool=IPv4Network("198.18.0.1/32")
)
SOFTWIRE = Softwire(end=SoftwireEnd.EDGE, own=IPv6Address("2001:2::1"), far=IPv6Address("2001:2::2"), carries=())
MAP_DOMAIN = MapDomain(
    end=MapEnd.EDGE,
    rule=MapRule(IPv6Network("2001:2:0:5000::/64"), IPv4Network("198.18.0.2/32"), 0),
    only=0,
    prefix=IPv6Network("2001:2:0:64::/64"),
)
ADDRESSES = AddressPlan(left=LINK, right=LINK, translation=TRANSLATION, softwire=SOFTWIRE, map_domain=MAP_DOMAIN)
GATEWAYS_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "gateways.md"
INTERFACES = DutInterfaces(left="a", right="b")

MODELS: tuple[type[GatewayModel], ...] = get_args(get_args(GatewayConfig)[0])
# Several gateways are created together, each in a place of its own, and the tester has none.
DEFAULTS = [TypeAdapter(model).validate_python({}) for model in MODELS if model not in {ChainConfig, TesterConfig}]
CONFIGS: list[GatewayConfig] = [
    *(config for config in DEFAULTS if config.is_gateway and not config.in_virtual_time),
    OpenbsdPfConfig(enabled=False),
    CommandConfig(stateful=True, clear=[["true"]]),
    ReferenceConfig(mode=ReferenceMode.NAT),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_driver_by_the_word_of_the_plan(config: GatewayConfig) -> None:
    gateway = create(config, LocalTransport(MachineSysctls()), INTERFACES, ADDRESSES)
    assert gateway.name == config.driver
    assert gateway.config is config


def test_driver_that_needs_no_testbed() -> None:
    with pytest.raises(PlanError, match="'simulated' does not run on a testbed with a DUT"):
        create(SimulatedConfig(), LocalTransport(MachineSysctls()), INTERFACES, ADDRESSES)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.driver)
def test_gateways_that_keep_connections_or_answers_can_clear_them(config: GatewayConfig) -> None:
    gateway = create(config, LocalTransport(MachineSysctls()), INTERFACES, ADDRESSES)
    keeps = config.keeps_connections or config.dns64_prefix is not None
    assert (Capability.CLEAR in gateway.capabilities) == keeps


@pytest.mark.parametrize("name", SINGLE_GATEWAYS)
def test_bindings_are_changed_by_the_drivers_whose_settings_say_so(name: str) -> None:
    changing = CommandConfig(add_binding=[["true"]], remove_binding=[["true"]])
    every = [*DEFAULTS, MapTConfig(by=MapTBy.JOOL_SIIT), changing]
    configs = [config for config in every if config.driver == name]
    changes = any(config.changes_bindings for config in configs)
    assert (SINGLE_GATEWAYS[name].set_unbound is not Gateway.set_unbound) == changes


def test_a_driver_that_lacks_what_it_claims_says_so() -> None:
    class Careless(NftablesGateway):
        set_cores = Gateway.set_cores
        clear = Gateway.clear
        set_unbound = Gateway.set_unbound

    careless = Careless(NftablesConfig(), LocalTransport(MachineSysctls()), INTERFACES, ADDRESSES)
    with pytest.raises(DutError, match="nftables claims to set its cores, but its driver cannot"):
        careless.set_cores([0])
    with pytest.raises(DutError, match="nftables claims to change bindings, but its driver cannot"):
        careless.set_unbound([])
    with pytest.raises(DutError, match="nftables keeps connections, but its driver cannot clear them"):
        careless.clear()


def test_settings_and_drivers_belong_together_by_name() -> None:
    assert {config.driver for config in DEFAULTS} == set(SINGLE_GATEWAYS) == {*GATEWAYS} - {"chain"}
    assert list(GATEWAYS)[:2] == ["linux-forward", "iptables"]


def test_every_driver_has_a_summary() -> None:
    assert all(driver.summary for driver in GATEWAYS.values())


def test_the_docs_say_of_every_driver_where_it_has_run() -> None:
    _, _, section = GATEWAYS_PAGE.read_text(encoding="utf-8").partition("## What has run where")
    table, _, _ = section.partition("| testbed |")
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall("`(.+?)`", row)) == sorted({*GATEWAYS, "wire"})
