# SPDX-License-Identifier: Apache-2.0
"""Tests plans with several public addresses: which are refused, and how many ports they have."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import PORTS_PER_ADDRESS, addresses_by_hash
from natxy.plan.resolve import resolve
from natxy.plan.scale import ports, table_need
from natxy.plan.written import Plan
from tests.support.plan_problems import problems_of

POOL = "198.19.0.4/30"
SNAT = {"driver": "iptables", "target": "snat"}
PF = {"driver": "openbsd-pf", "states": "10M", "udp_timeout_s": 3600}
NAT: dict[str, Any] = {
    "name": "nat",
    "gateway": "nftables",
    "procedure": "connection-rate",
    "connections": "1k",
    "search": {"min_rate": "10k", "max_rate": "1M"},
}
HARDWARE = {
    "kind": "hardware",
    "left": {"pci": "0000:03:00.0"},
    "right": {"pci": "0000:03:00.1"},
    "dut": {"ssh": "root@dut", "left": "eth1", "right": "eth2"},
}
MANY_LEFT = {"left_hosts": {"first": "10.0.1.0", "last": "10.0.4.231"}}
"""1,000 hosts."""


def plan_of(**own: Any) -> Plan:
    return Plan.model_validate({"name": "p", "testbed": HARDWARE, "experiments": [NAT | own]})


def only(**own: Any) -> Experiment:
    return resolve(plan_of(**own)).experiments[0]


def problems(**own: Any) -> dict[str, str]:
    return problems_of(plan_of(**own))


@pytest.mark.parametrize(
    "gateway", ["nftables", SNAT, PF, {"driver": "command", "masquerades": True, "stateful": True, "clear": [["x"]]}]
)
def test_a_nat_takes_a_pool_and_its_driver_and_the_resolved_plan_have_it(gateway: Any) -> None:
    experiment = only(gateway=gateway, addresses={"pool": POOL})
    assert str(experiment.address_plan.pool) == str(experiment.address_plan.public) == POOL
    assert POOL in resolve(plan_of(gateway=gateway, addresses={"pool": POOL})).to_yaml()
    assert only(gateway=gateway).address_plan.pool is None


def test_replies_go_to_the_pool_as_well_as_to_the_links() -> None:
    without, with_pool = (only(addresses=own).address_plan.networks for own in ({}, {"pool": "10.4.0.0/30"}))
    assert {str(network) for network in {*with_pool} - {*without}} == {"10.4.0.0/30"}
    assert {*without} < {*with_pool}


def test_a_nat66_takes_a_pool_of_its_family() -> None:
    six: dict[str, Any] = {"family": "ipv6", "addresses": {"pool": "2001:2:0:8000::10/124"}}
    assert str(only(**six).pool) == "2001:2:0:8000::10/124"
    assert "right side's family" in problems(addresses=six["addresses"])["experiments[0].addresses.pool"]


def test_a_pool_may_have_65536_addresses() -> None:
    pool = only(addresses={"pool": "10.4.0.0/16"}).pool
    assert pool is not None
    assert pool.num_addresses == 65_536


@pytest.mark.parametrize(
    ("own", "pool", "message"),
    [
        ({}, "198.19.0.0/30", "198.19.0.0/30 and 198.19.0.2 have addresses in common"),
        ({"preset": "multiple"}, "198.19.7.0/30", "198.19.7.0/30 and 198.19.1.0 to 198.19.255.254 have addresses"),
        ({}, "192.0.2.0/30", "must not leak"),
        ({}, "10.4.0.0/15", "10.4.0.0/15 has more than 65,536 addresses"),
    ],
)
def test_what_no_pool_can_be(own: dict[str, Any], pool: str, message: str) -> None:
    assert message in problems(addresses=own | {"pool": pool})["experiments[0].addresses.pool"]


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"gateway": "iptables"}, "give the gateway `target: snat`"),
        ({"gateway": PF | {"enabled": False}}, "openbsd-pf takes no pool of public addresses; remove it"),
        ({"gateway": PF | {"nat": False}}, "openbsd-pf takes no pool of public addresses; remove it"),
        ({"gateway": {"driver": "nftables", "nat": False}}, "nftables takes no pool of public addresses; remove it"),
        ({"gateway": "linux-forward"}, "linux-forward takes no pool"),
        ({"gateway": "jool", "translation": "nat64"}, "a nat64 has a pool of its own; give `translation` the `pool`"),
    ],
)
def test_who_takes_no_pool(own: dict[str, Any], message: str) -> None:
    assert message in problems(**own, addresses={"pool": POOL})["experiments[0].addresses.pool"]


def room(gateway: Any, addresses: dict[str, Any], **own: Any) -> tuple[int, int]:
    experiment = only(gateway=gateway, addresses=addresses, **own)
    need = table_need(experiment, None)
    assert need
    found = ports(experiment, need)
    assert found
    return found


def test_pf_uses_the_whole_pool_in_turn() -> None:
    assert room(PF, {"pool": POOL})[1] == 4 * PORTS_PER_ADDRESS


JOOL: dict[str, Any] = {
    "gateway": {"driver": "jool", "udp_timeout_s": 900},
    "ports": {"source": "1-60000", "destination": 1},
    "connections": 60_000,
}


def nat64(pool: str) -> dict[str, Any]:
    return {"kind": "nat64", "pool": pool}


def test_jool_does_not_find_the_last_ports_of_a_pool() -> None:
    assert room(addresses={}, **JOOL | {"connections": 58_000}, translation=nat64(POOL)) == (58_000, 234_823)
    assert problems(**JOOL, translation=nat64("198.19.0.4/32")) == {
        "experiments[0].translation.pool": (
            "the pool 198.19.0.4/32 has 58705 ports that can be counted on, 91% of them, because beyond that Jool does "
            "not find every port that is free, but the connections need 60000 at once; give it at least 2 addresses, "
            "or ask for fewer source ports and left hosts"
        )
    }
    assert only(**JOOL, translation=nat64("198.19.0.4/31")).pool
    enough = {"ports": {"source": "1-58705", "destination": 1}, "connections": 58_705}
    assert only(**JOOL | enough, translation=nat64("198.19.0.4/32")).pool


@pytest.mark.parametrize("gateway", ["nftables", SNAT])
def test_netfilter_gives_a_pair_of_hosts_one_address_of_the_pool(gateway: Any) -> None:
    assert room(gateway, {"pool": POOL})[1] == PORTS_PER_ADDRESS
    # Of 1,000 hosts, some address gets more than a quarter.
    assert 3.2 < room(gateway, MANY_LEFT | {"pool": POOL})[1] / PORTS_PER_ADDRESS < 4
    # The more remote hosts, the more often the hosts are spread, and the worse the worst of these.
    assert (
        room(gateway, {"preset": "multiple", "pool": POOL} | MANY_LEFT)[1]
        < room(gateway, MANY_LEFT | {"pool": POOL})[1]
    )


LARGE: dict[str, Any] = {
    "connections": 193_536,
    "ports": {"source": "1024-65535", "destination": 1000},
    "addresses": {"left_hosts": {"first": "10.0.0.2", "last": "10.0.0.4"}},
}


def test_connections_that_one_address_has_no_ports_for() -> None:
    (said,) = problems(**LARGE | {"gateway": PF}).values()
    assert said.startswith("they need 193536 ports of the gateway's address at once, which has 64512")
    assert said.endswith("or several public addresses in `addresses.pool`")
    (said,) = problems(**LARGE | {"gateway": PF, "addresses": LARGE["addresses"] | {"pool": "198.19.0.4/31"}}).values()
    assert said == (
        "the pool 198.19.0.4/31 has 129024 ports, but the connections need 193536 at once; give it at least 4 "
        "addresses, or ask for fewer connections"
    )
    large = {name: LARGE[name] for name in ("connections", "ports")}
    assert room(PF, LARGE["addresses"] | {"pool": POOL}, **large) == (193_536, 258_048)


def test_three_hosts_may_all_get_one_of_netfilters_addresses() -> None:
    (said,) = problems(**LARGE | {"addresses": LARGE["addresses"] | {"pool": POOL}}).values()
    assert said == (
        "the pool 198.19.0.4/30 has 64512 ports that can be counted on, those of 1 addresses, because the gateway "
        "chooses them by a hash, and some get more of the 3 left hosts than others, but the connections need 193536 at "
        "once; give it at least 2048 addresses, or ask for fewer connections"
    )


def test_taygas_dynamic_pool_has_an_address_for_each_host() -> None:
    hosts = {"left_hosts": {"first": "2001:2:0:1::2", "last": "2001:2:0:1::ff:2", "low_bit": 16}}
    own = {"translation": {"kind": "nat64", "pool": "198.18.0.0/24"}, "addresses": hosts}
    tayga = {"driver": "tayga-netfilter", "conntrack_max": "1M", "udp_timeout_s": 900, "udp_stream_timeout_s": 900}
    assert problems(gateway=tayga | {"hosts": "172.16.0.0/24"}, **own) == {
        "experiments[0].gateway.hosts": (
            "it has 255 addresses for 256 left hosts, each of which needs one; give a shorter prefix, or ask for fewer "
            "left hosts"
        )
    }
    assert only(gateway=tayga | {"hosts": "172.16.0.0/23"}, **own).gateway.most_hosts == {"hosts": 511}
    hosts["left_hosts"]["last"] = "2001:2:0:1::fe:2"
    assert only(gateway=tayga | {"hosts": "172.16.0.0/24"}, **own).gateway.most_hosts == {"hosts": 255}


@given(st.integers(1, 3000), st.integers(1, 64))
def test_more_public_addresses_never_count_for_more_than_there_are(hosts: int, pool: int) -> None:
    in_use = addresses_by_hash(hosts, pool, pool)
    assert 1 <= in_use <= pool
    assert addresses_by_hash(hosts, 1, 1) == 1
    assert addresses_by_hash(1, pool, pool) == 1


@pytest.mark.parametrize(("hosts", "pool"), [(3, 3072), (64, 4), (1000, 4), (1000, 16), (20_000, 64)])
def test_hosts_that_are_spread_at_random_rarely_crowd_an_address_more(hosts: int, pool: int) -> None:
    most = hosts / addresses_by_hash(hosts, pool, pool)
    chance = random.Random(5)
    crowded = 0
    for _ in range(100):
        counts = [0] * pool
        for _ in range(hosts):
            counts[chance.randrange(pool)] += 1
        crowded += max(counts) > most
    assert crowded <= 3
