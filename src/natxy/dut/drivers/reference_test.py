# SPDX-License-Identifier: Apache-2.0
"""The request that configures natxy-reference, and the driver's methods against a stand-in for the program."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_interface, ip_network
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import PortSet
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.reference import ReferenceGateway, gateway_of
from natxy.dut.transport.local import LocalTransport
from natxy.engine.messages.common import Side
from natxy.engine.messages.reference import GatewayApply, GatewayMode, GatewayPortSet
from natxy.engine.messages.requests import SubscriberPorts, SubscriberRule
from natxy.errors import DutError
from natxy.plan.gateways.reference import PeriodicLoss, ReferenceConfig, ReferenceMode
from natxy.plan.model.addresses import AddressMapping, AddressPlan, LinkAddresses, MapDomain, Softwire, Translation
from natxy.plan.model.terms import Family, MapEnd, SoftwireEnd, TranslationKind
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.system.machine_sysctls import MachineSysctls

LEFT = LinkAddresses(dut=ip_interface("10.0.0.1/24"), tester=ip_interface("10.0.0.2/24"))
RIGHT = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
LEFT6 = LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"))
RIGHT6 = LinkAddresses(dut=ip_interface("2001:2:0:8000::1/64"), tester=ip_interface("2001:2:0:8000::2/64"))
PREFIX = IPv6Network("2001:2:0:64::/96")
RULE = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/24"), 8)
MAPPING = AddressMapping(ipv4=IPv4Network("198.19.0.2/32"), ipv6=IPv6Network("2001:2:0:8000::2/128"))


def across(kind: TranslationKind) -> AddressPlan:
    left, right = (LEFT, RIGHT6) if kind.families[0] == Family.IPV4 else (LEFT6, RIGHT)
    pool: Any = IPv4Network("198.19.0.1/32") if right is RIGHT else IPv6Network("2001:2:0:8000::1/128")
    translation = Translation(kind=kind, prefix=PREFIX, pool=pool, mappings=(MAPPING,))
    return AddressPlan(left=left, right=right, translation=translation)


@pytest.mark.parametrize(
    ("mode", "addresses", "expected", "parts"),
    [
        ("forward", AddressPlan(left=LEFT, right=RIGHT), GatewayMode.FORWARD, None),
        ("nat", AddressPlan(left=LEFT, right=RIGHT), GatewayMode.NAT44, {"pool", "port_choice"}),
        ("nat", AddressPlan(left=LEFT6, right=RIGHT6), GatewayMode.NAT66, {"pool", "port_choice"}),
        ("nat", across(TranslationKind.NAT64), GatewayMode.NAT64, {"pool", "port_choice", "prefix"}),
        ("nat", across(TranslationKind.NAT46), GatewayMode.NAT46, {"pool", "port_choice", "mappings"}),
        ("forward", across(TranslationKind.SIIT), GatewayMode.SIIT, {"prefix", "mappings"}),
    ],
)
def test_the_mode_and_what_belongs_to_it(
    mode: str, addresses: AddressPlan, expected: GatewayMode, parts: set[str] | None
) -> None:
    request = gateway_of(ReferenceConfig.model_validate({"mode": mode}), addresses).model_dump(exclude_none=True)
    assert request["mode"] == expected
    assert ("table" in request) == (mode == "nat")
    assert (set(request["translation"]) if "translation" in request else None) == parts
    assert [link["addresses"] for link in request["links"]] == [[addresses.left.dut.ip], [addresses.right.dut.ip]]
    assert [link["neighbors"] for link in request["links"]] == [[addresses.left.tester.ip], [addresses.right.tester.ip]]


def test_every_limit_and_fault_is_requested() -> None:
    faults = {
        "loss": {"every": 100, "frames": 2},
        "loss_ratio": 0.01,
        "delay": [{"share": 0.9, "min": "1ms"}, {"share": 0.1, "min": "2ms", "max": "3ms"}],
        "keep_order": True,
        "duplicate_every": 10,
        "reorder": {"every": 20, "by": 3},
        "corrupt_checksum_every": 30,
        "wrong_port_every": 40,
    }
    config = ReferenceConfig.model_validate(
        {
            "mode": "nat", "seed": 7, "max_rate": "100k", "rate_scope": "direction", "buffer_frames": 50,
            "recovery_time": "20ms",
            "outages": {"every": "500ms", "duration": "6ms"}, "binding_delay": "7ms", "binding_outage": "8ms",
            "table_capacity": 5000, "table_policy": "lru", "connection_rate": "10k",
            "connection_burst": 9, "without_state_every": 11, "tear_down_rate": "1M", "clear_time": "5ms",
            "flow_cost": 0.5,
            "lifetime": 30,
            "closed_lifetime": 2,
            "forgets_on_fin": True,
            "tcp": {"drop_syn_ack_every": 5, "reset_every": 6, "shift_sequence_every": 7},
            "port_choice": "random",
            "forward": faults,
        }
    )  # fmt: skip
    request = gateway_of(config, AddressPlan(left=LEFT, right=RIGHT)).model_dump(mode="json", exclude_none=True)
    assert request["table"] == {
        "capacity": 5000, "when_full": "lru", "max_connection_rate_cps": 10_000, "connection_burst": 9,
        "without_state_every": 11, "tear_down_rate_cps": 1e6, "clear_s": 0.005, "flow_cost": 0.5,
        "lifetime_s": 30, "closed_lifetime_s": 2, "forgets_on_fin": True,
    }  # fmt: skip
    truth = request["truth"]
    assert (truth["seed"], truth["max_rate_fps"], truth["rate_scope"]) == (7, 100_000, "direction")
    assert (truth["buffer_frames"], truth["recovery_s"]) == (50, 0.02)
    assert truth["outages"] == {"every_ns": 500_000_000, "duration_ns": 6_000_000}
    assert truth["tcp"] == {"drop_syn_ack_every": 5, "reset_every": 6, "shift_sequence_every": 7}
    assert truth["bindings"] == {"delay_s": 0.007, "outage_s": 0.008}
    assert truth["forward"] == faults | {
        "delay": [
            {"share": 0.9, "min_ns": 1_000_000, "max_ns": 1_000_000},
            {"share": 0.1, "min_ns": 2_000_000, "max_ns": 3_000_000},
        ]
    }
    assert truth["reverse"] == {"loss_ratio": 0.0, "keep_order": False}
    assert request["translation"] == {"pool": "198.19.0.1/32", "port_choice": "random"}


@pytest.mark.parametrize("end", SoftwireEnd)
def test_an_end_of_softwires_has_the_addresses_of_both_ends_and_its_faults(end: SoftwireEnd) -> None:
    edge, core = IPv6Address("2001:2::e"), IPv6Address("2001:2::c")
    own, far = (edge, core) if end == SoftwireEnd.EDGE else (core, edge)
    softwire = Softwire(end=end, own=own, far=far, carries=())
    config = ReferenceConfig.model_validate({"softwire": {"leak_every": 9, "accepts_any_subscriber": True}})
    request = gateway_of(config, AddressPlan(left=LEFT, right=RIGHT6, softwire=softwire)).softwire
    assert request
    assert (request.end, request.addresses.core, request.addresses.subscribers.address) == (end, core, edge)
    assert (request.leak_every, request.option_every, request.accepts_any_subscriber) == (9, None, True)


def test_a_nat44_has_the_pool_of_the_plan() -> None:
    addresses = AddressPlan(left=LEFT, right=RIGHT, pool=ip_network("198.19.0.4/30"))
    translation = gateway_of(ReferenceConfig(mode=ReferenceMode.NAT), addresses).translation
    assert translation
    assert translation.pool == ip_network("198.19.0.4/30")


STAND_IN = """\
#!{python}
import json, sys
connections = 5
for line in sys.stdin:
    request = json.loads(line)
    method = request["method"]
    with open({record!r}, "a") as record:
        print(json.dumps({{"argv": sys.argv[1:], "method": method, "params": request["params"]}}), file=record)
    if method == "gateway.apply" and {refuse}:
        error = {{"code": -32602, "message": "truth.max_rate_fps: expected a number above 0"}}
        print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "error": error}}), flush=True)
        continue
    if method == "table.clear":
        connections = {left}
    results = {{
        "engine.info": {{
            "name": "natxy-reference", "version": "1", "protocol": 1, "dpdk": "22", "compiler": "g++", "isa": "native",
            "worker_cores": [0], "hugepages": False, "tsc_hz": 1, "tsc_error_ppm": 0.0, "tsc_uncertainty_ppm": 0.1,
        }},
        "ports.open": {{"ports": []}},
        "table.clear": {{"cleared": 5}},
        "table.count": {{"connections": connections}},
    }}
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": results.get(method, {{}})}}), flush=True)
"""


class Bed:
    """The driver with a stand-in for its program, which records all requests."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, left: int = 0, *, refuse: bool = False) -> None:
        self._record = folder / "requests"
        program = folder / "stand-in"
        program.write_text(
            textwrap.dedent(STAND_IN).format(python=sys.executable, record=str(self._record), left=left, refuse=refuse)
        )
        program.chmod(0o755)
        monkeypatch.setenv("NATXY_REFERENCE", str(program))
        config = ReferenceConfig.model_validate({"mode": "nat", "restart_time": "10ms", "binding_time": "1ms"})
        interfaces = DutInterfaces("net_memif0,id=0", "net_memif1,id=1", dpdk=True)
        addresses = AddressPlan(left=LEFT, right=RIGHT)
        self.gateway = ReferenceGateway(config, LocalTransport(MachineSysctls(), [0]), interfaces, addresses)

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._record.read_text().splitlines()]


