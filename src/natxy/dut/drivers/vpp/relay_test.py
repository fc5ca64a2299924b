# SPDX-License-Identifier: Apache-2.0
"""Tests the commands for VPP, which few machines have."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import product
from typing import Any

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.softwire_tables import SoftwireTable
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.vpp import process as module
from natxy.dut.drivers.vpp.relay import VppGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.errors import DutError, GatewayDiedError, GatewayMissingError, PlanError
from natxy.plan.bindings.vpp import read_vpp
from natxy.plan.gateways.vpp import VppConfig
from natxy.plan.model.port_set import PortSetModel
from tests.support.relay_dut import CORE, START, STOP, RelayDut, addresses_of
from tests.support.vpp_stand_in import Vpp

PREFIX = IPv6Network("fd00:2:6::/48")
PATH = "/run/natxy-vpp-4026"
VPPCTL = f"vppctl -s {PATH}.sock"
ALIVE = {"sh -c": "17\nvpp_main\na\n"}


def driver(
    place: RelayDut, several: MapRule | SoftwireTable | None = None, port_set: PortSetModel | None = None, **own: Any
) -> VppGateway:
    config = VppConfig.model_validate(own | {"port_set": port_set})
    return VppGateway(config, place, DutInterfaces("a", "b"), addresses_of(several))


def commands(several: MapRule | SoftwireTable | None = None, port_set: PortSetModel | None = None) -> list[str]:
    """Returns the commands that a core writes."""
    place = RelayDut({})
    driver(place, several, port_set).install()
    return place.files[f"{PATH}.commands"].splitlines()


def test_both_interfaces_and_one_subscriber() -> None:
    assert commands() == [
        "create host-interface name a hw-addr 02:00:00:00:00:11",
        "set interface state host-a up",
        "set interface ip address host-a 2001:2::1/64",
        "ip route add fd00:2:6::/48 via 2001:2::2 host-a",
        "map interface host-a",
        "create host-interface name b hw-addr 02:00:00:00:01:11",
        "set interface state host-b up",
        "set interface ip address host-b 198.19.0.1/24",
        "ip route add 203.0.113.0/24 via 198.19.0.2 host-b",
        "map interface host-b",
        "map add domain ip4-pfx 100.64.1.0/30 ip6-pfx 2001:2:0:5000::1/128 ip6-src 2001:2:0:5000::2 ea-bits-len 0 "
        "psid-offset 0 psid-len 0",
    ]


def test_vpp_gets_the_neighbours_that_the_kernel_knows() -> None:
    known = (
        "2001:2::2 lladdr 02:00:00:00:00:01 router STALE\n2001:2::9 lladdr 02:00:00:00:00:09 STALE\n2001:2::2 FAILED\n"
    )
    place = RelayDut({"ip neigh show dev a": known, "ip neigh show dev b": "198.19.0.2 INCOMPLETE\n"})
    driver(place).install()
    written = place.files[f"{PATH}.commands"].splitlines()
    assert written[5] == "set ip neighbor host-a 2001:2::2 02:00:00:00:00:01 static"
    assert sum("neighbor" in line for line in written) == 1


def test_vpp_computes_the_subscribers_of_a_rule() -> None:
    rule = MapRule(PREFIX, IPv4Network("198.18.128.0/24"), 12, 6)
    assert commands(rule)[-1] == (
        "map add domain ip4-pfx 198.18.128.0/24 ip6-pfx fd00:2:6::/48 ip6-src 2001:2:0:5000::2 ea-bits-len 12 "
        "psid-offset 6 psid-len 4"
    )
    alone = MapRule(PREFIX, IPv4Network("198.18.128.0/24"), 8, 6)
    assert commands(alone)[-1].endswith("ea-bits-len 8 psid-offset 0 psid-len 0")
    assert len(commands(rule)) == len(commands(alone)) == 11


@pytest.mark.parametrize(("psid_length", "offset"), [(0, 0), (3, 6), (2, 0)])
def test_natxy_reads_back_a_table(psid_length: int, offset: int) -> None:
    chosen = random.Random(psid_length)
    keys = product((IPv4Address("198.18.128.9") + 3 * number for number in range(5)), range(1 << psid_length))
    ends = {key: IPv6Address(0xFD00 << 112 | chosen.getrandbits(80)) for key in keys}
    found = read_vpp("\n".join(commands(SoftwireTable.of(ends, psid_length, offset))))
    assert found.ends == ends
    assert (found.psid_length, found.offset, found.core) == (psid_length, offset, CORE)


def test_one_subscriber_has_the_port_set_of_the_plan() -> None:
    found = read_vpp("\n".join(commands(port_set=PortSetModel(psid=5, psid_length=4, offset=6))))
    assert set(found.ends) == {(address, 5) for address in IPv4Network("100.64.1.0/30")}
    assert (found.psid_length, found.offset) == (4, 6)


def test_vpp_is_started_and_ended() -> None:
    place = RelayDut({})
    core = driver(place, program="/opt/vpp/bin/vpp")
    core.install()
    assert place.files[f"{PATH}.conf"] == (
        f"unix {{ nodaemon nosyslog cli-listen {PATH}.sock exec {PATH}.commands }}\n"
        "api-segment { prefix natxy-vpp-4026 }\n"
        f"statseg {{ socket-name {PATH}.stats }}\n"
        "plugins { plugin dpdk_plugin.so { disable } }\n"
    )
    assert place.asked[-1] == (
        f"{START} --pidfile {PATH}.pid --output {PATH}.log --startas /opt//opt/vpp/bin/vpp -- -c {PATH}.conf"
    )
    place.asked.clear()
    core.uninstall()
    assert place.asked == [
        f"{STOP} --pidfile {PATH}.pid --name vpp_main",
        f"rm -f {PATH}.pid {PATH}.log {PATH}.conf {PATH}.commands {PATH}.changes {PATH}.sock {PATH}.stats",
    ]
    assert place.files == {}


def test_it_is_ready_with_its_last_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = {(IPv4Address(f"198.18.128.{number}"), 0): IPv6Address(f"fd00::{number}") for number in range(3)}
    place = RelayDut(ALIVE)
    asked = f"{VPPCTL} show map domain index 2"
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        place.outputs[asked] = "[2] ip4-pfx 198.18.128.2/32 ip6-pfx fd00::2/128\n"

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(VppGateway, "_wait_up", lambda *_: None)
    core = driver(place, SoftwireTable.of(ends, 0, 0))
    core.install()
    core.wait_ready()
    assert len(waits) == 1


def of_table(*, psids: int) -> SoftwireTable:
    """Returns a table of four addresses."""
    ends = {
        (IPv4Address(f"198.18.128.{number}"), psid): IPv6Address(f"fd00::{number}:{psid}")
        for number in range(4)
        for psid in range(psids)
    }
    return SoftwireTable.of(ends, psids.bit_length() - 1, 0)


class Changing(RelayDut):
    """Has the domains that a stand-in for VPP has after the commands it was given."""

    def __init__(self) -> None:
        super().__init__({})
        self.vpp = Vpp()
        self.carried_out: list[list[str]] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        done = super().run(argv, input=input, timeout_s=timeout_s, check=check)
        said = ""
        match list(argv):
            case ["tee", file] if file == f"{PATH}.commands":
                self.vpp = Vpp()
                said = self.carry_out(line for line in (input or "").splitlines() if line.startswith("map add "))
            case ["vppctl", "-s", _, "exec", file]:
                self.carried_out.append(self.files[file].splitlines())
                said = self.carry_out(self.carried_out[-1])
            case ["vppctl", "-s", _, *command]:
                said = self.vpp.carry_out(" ".join(command))
        return replace(done, stdout=said or done.stdout)

    def carry_out(self, lines: Iterable[str]) -> str:
        return "".join(map(self.vpp.carry_out, lines))

    def bound(self) -> dict[int, int]:
        """Returns how many rules each address has, by its last number."""
        return {int(each.ipv4[0]) & 0xFF: len(each.rules) for each in self.vpp.domains.values()}


@pytest.mark.parametrize("psids", [1, 2])
def test_domains_are_deleted_and_added_in_the_places_that_vpp_gives_them(psids: int) -> None:
    place, table = Changing(), of_table(psids=psids)
    core = driver(place, table)
    core.install()
    rules = psids if psids > 1 else 0
    new, old = (
        SubscriberRange.of(table, *(IPv4Address(f"198.18.128.{at}") for at in ends)) for ends in ((2, 3), (0, 1))
    )
    core.set_unbound([new])
    assert place.carried_out[-1] == ["map del domain index 2", "map del domain index 3"]
    assert place.bound() == {0: rules, 1: rules}
    core.set_unbound([old])
    assert place.bound() == {2: rules, 3: rules}
    core.set_unbound([])
    assert place.bound() == dict.fromkeys(range(4), rules)
    ends = {
        (number, psid): place.vpp.lookup(IPv4Address(f"198.18.128.{number}"), psid << 15)
        for number, psid in product(range(4), range(psids))
    }
    assert ends == {(number, psid): IPv6Address(f"fd00::{number}:{psid}") for number, psid in ends}
    # Of each address, its domain and its rules.
    assert len(place.carried_out[1]) == 2 + 2 * (1 + rules)
    assert core.unbound == ()


def test_a_vpp_that_refuses_a_change_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VppGateway, "wait_ready", lambda _: None)
    place, table = Changing(), of_table(psids=1)
    core = driver(place, table)
    core.install()
    one = SubscriberRange.of(table, IPv4Address("198.18.128.1"), IPv4Address("198.18.128.1"))
    del place.vpp.domains[1]
    with pytest.raises(DutError, match="vpp refused a change: map del domain index 1: KeyError"):
        core.set_unbound([one])
    assert place.bound() == dict.fromkeys(range(4), 0)
    core.set_unbound([one])
    # As if VPP gave new domains other numbers.
    place.vpp.freed = [17]
    with pytest.raises(DutError, match=r"vpp has another domain than that of 198\.18\.128\.1/32"):
        core.set_unbound([])
    assert sum(asked.startswith(START) for asked in place.asked) == 3


def test_a_vpp_that_does_not_answer_has_not_carried_out_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VppGateway, "wait_ready", lambda _: None)
    table = of_table(psids=1)
    core = driver(RelayDut({}), table)
    core.install()
    with pytest.raises(DutError, match="vpp did not delete domain 1: no answer"):
        core.set_unbound([SubscriberRange.of(table, IPv4Address("198.18.128.1"), IPv4Address("198.18.128.1"))])


def test_a_rule_has_no_bindings_to_change() -> None:
    rule = MapRule(PREFIX, IPv4Network("198.18.128.0/30"), 2, 6)
    core = driver(RelayDut({}), rule)
    core.install()
    with pytest.raises(DutError, match="its driver cannot"):
        core.set_unbound([SubscriberRange.of(rule, rule.ipv4[0], rule.ipv4[0])])


def test_a_vpp_that_refuses_its_domains_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_START_S", 0.0)
    monkeypatch.setattr(VppGateway, "_wait_up", lambda *_: None)
    place = RelayDut(ALIVE | {"tail": "map: unknown input\n"})
    with pytest.raises(DutError, match="vpp did not take its 1 domains within 0 s; it printed: map: unknown input"):
        driver(place).wait_ready()


def test_a_vpp_that_ended_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VppGateway, "_wait_up", lambda *_: None)
    with pytest.raises(GatewayDiedError, match="its process vpp_main"):
        driver(RelayDut({})).wait_ready()


def test_without_vpp() -> None:
    place = RelayDut({}, installed=False)
    with pytest.raises(GatewayMissingError, match=r"vpp not found .*; build it from https://github.com/FDio/vpp"):
        driver(place).install()
    assert place.files == {}
    assert {"vpp", "vppctl"} <= set(VppGateway.programs(VppConfig()))
    assert "/opt/bin/vppctl" in VppGateway.programs(VppConfig(program="/opt/bin/vpp"))


def test_prefixes_that_vpp_does_not_take() -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/56"), IPv4Network("198.18.128.0/24"), 10, 6)
    with pytest.raises(PlanError, match="of 64 bits together, and fd00:2:6::/56 and 10 EA bits are longer"):
        driver(RelayDut({}), rule)


def test_the_report_has_the_version_and_the_commands() -> None:
    place = RelayDut({f"{VPPCTL} show version": "vpp v25.10-release built by root\n"})
    core = driver(place)
    assert core.version() == "vpp v25.10-release built by root (vpp), Linux 6.12"
    core.configuration()
    assert f"head -n 200 {PATH}.commands" in place.asked
