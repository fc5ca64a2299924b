# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_interface
from typing import Any

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.softwire_tables import SoftwireTable
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.softwire import _FIRST_TABLE, SoftwireGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.plan.gateways.softwire import SoftwireBy, SoftwireConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, Softwire
from natxy.plan.model.terms import SoftwireEnd
from natxy.system.machine_sysctls import MachineSysctls

RULE = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), 2, 6)
LINK = LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"))


class Recording(LocalTransport):
    """Records what each batch of `ip` commands has."""

    def __init__(self, source: str = "::") -> None:
        super().__init__(MachineSysctls())
        self.source = source
        self.batches: list[list[str]] = []
        self.timeouts_s: list[float] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        if "-batch" in argv:
            self.batches.append((input or "").splitlines())
            self.timeouts_s.append(timeout_s)
        shown = f"tunsrc addr {self.source}\n" if "tunsrc" in argv else ""
        return CompletedCommand(tuple(argv), 0, shown, "")


def batches(rule: MapRule | SoftwireTable, by: SoftwireBy = SoftwireBy.SEG6) -> list[list[str]]:
    """Returns what a core runs before it sets its softwires up, and then."""
    return installed(rule, by).batches


def timeouts(rule: MapRule | SoftwireTable) -> list[float]:
    """Returns how long these commands may take, in seconds."""
    return installed(rule).timeouts_s


def installed(rule: MapRule | SoftwireTable, by: SoftwireBy = SoftwireBy.SEG6, source: str = "::") -> Recording:
    return installed_core(rule, by, source)[1]


def installed_core(
    rule: MapRule | SoftwireTable, by: SoftwireBy = SoftwireBy.SEG6, source: str = "::"
) -> tuple[SoftwireGateway, Recording]:
    softwire = Softwire(
        end=SoftwireEnd.CORE,
        own=IPv6Address("2001:2:0:5000::2"),
        far=rule.subscriber(0).address,
        carries=(rule.ipv4,),
        subscribers=rule,
    )
    transport = Recording(source)
    addresses = AddressPlan(left=LINK, right=LINK, softwire=softwire, mtu=1564)
    core = SoftwireGateway(SoftwireConfig(by=by), transport, DutInterfaces("a", "b"), addresses)
    core.install()
    return core, transport


def rules_of(lines: list[str]) -> list[tuple[str, str, str]]:
    """Returns the priority of each rule, its ports, and where it leads."""
    found = []
    for words in (line.split() for line in lines if line.startswith("rule add")):
        assert words[words.index("protocol") + 1] == "110"
        ports = words[words.index("dport") + 1] if "dport" in words else ""
        found.append((words[words.index("priority") + 1], ports, words[-1]))
    return found


def test_each_subscriber_with_an_address_of_its_own_has_a_route() -> None:
    removed, added = batches(MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), 2, 6))
    routes = [line for line in added if "encap seg6 mode" in line]
    assert len(routes) == 4
    assert "198.18.128.3/32 encap seg6 mode encap.red segs fd00:2:6:c000:0:c612:8003:0 dev a" in routes[3]
    assert rules_of(added) == []
    assert "route flush proto 110" in removed


def test_a_table_gives_each_subscriber_its_own_end() -> None:
    ends = {(IPv4Address(f"198.18.128.{a}"), p): IPv6Address(f"fd00::{a}{p}") for a in (9, 1) for p in (1, 0)}
    removed, added = batches(SoftwireTable.of(ends, 1, 0))
    tables = [line.split() for line in added if line.startswith("route replace default")]
    assert {words[words.index("segs") + 1]: words[-1] for words in tables} == {
        "fd00::10": "110000", "fd00::11": "110001", "fd00::90": "110002", "fd00::91": "110003",
    }  # fmt: skip
    assert [rule for rule in rules_of(added) if rule[0] == "110"] == [
        ("110", "1-32767", "110000"), ("110", "32768-65534", "110001"),
        ("110", "1-32767", "110002"), ("110", "32768-65534", "110003"),
    ]  # fmt: skip
    assert [line for line in removed if "flush table" in line] == [f"route flush table {110_000 + n}" for n in range(4)]


@pytest.mark.parametrize("ea_length", [2, 4])
def test_a_tunnel_interface_serves_all_subscribers_by_their_routes(ea_length: int) -> None:
    removed, added = batches(
        MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), ea_length, 6), SoftwireBy.IP6_TUNNEL
    )
    assert added[:3] == [
        "address replace 2001:2:0:5000::2/128 dev a nodad",
        "link add natxy-softwire mtu 1524 type ip6tnl external",
        "link set natxy-softwire up",
    ]
    routes = [line for line in added if line.startswith("route replace")]
    assert len(routes) == 2**ea_length
    own, far = ("198.18.128.3/32", "fd00:2:6:c000:0:c612:8003:0") if ea_length == 2 else ("default", "fd00:2:6:f000:0")
    assert routes[-1].startswith(f"route replace {own} encap ip6 id 0 src 2001:2:0:5000::2 dst {far}")
    assert " hoplimit 64 dev natxy-softwire " in routes[-1]
    assert len(rules_of(added)) == (0 if ea_length == 2 else 63 * 16 + 4 * 2)
    assert removed[-2:] == ["link del natxy-softwire", "address del 2001:2:0:5000::2/128 dev a"]


def test_many_routes_have_the_time_that_they_take() -> None:
    addresses = IPv4Network("198.18.128.0/17")
    few, many = (
        timeouts(MapRule(IPv6Network("fd00:2:10::/44"), IPv4Network((addresses[0], 32 - bits)), bits, 6))[-1]
        for bits in (1, 15)
    )
    assert few < 31
    assert many > 30 + 2**15 / 1000