def test_its_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = Bed(tmp_path, monkeypatch)
    gateway = bed.gateway
    gateway.apply()
    assert gateway.count() == 5
    gateway.clear()
    assert gateway.count() == 0
    gateway.restart()
    gateway.set_unbound([SubscriberRange.of(RULE, IPv4Address("198.18.128.1"), IPv4Address("198.18.128.2"))])
    description = gateway.describe()
    gateway.remove()
    gateway.remove()
    asked = bed.requests()
    methods = [each["method"] for each in asked]
    assert methods == [
        "ports.open", "gateway.apply", "table.count", "table.clear", "table.count", "table.count", "gateway.restart",
        "gateway.bindings", "engine.info", "ports.close",
    ]  # fmt: skip
    elsewhere = min(os.sched_getaffinity(0) - {0}, default=0)
    assert asked[0]["argv"] == ["--worker-cores", "0", "--main-core", str(elsewhere)]
    assert [port["device"] for port in asked[0]["params"]["ports"]] == ["net_memif0,id=0", "net_memif1,id=1"]
    # The links of others are waited for, and these come up only when the engine opens its ends.
    assert {port["medium"] for port in asked[0]["params"]["ports"]} == {"memif"}
    assert asked[6]["params"] == {"duration_s": 0.01}
    assert asked[7]["params"] == {"without": [{"first": "198.18.128.1", "last": "198.18.128.2"}]}
    assert description.version == "natxy-reference 1"
    assert json.loads(description.configuration)["mode"] == "nat44"


