# SPDX-License-Identifier: Apache-2.0
"""Tests the facts about gateways that checks and estimates use."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.gateways.base import GatewayModel, TableNeed, ports_per_destination
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.gateways.jool import JoolConfig, JoolSiitConfig
from natxy.plan.gateways.jool_mapt import JoolMaptConfig
from natxy.plan.gateways.linux import IptablesConfig, IptablesTarget, LinuxForwardConfig, NftablesConfig
from natxy.plan.gateways.nat46 import Nat46Config
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig, PfClear
from natxy.plan.gateways.reference import Faults, ReferenceConfig, ReferenceMode
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.gateways.snabb import SnabbConfig
from natxy.plan.gateways.vpp import VppConfig, VppDsliteConfig
from natxy.plan.gateways.wire import WireConfig
from natxy.plan.model.terms import Kernel, TranslationKind

SIIT, NAT64, NAT46, CLAT = TranslationKind.SIIT, TranslationKind.NAT64, TranslationKind.NAT46, TranslationKind.CLAT
NAT = ReferenceConfig(mode=ReferenceMode.NAT)


@pytest.mark.parametrize(
    ("gateway", "keeps_connections", "hides_left", "translations"),
    [
        (LinuxForwardConfig(), False, False, {None}),
        (NftablesConfig(), True, True, {None}),
        (NftablesConfig(nat=False), True, False, {None}),
        (IptablesConfig(), True, True, {None}),
        (JoolConfig(), True, False, {NAT64, NAT46}),
        (JoolSiitConfig(), False, False, {SIIT, NAT46, CLAT}),
        # Ends of MAP-T are no gateways alone.
        (Nat46Config(), False, False, set()),
        (JoolMaptConfig(), False, False, set()),
        (VppDsliteConfig(), True, True, set()),
        (OpenbsdPfConfig(), True, True, {None, NAT64, NAT46}),
        (OpenbsdPfConfig(enabled=False), False, False, {None}),
        (OpenbsdPfConfig(nat=False), True, False, {None}),
        (ReferenceConfig(), False, False, {None, SIIT, CLAT}),
        (NAT, True, True, {None, NAT64, NAT46}),
        (CommandConfig(), False, False, {None, *TranslationKind}),
        (CommandConfig(stateful=True, clear=[["x"]], masquerades=True), True, True, {None, *TranslationKind}),
        (SimulatedConfig(), None, False, {None, *TranslationKind}),
        (WireConfig(), None, False, {None}),
    ],
)
def test_what_becomes_of_packets(
    gateway: GatewayModel, keeps_connections: bool | None, hides_left: bool, translations: set[TranslationKind | None]
) -> None:
    assert gateway.keeps_connections is keeps_connections
    assert gateway.hides_left is hides_left
    assert gateway.translations == translations


@pytest.mark.parametrize(
    ("gateway", "connections", "seconds"),
    [
        (LinuxForwardConfig(), 10**9, 0),
        # The slowest rates of draft-lencse-v6ops-transition-scalability-03, Figures 5 and 10.
        (NftablesConfig(), 690_000, 2),
        (NftablesConfig(hash_size=16_000_000), 690_000, 4),
        (JoolConfig(), 5_560_000, 2),
        (OpenbsdPfConfig(), 10**9, 0),
        (OpenbsdPfConfig(clear=PfClear.REBOOT), 1, 120),
        (VppDsliteConfig(), 10**9, 5),
        (ReferenceConfig(clear_time=0.5), 10**9, 0.5),
        (ReferenceConfig(clear_time=0.5, tear_down_rate=1000), 2000, 2.5),
    ],
)
def test_how_long_an_empty_table_takes(gateway: GatewayModel, connections: int, seconds: float) -> None:
    assert gateway.clearing_s(connections) == pytest.approx(seconds)


NEED = TableNeed(connections=1_000_000, endpoints=60_000, remote_endpoints=20, longest_trial_s=60)


@pytest.mark.parametrize(
    ("gateway", "kind", "ports"),
    [
        (LinuxForwardConfig(), None, None),
        # 60,000 endpoints reach 20 destinations: each of these has 50,000 of the connections.
        (NftablesConfig(), None, 50_000),
        (OpenbsdPfConfig(), NAT64, 50_000),
        (OpenbsdPfConfig(enabled=False), None, None),
        (OpenbsdPfConfig(nat=False), None, None),
        (NftablesConfig(nat=False), None, None),
        (NAT, NAT64, 50_000),
        (ReferenceConfig(), None, None),
        # RFC 6146: an endpoint keeps its port for all destinations.
        (JoolConfig(), NAT64, 60_000),
        (JoolConfig(), NAT46, None),
        (VppDsliteConfig(), None, 60_000),
    ],
)
def test_how_many_ports_of_public_addresses_connections_take(
    gateway: GatewayModel, kind: TranslationKind | None, ports: int | None
) -> None:
    assert gateway.ports_needed(NEED, kind) == ports


def test_connections_to_few_destinations_take_a_port_each_and_a_part_of_one_counts() -> None:
    assert ports_per_destination(TableNeed(100, 90, 1, 1.0)) == 90
    assert ports_per_destination(TableNeed(100, 90, 3, 1.0)) == 34


def table_bytes(gateway: GatewayModel, connections: int = 1000, endpoints: int = 100) -> int:
    found = gateway.table_bytes(TableNeed(connections, endpoints, remote_endpoints=100, longest_trial_s=1))
    assert found is not None
    return found


def test_memory_grows_with_connections_buckets_and_endpoints() -> None:
    nat, jool, pf = NftablesConfig(), JoolConfig(), OpenbsdPfConfig()
    assert table_bytes(NftablesConfig(hash_size=1024)) == table_bytes(nat) + 8 * 1024  # a pointer for each bucket
    for gateway in (nat, jool, pf):
        assert table_bytes(gateway, connections=2000) > table_bytes(gateway)
    assert table_bytes(jool, endpoints=200) > table_bytes(jool)
    assert table_bytes(nat, endpoints=200) == table_bytes(nat)
    assert LinuxForwardConfig().table_bytes(NEED) is None


@pytest.mark.parametrize(
    ("gateway", "sizes", "lifetimes_s"),
    [
        (NftablesConfig(), {}, {}),
        (NftablesConfig(conntrack_max=7, udp_timeout_s=8), {"conntrack_max": 7}, {"udp_timeout_s": 8}),
        (NftablesConfig(udp_stream_timeout_s=9), {}, {"udp_stream_timeout_s": 9}),
        (OpenbsdPfConfig(), {}, {}),
        (OpenbsdPfConfig(states=7, udp_timeout_s=8), {"states": 7}, {"udp_timeout_s": 8}),
        (JoolConfig(), {}, {"udp_timeout_s": 300}),
    ],
)
def test_only_what_the_plan_sets_is_a_limit(
    gateway: GatewayModel, sizes: dict[str, int], lifetimes_s: dict[str, int]
) -> None:
    assert gateway.table_sizes == sizes
    assert gateway.lifetimes_s == lifetimes_s


@pytest.mark.parametrize(
    ("gateway", "takes_a_pool", "by_interface"),
    [
        (LinuxForwardConfig(), False, False),
        (NftablesConfig(), True, False),
        (NftablesConfig(nat=False), False, True),
        (IptablesConfig(), False, False),
        (IptablesConfig(target=IptablesTarget.SNAT), True, False),
        (OpenbsdPfConfig(), True, False),
        (OpenbsdPfConfig(nat=False), False, True),
        (OpenbsdPfConfig(enabled=False), False, False),
        (NAT, True, False),
        (ReferenceConfig(), False, False),
        (JoolConfig(), False, False),
        (CommandConfig(), False, False),
    ],
)
def test_a_nat_takes_a_pool_and_a_filter_tells_the_sides_apart(
    gateway: GatewayModel, *, takes_a_pool: bool, by_interface: bool
) -> None:
    assert (gateway.no_pool is None) == takes_a_pool
    assert gateway.tells_sides_by_interface == by_interface


def test_jool_has_one_port_in_a_nat46() -> None:
    assert (JoolConfig(bib_port=7).only_port(NAT46), JoolConfig(bib_port=7).only_port(NAT64)) == (7, None)
    assert NftablesConfig().only_port(NAT46) is None


def test_the_kernel_of_a_lab_is_the_machines_own_or_as_planned() -> None:
    assert LinuxForwardConfig().lab_kernel is None
    assert LinuxForwardConfig(kernel=Kernel.USER_MODE).lab_kernel == Kernel.USER_MODE
    assert NftablesConfig().lab_kernel == Kernel.OWN


@pytest.mark.parametrize(
    ("model", "accepted", "refused"),
    [
        (NftablesConfig, {"hash_size": 2**29 - 512}, {"hash_size": 2**29 - 511}),
        (NftablesConfig, {"udp_timeout_s": 1}, {"udp_timeout_s": 0}),
        (JoolConfig, {"udp_timeout_s": 120}, {"udp_timeout_s": 119}),  # RFC 6146 §4
        (JoolConfig, {"bib_port": 65535}, {"bib_port": 65536}),
        (Faults, {"loss": {"every": 2, "frames": 2}}, {"loss": {"every": 2, "frames": 3}}),
        (Faults, {"loss_ratio": 1}, {"loss_ratio": 1.01}),
        (Faults, {"delay": [{"min": "2ms", "max": "2ms"}]}, {"delay": [{"min": "2ms", "max": "1ms"}]}),
        (
            Faults,
            {"delay": [{"share": 0.25, "min": 0}, {"share": 0.75, "min": 0}]},
            {"delay": [{"share": 0.25, "min": 0}, {"share": 0.7, "min": 0}]},
        ),
        (CommandConfig, {"stateful": True, "clear": [["x"]]}, {"stateful": True}),
        (CommandConfig, {"stateful": True, "clear": [["x"]], "count": ["x"]}, {"count": ["x"]}),
        (CommandConfig, {}, {"clear": [["x"]]}),
        (CommandConfig, {"apply": [["x"]]}, {"apply": [[]]}),
    ],
)
def test_settings_have_limits(model: type[Any], accepted: dict[str, Any], refused: dict[str, Any]) -> None:
    model.model_validate(accepted)
    with pytest.raises(ValidationError):
        model.model_validate(refused)


def test_all_commands_of_a_gateway_are_known() -> None:
    several = ("apply", "remove", "clear", "restart", "set_cores", "describe", "add_binding", "remove_binding")
    given: dict[str, Any] = {name: [[name]] for name in several}
    given |= {name: [name] for name in ("wait_ready", "count", "version")}
    commands = CommandConfig.model_validate({"stateful": True} | given).commands
    assert sorted(commands) == sorted([name] for name in given)


@pytest.mark.parametrize(
    ("gateway", "rests"),
    [
        (LinuxForwardConfig(), True),
        (NftablesConfig(), True),
        (VppConfig(), False),
        (VppDsliteConfig(), False),
        (SnabbConfig(), False),
        (CommandConfig(driver="command"), False),
        (NAT, False),
    ],
)
def test_programs_that_may_poll_do_not_rest(gateway: GatewayModel, rests: bool) -> None:
    assert gateway.rests == rests
