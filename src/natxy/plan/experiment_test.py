# SPDX-License-Identifier: Apache-2.0
"""Tests what is derived from an experiment's settings."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.experiment import Experiment
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.problems import PlanProblems
from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import ActiveConnections
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

THROUGHPUT: dict[str, Any] = {"procedure": "throughput", "search": {"max_rate": "1M"}}
RATE = THROUGHPUT | {"procedure": "connection-rate", "connections": 600}
PHASE2 = THROUGHPUT | {"connections": 600, "phase1_rate": 100}
TEAR_DOWN: dict[str, Any] = {"procedure": "tear-down-rate", "connections": 600, "phase1_rate": 100}


def resolved(own: dict[str, Any], **fields: Any) -> Experiment:
    whole = {"name": "x", "gateway": "simulated"} | own | fields
    head = {"name": "p", "testbed": {"kind": "simulated"}}
    return resolve(Plan.model_validate(head | {"experiments": [whole]})).experiments[0]


@pytest.mark.parametrize(("size", "mtu"), [(64, 1500), (1518, 1500), (1519, 1501), (9216, 9198)])
def test_links_have_the_usual_mtu_or_that_of_the_longest_frame(size: int, mtu: int) -> None:
    assert resolved(THROUGHPUT, frame_size=size).address_plan.mtu == mtu


def test_the_longest_frame_may_be_one_of_the_background() -> None:
    own = resolved(THROUGHPUT, translation="siit", background={"share": "10%", "frame_size": 2018})
    assert own.address_plan.mtu == 2000
    assert own.turn_frames == 10
    assert resolved(THROUGHPUT).turn_frames == 1


@pytest.mark.parametrize(
    ("own", "uses", "makes"),
    [
        (THROUGHPUT, False, False),
        (PHASE2, True, True),
        (RATE, True, True),
        ({"procedure": "tcp-goodput"}, False, True),
    ],
)
def test_connections_are_made_by_the_tester_or_by_hosts(own: dict[str, Any], uses: bool, makes: bool) -> None:
    experiment = resolved(own)
    assert (experiment.uses_connections, experiment.makes_connections) == (uses, makes)


def search(**fields: Any) -> dict[str, Any]:
    return {"search": {"max_rate": "1M"} | fields}


@pytest.mark.parametrize(
    ("fields", "mark"),
    [
        ({}, ""),
        (search(kind="mlrsearch", goal="strict"), ""),
        (search(kind="mlrsearch", goal="robust"), " (non-RFC: some trials may fail)"),
        ({"timing": "lab"}, " (non-RFC: some trials may fail)"),
        ({"timing": "lab"} | search(kind="binary"), ""),
        ({"loss_tolerance": "0.01%"}, " (non-RFC: up to 0.01 % loss)"),
        (
            {"connections": "10k", "phase1_rate": "1k", "phase1_loss": "0.01%"},
            " (non-RFC: up to 1 connection missing)",
        ),
        (
            {"loss_tolerance": {"forward": "0.01%"}} | search(kind="mlrsearch", goal="robust"),
            " (non-RFC: some trials may fail, up to 0.01 % forward, 0 % reverse loss)",
        ),
    ],
)
def test_a_result_whose_search_allows_loss_is_marked(fields: dict[str, Any], mark: str) -> None:
    assert resolved(THROUGHPUT, **fields).non_rfc == mark


PORTS = {"source": "1-20", "destination": "1-30"}


def test_endpoints_are_addresses_and_ports_but_no_more_than_connections() -> None:
    hosts = {"left_hosts": {"first": "198.18.1.0", "last": "198.18.1.1"}, "right_hosts": "198.19.1.0/29"}
    own = resolved(THROUGHPUT, ports=PORTS, addresses=hosts)
    assert (own.left_endpoints, own.right_endpoints, own.flow_space_size) == (2 * 20, 6 * 30, 40 * 180)
    few, many = (resolved(RATE, ports=PORTS, addresses=hosts, connections=count) for count in (39, 41))
    assert (few.left_endpoints, many.left_endpoints) == (39, 40)


def test_one_flow_is_the_first_or_one_connection() -> None:
    hosts = {"left_hosts": "198.18.1.0/29", "right_hosts": "198.19.1.0/29"}
    one = resolved(THROUGHPUT, ports=PORTS, addresses=hosts).with_one_flow()
    assert (one.flows, one.flow_space_size) == (1, 1)
    assert (str(one.addresses.left_hosts), one.ports.destination.max) == ("198.18.1.1", 1)
    assert resolved(PHASE2).with_one_flow().connections == 1


def test_one_flow_may_have_later_ports() -> None:
    first = resolved(THROUGHPUT, ports=PORTS).with_one_flow().ports
    third = resolved(THROUGHPUT, ports=PORTS).with_one_flow(2).ports
    assert (third.source.min, third.destination.min) == (first.source.min + 2, first.destination.min + 2)
    single = resolved(THROUGHPUT, ports={"source": "9-10", "destination": 7}).with_one_flow(2).ports
    assert (single.source.min, single.destination.min) == (9, 7)
    reverse = resolved(THROUGHPUT, ports=PORTS | {"reverse": {"destination": "1-7"}}).with_one_flow(2).ports.reverse
    assert reverse is not None
    assert (reverse.source.min, reverse.destination.min) == (first.source.min + 2, 3)


def test_the_ports_from_right_to_left_are_the_same_unless_the_plan_says_otherwise() -> None:
    assert resolved(THROUGHPUT, ports=PORTS).reverse_flow_space_size == 20 * 30
    own = resolved(THROUGHPUT, ports=PORTS | {"reverse": {"destination": "1-7"}})
    assert own.ports.in_reverse.source == own.ports.source
    assert (own.flow_space_size, own.reverse_flow_space_size) == (20 * 30, 20 * 7)
    one = own.with_one_flow()
    assert (one.flow_space_size, one.reverse_flow_space_size) == (1, 1)


def test_a_number_of_flows_is_that_of_both_directions() -> None:
    ports = PORTS | {"reverse": {"destination": "1-7"}}
    with pytest.raises(PlanProblems, match="addresses and ports give 140 four-tuples, not 600"):
        resolved(THROUGHPUT, ports=ports, flows=600)
    assert resolved(THROUGHPUT, ports=PORTS | {"reverse": {"source": "5-24"}}, flows=600).flows == 600


def test_the_connections_of_a_drawn_phase_1_are_those_that_differ_on_average() -> None:
    assert resolved(RATE).distinct_connections == 600
    assert resolved(THROUGHPUT).distinct_connections is None
    drawn = {"phase1_selection": "random", "ports": {"source": "1-600", "destination": 80}}
    assert resolved(RATE, **drawn).distinct_connections == pytest.approx(600 * (1 - (1 - 1 / 600) ** 600))
    turns = {"source_port": "increasing"}
    assert resolved(RATE, **drawn, orders=turns).distinct_connections == 600
    # There may be fewer four-tuples than frames.
    few = drawn | {"ports": PORTS | {"source": 7}}
    assert resolved(PHASE2, **few).distinct_connections == pytest.approx(30)


def test_where_connections_are_counted_phase_1_makes_each_once() -> None:
    with pytest.raises(PlanProblems, match="tear-down-rate counts connections"):
        resolved(PHASE2 | {"procedure": "tear-down-rate", "search": {}}, phase1_selection="random")
    with pytest.raises(PlanProblems, match="there is no phase 1 without `connections`"):
        resolved(THROUGHPUT, phase1_selection="random")


def test_phase_2_uses_connections_of_phase_1() -> None:
    assert resolved(PHASE2, active_connections=600).active_connections == ActiveConnections(forward=600, reverse=600)
    with pytest.raises(PlanProblems, match="600 connections, so that phase 2 cannot use 601"):
        resolved(PHASE2, active_connections={"reverse": 601})
    with pytest.raises(PlanProblems, match="there is no phase 2 without `connections`"):
        resolved(THROUGHPUT, active_connections=1)


def test_the_orders_from_right_to_left_replace_single_fields() -> None:
    orders = {"source_port": "increasing", "source_address": "decreasing", "reverse": {"source_port": "decreasing"}}
    own = resolved(THROUGHPUT, orders=orders).orders
    assert (own.source_port, own.in_reverse.source_port) == ("increasing", "decreasing")
    assert own.in_reverse.source_address == "decreasing"
    with pytest.raises(PlanProblems, match="is the order of connections in phase 2, and there are none"):
        resolved(THROUGHPUT, orders={"initiator": "increasing"})
    plain = resolved(THROUGHPUT).orders
    assert plain.in_reverse == plain


@pytest.mark.parametrize(
    ("own", "phase1_fps", "seconds"),
    [
        # 600 connections at 100 a second, 2 s of drain, 2 s of pause, 60 s of traffic and its drain.
        (PHASE2, 100, 6 + 2 + 2 + 60 + 2),
        (PHASE2, None, 60 + 2),
        # Without a search or a rate of phase 1, its length is unknown.
        (TEAR_DOWN, 100, 6 + 2),
        (TEAR_DOWN, None, 0),
        (THROUGHPUT, None, 60 + 2),
        (RATE | {"search": {"min_rate": 50, "max_rate": "1M"}}, None, 12 + 2),
        (
            RATE
            | {"procedure": "validated-connection-rate", "alpha": 0.25, "search": {"min_rate": 50, "max_rate": 90}},
            None,
            12 + 2 + 48 + 2,
        ),
    ],
)
def test_the_longest_trial_lasts_from_the_first_connection_to_its_last_frame(
    own: dict[str, Any], phase1_fps: float | None, seconds: float
) -> None:
    assert resolved(own).longest_trial_s(phase1_fps) == pytest.approx(seconds)


def test_a_decisive_trial_is_as_long_as_the_goal_says() -> None:
    search = {"kind": "mlrsearch", "max_rate": "1M", "goal": {"final_trial": "90s", "trials": 2}}
    own = resolved(THROUGHPUT, search=search)
    assert (own.deciding_trial_s, own.traffic_s, own.longest_trial_s(None)) == (90, 60, 92)
    assert resolved(THROUGHPUT).deciding_trial_s == 60


def test_only_a_procedure_with_settings_is_written_as_a_mapping() -> None:
    assert resolved(THROUGHPUT).model_dump(mode="json")["procedure"] == "throughput"
    bursts = {"procedure": {"name": "burst", "frames": 64}, "search": {"max_rate": "1M"}}
    assert resolved(bursts).model_dump(mode="json")["procedure"]["frames"] == 64


def test_the_smallest_frame_is_that_of_the_larger_header() -> None:
    assert [resolved(THROUGHPUT, family=family).smallest_frame for family in Family] == [64, 84]
    assert resolved(THROUGHPUT, translation="siit").smallest_frame == 84


def test_hosts_whose_ends_have_mappings_of_their_own_are_no_range_on_the_other_side() -> None:
    mappings = [
        {"ipv4": "198.18.5.0/31", "ipv6": "2001:2:0:1::10/127"},
        {"ipv4": "198.18.7.0/31", "ipv6": "2001:2:0:1::12/127"},
    ]
    own = resolved(
        THROUGHPUT,
        translation={"kind": "siit", "mappings": mappings},
        addresses={"left_hosts": {"first": "2001:2:0:1::10", "last": "2001:2:0:1::11"}},
    )
    assert str(own.right_destinations) == "198.18.5.0 to 198.18.5.1"
    wider = AddressRanges.model_validate({"first": "2001:2:0:1::10", "last": "2001:2:0:1::13"})
    addresses = own.addresses.model_copy(update={"left_hosts": wider})
    assert own.model_copy(update={"addresses": addresses}).right_destinations is None