def test_a_table_that_is_not_empty_after_clearing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = Bed(tmp_path, monkeypatch, left=2).gateway
    gateway.apply()
    with pytest.raises(DutError, match="has 2 connections after its table was emptied"):
        gateway.clear()
    gateway.remove()


def test_nothing_stays_of_one_that_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = Bed(tmp_path, monkeypatch, refuse=True)
    with pytest.raises(DutError, match=r"refused gateway\.apply: truth\.max_rate_fps: expected a number above 0"):
        bed.gateway.apply()
    assert bed.requests()[-1]["method"] == "ports.close"
    with pytest.raises(DutError, match="natxy-reference is not running"):
        bed.gateway.count()


PORT_SET: Final = {"psid": 3, "psid_length": 4, "offset": 4}


def reference_of(beside: str, **own: Any) -> GatewayApply:
    """Returns the request for a gateway on a side of the tester."""
    gateway = {"driver": "reference", "mode": "nat", **own}
    boxes = [gateway, "tester"] if beside == "left" else ["tester", gateway]
    fields = {
        "name": "e", "procedure": "throughput", "search": {"max_rate": "1M"}, "connections": 50, "phase1_rate": "1k",
        "gateway": {"driver": "chain", "gateways": boxes},
    }  # fmt: skip
    plan = Plan.model_validate({"name": "p", "testbed": {"kind": "memif"}, "experiments": [fields]})
    (hop,) = resolve(plan).experiments[0].path.hops
    assert isinstance(hop.gateway, ReferenceConfig)
    return gateway_of(hop.gateway, hop.addresses)


