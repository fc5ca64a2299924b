# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import TableNeed, ports_per_destination
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.scale import left_to_the_dut, ports, shortfalls, slowest_phase1_fps, state_table_bytes, table_need
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.written import Plan

HARDWARE = {
    "kind": "hardware",
    "left": {"pci": "0000:03:00.0"},
    "right": {"pci": "0000:03:00.1"},
    "dut": {"ssh": "root@dut", "left": "eth1", "right": "eth2"},
}
RATE: dict[str, Any] = {
    "name": "rate",
    "procedure": "connection-rate",
    "connections": "4M",
    "ports": {"source": "10000-13999", "destination": "1000-1999"},
    "search": {"min_rate": "10k", "max_rate": "1M"},
}
NFTABLES = {"driver": "nftables", "conntrack_max": "8M", "udp_timeout_s": 900, "udp_stream_timeout_s": 900}
JOOL: dict[str, Any] = {"gateway": {"driver": "jool", "udp_timeout_s": 900}, "translation": "nat64"}
PF = {"driver": "openbsd-pf", "states": 4_400_000, "udp_timeout_s": 900}


def plan_of(*experiments: dict[str, Any]) -> Plan:
    return Plan.model_validate({"name": "p", "testbed": HARDWARE, "experiments": list(experiments)})


def only(**own: Any) -> Experiment:
    return resolve(plan_of(RATE | {"gateway": NFTABLES} | own)).experiments[0]


def needed(experiment: Experiment) -> TableNeed:
    need = table_need(experiment, None)
    assert need
    return need


def problems(*experiments: dict[str, Any]) -> list[str]:
    with pytest.raises(PlanProblems) as caught:
        resolve(plan_of(*experiments))
    return [f"{'.'.join(map(str, problem.location))}: {problem.message}" for problem in caught.value.problems]


def test_the_longest_life_is_that_at_the_lowest_rates() -> None:
    phase2 = RATE | {"name": "phase2", "procedure": "throughput", "phase1_rate": {"experiment": "rate", "percent": 50}}
    rate, phase2_at_5k = resolve(plan_of(RATE | {"gateway": NFTABLES}, phase2 | {"gateway": NFTABLES})).experiments
    assert needed(rate).longest_trial_s == 400 + 2
    slowest_fps = slowest_phase1_fps(phase2_at_5k, {"rate": rate})
    assert slowest_fps == 5000
    need = table_need(phase2_at_5k, slowest_fps)
    assert need
    assert need.longest_trial_s == 800 + 2 + 2 + 60 + 2


@pytest.mark.parametrize("driver", ["nftables", "iptables", "jool", "openbsd-pf"])
def test_connections_that_do_not_live_long_enough(driver: str) -> None:
    gateway = {"driver": driver, "udp_timeout_s": 402}
    own = RATE | {"gateway": gateway} | ({"translation": "nat64"} if driver == "jool" else {})
    (said,) = problems(own)
    assert said.startswith("experiments.0.gateway.udp_timeout_s: entries would end after 402 s, but the longest trial")
    assert "set udp_timeout_s to at least 403" in said
    resolve(plan_of(own | {"gateway": gateway | {"udp_timeout_s": 403}}))


def test_a_phase_1_at_half_of_the_lowest_rate_lasts_twice_as_long() -> None:
    phase2 = RATE | {"name": "phase2", "procedure": "throughput", "phase1_rate": {"experiment": "rate", "percent": 50}}
    jool = JOOL["gateway"] | {"udp_timeout_s": 866}
    (said,) = problems(RATE | JOOL, phase2 | JOOL | {"gateway": jool})
    assert said.startswith("experiments.1.gateway.udp_timeout_s: entries would end after 866 s")


@pytest.mark.parametrize("alpha", [0.8, 0.5, 0.25])
def test_a_slow_validation_lasts_as_well(alpha: float) -> None:
    own = RATE | JOOL | {"procedure": "validated-connection-rate", "alpha": alpha}
    (said,) = problems(own)
    assert f"set udp_timeout_s to at least {int(400 + 400 / alpha + 4) + 1}" in said


