# SPDX-License-Identifier: Apache-2.0
"""Tests plans with traffic between several pairs of interfaces."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamKind
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.scale import table_need
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from tests.support.plan_problems import problems_of

FORWARDING: dict[str, Any] = {
    "name": "e",
    "gateway": "linux-forward",
    "procedure": "throughput",
    "search": {"max_rate": "1M"},
}
NAT: dict[str, Any] = {"gateway": "nftables", "connections": "5k", "phase1_rate": "20k"}
CABLED: dict[str, Any] = {
    "kind": "hardware",
    "left": {"interface": "a"},
    "right": {"interface": "b"},
    "dut": {"left": "c", "right": "d", "namespace": "dut"},
}
SECOND: dict[str, Any] = {
    "left": {"interface": "a2"},
    "right": {"interface": "b2"},
    "dut": {"left": "c2", "right": "d2"},
}


def plan_of(testbed: dict[str, Any] | None = None, **own: Any) -> Plan:
    return Plan.model_validate({"name": "p", "testbed": testbed or {"kind": "lab"}, "experiments": [FORWARDING | own]})


def only(testbed: dict[str, Any] | None = None, **own: Any) -> Experiment:
    return resolve(plan_of(testbed, **own)).experiments[0]


def problems(testbed: dict[str, Any] | None = None, **own: Any) -> dict[str, str]:
    return problems_of(plan_of(testbed, **own))


def test_pairs_that_begin_one_after_another_end_together() -> None:
    trial = {"preset": "rfc", "trial": "60s"}
    experiment = only(pairs=3, start_interval="10s", directions="forward", timing=trial)
    streams = traffic_request(experiment, 3000, seed=1).streams
    assert [(stream.name, stream.start_s, stream.frames) for stream in streams] == [
        ("forward", 0, 80_000), ("forward 2", 10, 70_000), ("forward 3", 20, 60_000),
    ]  # fmt: skip
    together = only(pairs=3, timing=trial)
    assert {stream.start_s for stream in traffic_request(together, 3000, seed=1).streams} == {0}
    # The connections have to live longer by that time.
    need, longer = (table_need(only(pairs=3, **NAT | more), 1e4) for more in ({}, {"start_interval": "10s"}))
    assert need
    assert longer
    assert longer.longest_trial_s == pytest.approx(need.longest_trial_s + 20)


def test_one_pair_alone_has_nothing_to_begin_after() -> None:
    assert "give `pairs` or remove it" in problems(start_interval="1s")["experiments[0].start_interval"]
    simulated = problems({"kind": "simulated"}, gateway="simulated", pairs=2, start_interval="1s")
    assert "streams that begin together" in simulated["experiments[0].start_interval"]
    # The first cell of a sweep has one.
    assert only(pairs=1, start_interval="1s").traffic_s == only(pairs=1).traffic_s


@pytest.mark.parametrize(
    ("own", "duts"),
    [
        (
            {},
            [
                ("198.18.0.1/24", "198.19.0.1/24"),
                ("198.18.1.1/24", "198.19.1.1/24"),
                ("198.18.2.1/24", "198.19.2.1/24"),
            ],
        ),
        (NAT, [("10.0.0.1/24", "198.19.0.1/24"), ("10.0.1.1/24", "198.19.1.1/24"), ("10.0.2.1/24", "198.19.2.1/24")]),
        (
            {"family": "ipv6"},
            [
                ("2001:2::1/64", "2001:2:0:8000::1/64"),
                ("2001:2:0:1::1/64", "2001:2:0:8001::1/64"),
                ("2001:2:0:2::1/64", "2001:2:0:8002::1/64"),
            ],
        ),
    ],
    ids=["ipv4", "nat44", "ipv6"],
)
def test_each_pair_has_the_next_prefixes(own: dict[str, Any], duts: list[tuple[str, str]]) -> None:
    experiment = only(pairs=3, **own)
    plan = experiment.address_plan
    links = [(plan.left, plan.right), *((pair.left, pair.right) for pair in plan.further)]
    assert [(str(left.dut), str(right.dut)) for left, right in links] == duts
    assert all(link.dut.network == link.tester.network for pair in links for link in pair)
    assert {str(network) for network in plan.networks} == {str(link.dut.network) for pair in links for link in pair}


@settings(max_examples=30, deadline=None)
@given(pairs=st.integers(2, 16), length=st.integers(16, 28), hosts=st.integers(1, 14))
def test_no_two_pairs_have_an_address_in_common(pairs: int, length: int, hosts: int) -> None:
    behind = {"left": f"172.16.0.0/{length}", "right": f"10.0.0.0/{length}"}
    links = {
        "left": {"dut": "192.168.0.1/30", "tester": "192.168.0.2/30", "behind": [behind["left"]]},
        "right": {"dut": "10.128.0.1/30", "tester": "10.128.0.2/30", "behind": [behind["right"]]},
    }
    # Links far from the networks behind them leave no room.
    assert problems(pairs=pairs, addresses=links)
    own = {
        "left": {"dut": "172.16.0.1/30", "tester": "172.16.0.2/30", "behind": [behind["left"]]},
        "right": {"dut": "10.0.0.1/30", "tester": "10.0.0.2/30", "behind": [behind["right"]]},
        "left_hosts": {"first": "172.16.0.2", "last": f"172.16.0.{1 + hosts}"},
    }
    experiment = only(pairs=pairs, addresses=own)
    all_of = experiment.addresses_of_pairs
    networks = [network for each in all_of for link in (each.left, each.right) for network in (link.behind)]
    assert not any(one.overlaps(other) for one, other in combinations(networks, 2))
    for each in all_of:
        assert each.left_hosts.size == hosts
        assert each.left_hosts.first in each.left.behind[0]
        assert each.left_hosts.last in each.left.behind[0]
        assert each.left.tester.ip in each.left.behind[0]


def test_pairs_share_the_rate_and_have_streams_of_their_own() -> None:
    experiment = only(pairs=3, timing={"trial": 2.0})
    streams = traffic_request(experiment, 3000, seed=7).streams
    assert [stream.name for stream in streams] == [
        "forward",
        "reverse",
        "forward 2",
        "reverse 2",
        "forward 3",
        "reverse 3",
    ]
    assert [stream.pair for stream in streams] == [0, 0, 1, 1, 2, 2]
    assert {(stream.rate_fps, stream.frames) for stream in streams} == {(1000, 2000)}
    sources = [str(stream.flows.source_address.address) for stream in streams if stream.flows]
    assert sources == [f"198.{18 + way}.{pair}.2" for pair in range(3) for way in (0, 1)]
    asked = neighbors_request(experiment).neighbors
    assert [(each.pair, each.side, str(each.gateway)) for each in asked] == [
        (pair, side, f"198.{18 + way}.{pair}.1") for pair in range(3) for way, side in enumerate(Side)
    ]


def test_each_pair_has_connections_of_its_own() -> None:
    experiment = only(pairs=2, **NAT)
    first, second = (establish_request(experiment, 1000, 7, pair).streams[0] for pair in (0, 1))
    assert (first.pair, first.name, second.pair, second.name) == (0, "phase 1", 1, "phase 1 2")
    assert first.frames == second.frames == 5000
    assert second.flows is not None
    assert str(second.flows.source_address.address) == "10.0.1.2"
    kinds = [stream.kind for stream in traffic_request(experiment, 1000, seed=7).streams]
    assert kinds == [StreamKind.CONNECTIONS, StreamKind.REPLIES] * 2
    need = table_need(experiment, 20_000)
    assert need is not None
    assert need.connections == 10_000
    alone = table_need(only(pairs=1, **NAT), 20_000)
    assert alone is not None
    assert need.longest_trial_s == pytest.approx(alone.longest_trial_s + 5000 / 20_000)


@pytest.mark.parametrize("procedure", ["connection-rate", "validated-connection-rate"])
def test_connections_of_several_pairs_live_no_longer_than_as_many_of_one(procedure: str) -> None:
    own: dict[str, Any] = {
        "procedure": procedure,
        "gateway": "nftables",
        "search": {"min_rate": "4k", "max_rate": "8k"},
    }
    needs = [table_need(only(pairs=pairs, connections=16_000 // pairs, **own), None) for pairs in (1, 4, 16)]
    assert len({need and need.longest_trial_s for need in needs}) == 1
    assert needs[0]


def test_the_line_rate_is_that_of_all_pairs() -> None:
    one, three = (only(pairs=pairs, line_rate="1Gbps").maximum_fps for pairs in (1, 3))
    assert one is not None
    assert three == 3 * one


@pytest.mark.parametrize(
    ("own", "at", "why"),
    [
        (NAT | {"gateway": "jool", "translation": "nat64"}, "pairs", "jool is set up between two interfaces only"),
        ({"gateway": {"driver": "linux-forward", "kernel": "user-mode"}}, "pairs", "remove `kernel: user-mode`"),
        ({"background": "10%"}, "pairs", "background is for one pair"),
        (NAT | {"addresses": {"pool": "198.19.0.4/30"}}, "pairs", "addresses.pool is for one pair"),
        ({"addresses": {"on_link": 10}}, "pairs", "addresses.on_link is for one pair"),
        ({"addresses": "multiple"}, "addresses", "are the other side's too"),
        (NAT | {"addresses": "multiple"}, "addresses.right_hosts", "RFC 6815"),
        ({"procedure": "overload", "flows": 2}, "pairs", "overload doesn't take it"),
    ],
)
def test_what_is_for_one_pair_only_is_refused(own: dict[str, Any], at: str, why: str) -> None:
    assert why in problems(pairs=2, **own)[f"experiments[0].{at}"]


def test_a_testbed_has_so_many_pairs() -> None:
    assert "has 1 pair of interfaces, not 2" in problems({"kind": "memif"}, pairs=2)["experiments[0].pairs"]
    assert "give the testbed `more_pairs`" in problems(CABLED, pairs=2)["experiments[0].pairs"]
    assert only(CABLED | {"more_pairs": [SECOND]}, pairs=2).pair_count == 2
    assert "has 2 pairs" in problems(CABLED | {"more_pairs": [SECOND]}, pairs=3)["experiments[0].pairs"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"left": {"interface": "b"}}, "more_pairs[0].left is a port that another place has already"),
        ({"left": {"interface": "b2"}}, "more_pairs[0].right is a port that another place has already"),
        ({"right": {"interface": "b2", "vlan": 7}}, "ports of further pairs have no VLAN"),
        ({"dut": {"left": "c2", "right": "d"}}, "more_pairs[0].dut.right is d, which another place has already"),
    ],
)
def test_pairs_of_cables_have_no_end_in_common(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("[", r"\[").replace("]", r"\]")):
        plan_of(CABLED | {"more_pairs": [SECOND | changed]})


THIRD: dict[str, Any] = {
    "left": {"interface": "a3"},
    "right": {"interface": "b3"},
    "dut": {"left": "c3", "right": "d3"},
}
FOURTH: dict[str, Any] = {"left": "c4", "right": "d4"}
TESTER: dict[str, Any] = {"tester": {"ssh": "root@b", "cores": 2}}


def test_pairs_of_another_tester_are_not_this_machines() -> None:
    # Two machines may have interfaces of one name.
    there = {"left": CABLED["left"], "right": CABLED["right"]}
    plan = plan_of(
        CABLED | {"more_pairs": [SECOND | there | TESTER, THIRD, SECOND | TESTER | {"dut": FOURTH}]}, pairs=4
    )
    assert [port.interface for port in plan.testbed.engine_ports.of_cables] == ["a", "b", "a3", "b3"]  # type: ignore[union-attr]
    (tester,) = plan.testbed.further_testers
    assert [*tester.pairs] == [1, 3]
    assert [port.interface for port in tester.ports.of_cables] == ["a", "b", "a2", "b2"]
    assert (str(tester.location), tester.location.cores, tester.location.engine) == (
        "the tester root@b",
        [2],
        "natxy-engine",
    )
    assert resolve(plan).experiments[0].pair_count == 4


@pytest.mark.parametrize(
    ("testbed", "second", "why"),
    [
        ({}, {"tester": {"ssh": "root@b", "cores": 3}}, "the tester root@b has one engine; give its pairs the same"),
        ({}, {"tester": {"ssh": "admin@b", "cores": 2}}, "the tester admin@b has one engine"),
        (
            {},
            {"tester": {"ssh": {"host": "b", "user": "root", "connect_timeout": "3s"}, "cores": 2}},
            "the tester root@b has one engine",
        ),
        ({"dut": {"left": "c", "right": "d", "ssh": "b"}}, TESTER, "the tester root@b is the DUT"),
        ({}, TESTER | {"right": SECOND["left"]}, "more_pairs[1].right is a port that another place has already"),
        (
            {"tester_cores": {side: {"send": 0, "receive": 0} for side in ("left", "right")}},
            TESTER,
            "tester_cores: the cores of each task are those of a single tester",
        ),
    ],
)
def test_a_tester_has_one_engine_and_ports_of_its_own(
    testbed: dict[str, Any], second: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why.replace("[", r"\[").replace("]", r"\]")):
        plan_of(CABLED | testbed | {"more_pairs": [SECOND | TESTER, THIRD | second]})