def test_the_last_port_of_a_shared_address_has_a_rule_without_ports() -> None:
    # The kernel takes neither port 0 nor port 65535 in a rule.
    removed, added = batches(MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/32"), 1, 0))
    assert rules_of(added) == [
        ("110", "1-32767", "110000"),
        ("110", "32768-65534", "110001"),
        ("111", "1-65534", "blackhole"),
        ("112", "", "110001"),
    ]
    # Rules of somebody else with these priorities stay.
    assert not [line for line in removed if line.startswith("rule del")]


def test_a_range_of_the_last_port_alone_has_no_rule_of_its_own() -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/32"), 1, 15)
    last = [each for each in rules_of(batches(rule)[1]) if each[2] == "110001"]
    assert last[:2] == [("110", "3", "110001"), ("110", "5", "110001")]
    assert last[-2:] == [("110", "65533", "110001"), ("112", "", "110001")]


def test_an_owners_source_of_tunnels_is_not_replaced() -> None:
    with pytest.raises(DutError, match=r"an owner's source of tunnels, 2001:db8::1 .* `by: ip6_tunnel`"):
        installed(RULE, source="2001:db8::1")


@pytest.mark.parametrize(("source", "reset"), [("::", False), ("2001:2:0:5009::1", True), ("2001:db8::1", False)])
def test_only_natxys_own_source_of_tunnels_is_taken_away(source: str, reset: bool) -> None:
    transport = Recording(source)
    softwire = Softwire(
        end=SoftwireEnd.EDGE, own=IPv6Address("2001:2:0:5000::1"), far=IPv6Address("2001:2:0:5000::2"), carries=()
    )
    addresses = AddressPlan(left=LINK, right=LINK, softwire=softwire)
    SoftwireGateway(SoftwireConfig(), transport, DutInterfaces("a", "b"), addresses).uninstall()
    (removed,) = transport.batches
    assert ("sr tunsrc set ::" in removed) is reset


@pytest.mark.parametrize("by", SoftwireBy)
def test_bindings_are_withdrawn_and_added_at_once(by: SoftwireBy) -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), 2, 6)
    core, transport = installed_core(rule, by)
    added = transport.batches[-1]
    first, second = (SubscriberRange(rule, range(number, number + 1)) for number in (0, 1))
    core.set_unbound([first])
    core.set_unbound([second])
    core.set_unbound([second])
    core.set_unbound([])

    def route(number: int) -> str:
        [found] = [line for line in added if f"198.18.128.{number}/32" in line]
        return found

    def withdrawn(number: int) -> str:
        return route(number).replace("route replace", "route del")

    assert transport.batches[-4:] == [
        [withdrawn(0)], [withdrawn(1), route(0)], [], [route(1)],
    ]  # fmt: skip


def test_bindings_of_shared_addresses_are_rules_too() -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/31"), 3, 6)
    core, transport = installed_core(rule)
    added = transport.batches[-1]
    core.set_unbound([SubscriberRange.of(rule, IPv4Address("198.18.128.1"), IPv4Address("198.18.128.1"))])
    removed = transport.batches[-1]
    own = {"to 198.18.128.1/32", *(f"table {_FIRST_TABLE + number}" for number in range(4, 8))}
    expected = [line for line in added if any(each in line for each in own)]
    assert [line.replace("del", "add").replace("route add", "route replace") for line in removed] == expected
    core.set_unbound([])
    assert transport.batches[-1] == expected


def test_bindings_of_a_table_are_those_of_its_own_psids() -> None:
    addresses = [IPv4Address("198.18.128.8") + number for number in range(4)]
    ends = {(each, psid): IPv6Address(f"fd00:2:7::{psid}:{each}") for each in addresses for psid in (2, 3)}
    table = SoftwireTable.of(ends, psid_length=2, offset=0)
    core, transport = installed_core(table)
    core.set_unbound([SubscriberRange.of(table, addresses[1], addresses[1])])
    removed = transport.batches[-1]
    # PSIDs 2 and 3 of two bits are the upper half of the ports; the last port has a rule of its own.
    shown = [re.sub(r" protocol.*| encap.*segs| dev.*", "", line) for line in removed]
    to = "to 198.18.128.9/32"
    assert shown == [
        "route del default fd00:2:7::2:c612:8009",
        f"rule del priority 110 ipproto udp dport 32768-49151 {to}",
        "route del default fd00:2:7::3:c612:8009",
        f"rule del priority 110 ipproto udp dport 49152-65534 {to}",
        f"rule del priority 111 ipproto udp dport 1-65534 {to}",
        f"rule del priority 112 ipproto udp {to}",
    ]


def test_a_change_that_fails_halfway_leaves_all_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), 2, 6)
    core, transport = installed_core(rule)
    added = transport.batches[-1]
    run = transport.run

    def refused(argv: Sequence[str], *, input: str | None = None, **further: Any) -> CompletedCommand:
        if input and input.startswith("route del 198.18.128.0/32"):
            raise DutError("refused")
        return run(argv, input=input, **further)

    monkeypatch.setattr(transport, "run", refused)
    with pytest.raises(DutError, match="refused"):
        core.set_unbound([SubscriberRange(rule, range(2))])
    assert transport.batches[-1] == added
    core.set_unbound([])
    assert transport.batches[-1] == []


def test_a_core_that_is_set_up_again_has_all_bindings() -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), 2, 6)
    core, transport = installed_core(rule)
    core.set_unbound([SubscriberRange(rule, range(2))])
    core.install()
    core.set_unbound([])
    assert transport.batches[-1] == []