def test_a_capacity_needs_time_and_ports_for_the_most_connections_it_tries_but_no_room() -> None:
    search = {"procedure": {"name": "table-capacity", "max_connections": "8M"}, "alpha": 1}
    ports_of_8m = {"source": "10000-19999", "destination": "1000-1999"}
    own = {name: value for name, value in RATE.items() if name != "connections"} | search | {"ports": ports_of_8m}
    (short, too) = problems(own | {"gateway": NFTABLES})
    assert "udp_timeout_s: entries would end after 900 s, but the longest trial takes 26 min 44 s" in short
    assert "udp_stream_timeout_s" in too
    resolve(plan_of(own | {"gateway": NFTABLES | {"udp_timeout_s": 1605, "udp_stream_timeout_s": 1605}}))
    # A table of a million cannot hold two, so that four are not tried.
    small = NFTABLES | {"conntrack_max": "1M", "udp_timeout_s": 405, "udp_stream_timeout_s": 405}
    resolve(plan_of(own | {"gateway": small}))


def test_connections_of_tcp_need_timeouts_of_tcp() -> None:
    own = RATE | {"protocol": "tcp", "gateway": {"driver": "nftables", "conntrack_max": "8M", "udp_timeout_s": 1}}
    resolve(plan_of(own))
    timeouts_s = {"syn_sent": 60, "established": 3600, "unacknowledged": 3600, "time_wait": 1}
    gateway = own["gateway"] | {"tcp_timeouts_s": timeouts_s}
    (said,) = problems(own | {"gateway": gateway})
    assert "tcp_timeouts_s.syn_sent: entries would end after 60 s, but the longest trial" in said


def test_a_port_for_each_address_and_port_on_the_left() -> None:
    left = {"left_hosts": {"first": "2001:2:0:1::2", "last": "2001:2:0:1::1:2", "low_bit": 16}}
    many = {"source": "1024-65535", "destination": "1000-1099"}
    own = RATE | JOOL | {"ports": many, "addresses": left}
    (said,) = problems(own)
    assert said == (
        "experiments.0.translation.pool: the pool 198.19.0.1/32 has 58705 ports that can be counted on, 91% of "
        "them, because beyond that Jool does not find every port that is free, but the connections need 129024 at "
        "once; give it at least 4 addresses, or ask for fewer source ports and left hosts"
    )
    four = {"translation": {"kind": "nat64", "pool": "198.19.0.4/30"}}
    experiment = only(**(own | four))
    assert ports(experiment, needed(experiment)) == (129_024, 234_823)


@pytest.mark.parametrize("gateway", [NFTABLES, PF])
def test_a_port_for_each_connection_to_one_destination(gateway: dict[str, Any]) -> None:
    left = {"left_hosts": {"first": "10.0.0.2", "last": "10.0.0.63"}}
    many = {"source": "1024-65535", "destination": 1000}
    own = RATE | {"ports": many, "addresses": left, "gateway": gateway, "connections": 3_999_744}
    (said,) = problems(own)
    assert "connections: they need 3999744 ports of the gateway's address at once, which has 64512" in said
    experiment = only(**(own | {"ports": many | {"destination": "1000-1061"}}))
    assert ports(experiment, needed(experiment)) == (64_512, 64_512)


def test_netfilter_keeps_the_ports_of_one_host_below_1024_too() -> None:
    own = RATE | {"ports": {"source": "1-65535", "destination": 1000}, "connections": 65_535}
    (said,) = problems(own | {"gateway": PF})
    assert "they need 65535 ports of the gateway's address at once, which has 64512" in said
    experiment = only(**own)
    assert ports(experiment, needed(experiment)) == (64_512, 64_512)


@given(st.integers(1, 10**10), st.integers(1, 10**6), st.integers(1, 10**6))
def test_destinations_share_ports(connections: int, endpoints: int, remote: int) -> None:
    connections = min(connections, endpoints * remote)
    most = ports_per_destination(TableNeed(connections, endpoints, remote, 1.0))
    assert 1 <= most <= endpoints
    assert most * remote >= connections > (most - 1) * remote


