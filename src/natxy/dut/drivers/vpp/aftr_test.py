# SPDX-License-Identifier: Apache-2.0
"""Tests the commands that make an AFTR of VPP, which few machines have."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.dut.base import Capability, DutInterfaces
from natxy.dut.drivers.vpp import process
from natxy.dut.drivers.vpp.aftr import VppDsliteGateway
from natxy.errors import DutError, GatewayMissingError
from natxy.plan.gateways.vpp import VppDsliteConfig
from natxy.plan.model.addresses import AddressPlan
from tests.support.relay_dut import CORE, START, STOP, RelayDut, addresses_of

PATH = "/run/natxy-vpp-dslite-4026"
VPPCTL = f"vppctl -s {PATH}.sock"
# As VPP writes addresses, and with the head of the list.
READY = {
    "sh -c": "17\nvpp_main\na\n",
    f"{VPPCTL} show dslite aftr-tunnel-endpoint-address": "2001:2:0:5000::2\n",
    f"{VPPCTL} show dslite pool": "DS-Lite pool:\n198.19.0.4\n198.19.0.5\n",
}
SESSIONS = "B4 fd00:2:6::1 1 sessions\n  in 192.168.1.2:20000 out 198.19.0.4:16253 protocol udp\n"


def addresses(several: MapRule | None = None) -> AddressPlan:
    return addresses_of(several).model_copy(update={"pool": ip_network("198.19.0.4/31")})


@pytest.fixture(autouse=True)
def links_that_are_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VppDsliteGateway, "_wait_up", lambda *_: None)
    monkeypatch.setattr(process, "_START_S", 0.0)


def driver(place: RelayDut, **own: Any) -> VppDsliteGateway:
    return VppDsliteGateway(VppDsliteConfig.model_validate(own), place, DutInterfaces("a", "b"), addresses())


def test_both_interfaces_the_core_and_the_pool() -> None:
    place = RelayDut({})
    driver(place).install()
    assert place.files[f"{PATH}.commands"].splitlines() == [
        "create host-interface name a hw-addr 02:00:00:00:00:11",
        "set interface state host-a up",
        "set interface ip address host-a 2001:2::1/64",
        "ip route add fd00:2:6::/48 via 2001:2::2 host-a",
        "create host-interface name b hw-addr 02:00:00:00:01:11",
        "set interface state host-b up",
        "set interface ip address host-b 198.19.0.1/24",
        "ip route add 203.0.113.0/24 via 198.19.0.2 host-b",
        f"dslite set aftr-tunnel-endpoint-address {CORE}",
        "dslite add pool address 198.19.0.4 - 198.19.0.5",
    ]
    assert "plugin dslite" not in place.files[f"{PATH}.conf"]


@pytest.mark.parametrize(
    "several", [MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/24"), 8, 6), None], ids=["rule", "one"]
)
def test_any_subscribers_need_the_same_commands(several: MapRule | None) -> None:
    """An AFTR knows a B4 by its packets."""
    place = RelayDut({})
    VppDsliteGateway(VppDsliteConfig(), place, DutInterfaces("a", "b"), addresses(several)).install()
    assert len(place.files[f"{PATH}.commands"].splitlines()) == 10


def test_an_empty_table_is_that_of_a_new_process() -> None:
    place = RelayDut(READY | {"ip neigh show dev b": "198.19.0.2 lladdr 02:00:00:00:01:01 STALE\n"})
    core = driver(place)
    core.install()
    place.asked.clear()
    core.clear()
    stopped = place.asked.index(f"{STOP} --pidfile {PATH}.pid --name vpp_main")
    [started] = [at for at, each in enumerate(place.asked) if each.startswith(START)]
    assert stopped < started < place.asked.index(f"{VPPCTL} show dslite sessions")
    assert "set ip neighbor host-b 198.19.0.2 02:00:00:00:01:01 static" in place.files[f"{PATH}.commands"]
    place.outputs[f"{VPPCTL} show dslite sessions"] = SESSIONS
    with pytest.raises(DutError, match="vpp was started anew and has sessions already; let nothing else send through"):
        core.clear()


def test_a_reset_is_one_start_whatever_sessions_traffic_makes() -> None:
    place = RelayDut(READY | {f"{VPPCTL} show dslite sessions": SESSIONS})
    driver(place).restart()
    assert sum(each.startswith(START) for each in place.asked) == 1


@pytest.mark.parametrize(
    ("lacking", "missing"),
    [
        ({f"{VPPCTL} show dslite aftr": "::\n"}, f"vpp did not take its address {CORE} within 0 s; it printed: what"),
        ({f"{VPPCTL} show dslite pool": "DS-Lite pool:\n"}, "vpp did not take its pool 198.19.0.4/31 within 0 s"),
        ({VPPCTL: "show: unknown input `dslite pool'\n"}, "vpp did not take its address"),
    ],
)
def test_a_vpp_that_refuses_a_command_is_quoted(lacking: dict[str, str], missing: str) -> None:
    # The first beginning that fits is what the DUT prints.
    place = RelayDut({**lacking, **READY, **lacking, "tail": "what it said\n"})
    with pytest.raises(DutError, match=missing):
        driver(place).wait_ready()


def test_without_vpp() -> None:
    with pytest.raises(GatewayMissingError, match=r"vpp not found .*; build it from https://github.com/FDio/vpp"):
        driver(RelayDut({}, installed=False)).install()
    assert {"vpp", "vppctl"} <= set(VppDsliteGateway.programs(VppDsliteConfig()))


def test_the_report_says_how_the_table_is_emptied() -> None:
    core = driver(RelayDut(READY | {f"{VPPCTL} show version": "vpp v25.10-release built by root\n"}))
    described = core.describe()
    assert described.settings["emptied by"] == "starting VPP anew"
    assert described.version == "vpp v25.10-release built by root (vpp), Linux 6.12"
    assert core.capabilities == {Capability.CLEAR}
    assert core.count() is None