def test_an_aftr_is_a_core_behind_which_a_nat_has_its_own_address() -> None:
    request = reference_of("right", softwire={"stale_binding": {"every": 9, "frames": 2}, "hop_limit_every": 7})
    assert request.mode == GatewayMode.NAT44
    assert request.softwire
    assert request.softwire.end == SoftwireEnd.CORE
    assert request.softwire.stale_binding == PeriodicLoss(every=9, frames=2)
    assert request.softwire.hop_limit_every == 7
    assert request.translation
    assert str(request.translation.pool) == "198.19.0.1/32"
    assert request.translation.port_set is None


def test_a_ce_of_map_t_is_a_nat_with_the_address_and_the_ports_of_its_subscriber() -> None:
    request = reference_of("left", map_t={"leak_every": 9}, port_set=PORT_SET)
    assert (request.mode, request.softwire) == (GatewayMode.NAT44, None)
    assert request.translation
    assert str(request.translation.pool) == "100.64.1.1/32"
    assert request.translation.port_set == GatewayPortSet(**PORT_SET, first_range_only=False)
    assert request.map
    assert (request.map.end, request.map.leak_every, request.map.stale_binding) == (SoftwireEnd.EDGE, 9, None)
    assert (str(request.map.ipv4), str(request.map.prefix)) == ("100.64.1.1/32", "2001:2:0:64::/64")
    subscribers = request.map.subscribers
    assert (str(subscribers.address), subscribers.psid_mask) == ("2001:2:0:5000:0:6440:101:3", 0)
    assert subscribers.ports == SubscriberPorts.of(PortSet(**PORT_SET))


def test_a_core_of_map_t_has_the_rule_of_all_subscribers() -> None:
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/28"), 8)
    domain = MapDomain(end=MapEnd.CORE, rule=rule, prefix=IPv6Network("2001:2:0:64::/64"))
    config = ReferenceConfig.model_validate({"map_t": {"stale_binding": 5, "accepts_any_subscriber": True}})
    request = gateway_of(config, AddressPlan(left=LEFT6, right=RIGHT, map_domain=domain))
    assert (request.mode, request.softwire, request.translation) == (GatewayMode.FORWARD, None, None)
    assert request.map
    assert (request.map.end, request.map.subscribers) == (SoftwireEnd.CORE, SubscriberRule.of(rule))
    assert (request.map.ipv4, request.map.prefix) == (rule.ipv4, domain.prefix)
    assert (request.map.stale_binding, request.map.accepts_any_subscriber) == (PeriodicLoss(every=5), True)


def test_a_customers_edge_gives_the_ports_of_its_set_and_has_ipv6_on_its_right() -> None:
    request = reference_of("left", port_set=PORT_SET, first_range_only=True)
    assert request.mode == GatewayMode.NAT44
    assert request.softwire
    assert request.softwire.end == SoftwireEnd.EDGE
    assert request.translation
    assert str(request.translation.pool) == "100.64.1.1/32"
    assert request.translation.port_set == GatewayPortSet(**PORT_SET, first_range_only=True)
    assert {address.version for link in request.links if link.side == Side.RIGHT for address in link.addresses} == {6}