def test_the_memory_of_the_largest_published_tables() -> None:
    of_400m = TableNeed(400_000_000, 40_000, 10_000, 1.0)
    iptables = only(
        gateway={"driver": "iptables", "hash_size": 2**28, "udp_timeout_s": 900, "udp_stream_timeout_s": 900}
    )
    in_it = iptables.gateway.table_bytes(of_400m)
    # 800 million fit into 384 GB, while 1,600 million do not.
    assert in_it
    assert in_it * 2 < 384e9 < in_it * 4
    of_1600m = TableNeed(1_600_000_000, 40_000, 40_000, 1.0)
    in_jool = only(**JOOL).gateway.table_bytes(of_1600m)
    assert in_jool
    assert in_jool < 384e9
    assert state_table_bytes(of_1600m) == 25_600_000_000


def test_what_the_plan_leaves_to_the_dut() -> None:
    found = left_to_the_dut(resolve(plan_of(RATE | {"gateway": "nftables"})))
    assert [*found] == [
        "nftables has 262,144 entries unless the DUT was set up otherwise; set conntrack_max to at least 4000000",
        "connections live 30 s unless the DUT was set up otherwise, but the longest trial takes 6 min 42 s; set "
        "udp_timeout_s to at least 403",
        "connections live 120 s unless the DUT was set up otherwise, but the longest trial takes 6 min 42 s; set "
        "udp_stream_timeout_s to at least 403",
    ]
    assert left_to_the_dut(resolve(plan_of(RATE | {"gateway": NFTABLES}))) == {}
    small = left_to_the_dut(resolve(plan_of(RATE | {"gateway": {"driver": "openbsd-pf", "udp_timeout_s": 900}})))
    assert [*small] == [
        "openbsd-pf has 100,000 entries unless the DUT was set up otherwise; set states to at least 4000000"
    ]


@pytest.mark.parametrize("driver", ["nftables", "iptables"])
@pytest.mark.parametrize(("connections", "named"), [(262_144, False), (262_145, True)])
def test_the_usual_size_of_netfilters_table(driver: str, connections: int, named: bool) -> None:
    gateway = {"driver": driver, "udp_timeout_s": 900, "udp_stream_timeout_s": 900}
    plan = resolve(plan_of(RATE | {"gateway": gateway, "connections": connections}))
    said = (
        f"{driver} has 262,144 entries unless the DUT was set up otherwise; set conntrack_max to at least {connections}"
    )
    assert left_to_the_dut(plan) == ({said: ["rate"]} if named else {})
    # It can be read on this machine.
    assert left_to_the_dut(plan.model_copy(update={"testbed": LabConfig()})) == {}


def test_buckets_that_no_kernel_allocates() -> None:
    with pytest.raises(ValueError, match="at most 536,870,400 buckets"):
        plan_of(RATE | {"gateway": {"driver": "iptables", "hash_size": 2**29}})


def test_the_testers_own_table_has_an_entry_for_each_connection() -> None:
    # engine/state/entry_form.hpp asserts this size of a StateEntry.
    of_1000 = TableNeed(1000, 1, 1, 1.0)
    assert state_table_bytes(of_1000) == 16_000


@pytest.mark.parametrize(("longest_s", "short"), [(29.9, False), (30.0, True)])
def test_a_connection_has_to_live_longer_than_the_longest_trial(longest_s: float, short: bool) -> None:
    need = TableNeed(1000, 1, 1, longest_s)
    usual = only(gateway="nftables")
    own = NftablesConfig(udp_timeout_s=30, udp_stream_timeout_s=900)
    planned = usual.model_copy(update={"gateway": own})
    for experiment, is_planned in ((usual, False), (planned, True)):
        found = {each.setting[-1]: each.planned for each in shortfalls(experiment, need)}
        assert found == ({"udp_timeout_s": is_planned} if short else {})
