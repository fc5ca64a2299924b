# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.requests import PortField, StreamKind, StreamSpec
from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Form
from natxy.plan.model.terms import Family, Order, Selection
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.spoofing import spoofed
from natxy.procedures.common.streams import (
    ack_request,
    establish_request,
    lives_request,
    neighbors_request,
    syn_ack_request,
    traffic_request,
    validate_request,
)


def experiment(**fields: Any) -> Experiment:
    base = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
    return resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [base | fields]})).experiments[0]


NAT = {"gateway": "nftables", "procedure": "connection-rate", "connections": 60_000}


def test_stateless_traffic_runs_both_ways_between_swapped_hosts() -> None:
    forward, reverse = traffic_request(experiment(), 1000.4, seed=7).streams
    assert (forward.source, reverse.source) == (Side.LEFT, Side.RIGHT)
    assert forward.kind == reverse.kind == StreamKind.FLOWS
    assert forward.frames == reverse.frames == 500
    assert forward.selection == Selection.RANDOM
    assert forward.flows is not None
    assert reverse.flows is not None
    assert forward.flows.source_address.address == reverse.flows.destination_address.address
    assert forward.flows.destination_address.address == ip_address("198.19.0.2")
    assert (reverse.flows.source_port.min, reverse.flows.source_port.max) == (1024, 65535)


def segment(stream: StreamSpec) -> tuple[str, str, int, int]:
    """Returns what a stream's segments are: sender, control bits, sequence number, acknowledged number."""
    own = stream.frame.segment
    assert own is not None
    return own.sender.value, own.flags.value, own.sequence, own.acknowledged


def test_segments_of_tcp_come_from_the_side_that_sends_them() -> None:
    stateless = experiment(protocol="tcp")
    assert stateless.frame_size == 76
    assert [(s.frame.form, segment(s)) for s in traffic_request(stateless, 1000, seed=7).streams] == [
        (Form.TCP, ("initiator", "PA", 1, 1)), (Form.TCP, ("responder", "PA", 1, 1)),
    ]  # fmt: skip
    nat = experiment(**NAT, protocol="tcp", family="ipv6")
    assert nat.frame_size == 96
    for request, expected, kind, form, size in (
        (establish_request, ("initiator", "S", 0, 0), StreamKind.FLOWS, Form.TCP_OPTION, 106),
        (syn_ack_request, ("responder", "SA", 0, 1), StreamKind.REPLIES, Form.TCP_OPTION, 106),
        (ack_request, ("initiator", "A", 1, 1), StreamKind.CONNECTIONS, Form.TCP_OPTION, 106),
        (validate_request, ("responder", "PA", 1, 1), StreamKind.REPLIES, Form.TCP, 96),
    ):
        (stream,) = request(nat, 1000, 7).streams
        assert (segment(stream), stream.kind, stream.frames) == (expected, kind, 60_000)
        assert (stream.frame.form, stream.frame.size) == (form, size)


def test_a_side_acknowledges_what_the_other_has_sent_through_a_translation() -> None:
    nat64 = {"gateway": "tayga-netfilter", "procedure": "tcp-connection-rate", "connections": 1000, "protocol": "tcp"}
    for convention in ("paired", "nominal"):
        own = nat64 | {"translation": "nat64", "frame_size": 256, "size_convention": convention}
        request, response = (
            step for step in lives_request(experiment(**own), 1000, 7).streams if step.name in {"request", "response"}
        )
        assert request.frame.segment
        assert response.frame.segment
        sent = request.frame.longest - 78
        assert response.frame.segment.acknowledged == 1 + sent
        assert request.frame.segment.largest == 536


def test_each_connection_has_its_life_in_the_trial_that_opens_it() -> None:
    procedure = {"name": "tcp-connection-rate", "step": 0.1, "close": "reset", "response": 2}
    own = NAT | {"procedure": procedure, "protocol": "tcp", "frame_size": 158}
    opening, *steps = lives_request(experiment(**own), 1000, 7).streams
    assert (opening.role, segment(opening)) == (StreamRole.PHASE1, ("initiator", "S", 0, 0))
    assert {step.name: segment(step) for step in steps} == {
        "syn-ack": ("responder", "SA", 0, 1),
        "ack": ("initiator", "A", 1, 1),
        "request": ("initiator", "PA", 1, 1),
        "response 1 of 2": ("responder", "PA", 1, 101),
        "response 2 of 2": ("responder", "PA", 101, 101),
        "reset": ("initiator", "RA", 101, 201),
    }
    assert [step.frame.size for step in steps] == [86, 86, 158, 158, 158, 86]
    assert [step.start_s for step in steps] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    for step in steps:
        assert (step.rate_fps, step.frames, step.order) == (opening.rate_fps, opening.frames, Order.INCREASING)
        assert step.source == (Side.RIGHT if step.kind == StreamKind.REPLIES else Side.LEFT)


@pytest.mark.parametrize(("directions", "side"), [("forward", Side.LEFT), ("reverse", Side.RIGHT)])
def test_one_direction(directions: str, side: Side) -> None:
    streams = traffic_request(experiment(directions=directions), 1000, seed=7).streams
    assert [stream.source for stream in streams] == [side]


def test_each_direction_has_the_loss_that_it_tolerates() -> None:
    given = {"forward": "1%", "reverse": "2%"}
    forward, reverse = traffic_request(experiment(loss_tolerance=given), 1000, seed=7).streams
    assert (forward.max_loss_ratio, reverse.max_loss_ratio) == pytest.approx((0.01, 0.02))
    assert {stream.max_loss_ratio for stream in traffic_request(experiment(), 1000, seed=7).streams} == {0}


@pytest.mark.parametrize("own", [{}, {"gateway": "tayga", "translation": "siit", "background": "10%"}])
def test_every_stream_has_the_frame_timeout(own: dict[str, Any]) -> None:
    timed = experiment(procedure={"name": "throughput", "frame_timeout": "5ms"}, **own)
    assert {stream.frame_timeout_s for stream in traffic_request(timed, 1000, seed=7).streams} == {0.005}
    assert {stream.frame_timeout_s for stream in traffic_request(experiment(**own), 1000, seed=7).streams} == {None}


@pytest.mark.parametrize(("trial_s", "allowed_s"), [(2, 0.1), (0.05, 0.005)])
def test_the_last_frame_may_be_delayed_by_a_share_of_the_traffic(trial_s: float, allowed_s: float) -> None:
    timing = {"preset": "lab", "trial": trial_s, "max_backlog": "5%"}
    streams = traffic_request(experiment(timing=timing), 1000, seed=7).streams
    assert {stream.max_backlog_s for stream in streams} == {allowed_s}
    # A burst is meant to fill buffers.
    burst = experiment(timing=timing, procedure={"name": "burst", "frames": 10})
    assert {stream.max_backlog_s for stream in traffic_request(burst, 1000, seed=7).streams} == {None}
    usual = experiment(timing={"preset": "rfc"})
    assert {stream.max_backlog_s for stream in traffic_request(usual, 1000, seed=7).streams} == {None}


def test_phase_2_takes_its_flows_from_phase_1() -> None:
    phase2 = experiment(gateway="nftables", connections=60_000, phase1_rate="10k")
    forward, reverse = traffic_request(phase2, 1000, seed=7).streams
    assert (forward.kind, reverse.kind) == (StreamKind.CONNECTIONS, StreamKind.REPLIES)
    assert forward.flows is None
    assert reverse.flows is None


def test_phase_1_enumerates_every_connection_once() -> None:
    stream = establish_request(experiment(**NAT), 5000, seed=7).streams[0]
    assert (stream.frames, stream.selection, stream.source) == (60_000, Selection.ENUMERATE, Side.LEFT)
    assert stream.flows is not None
    assert stream.flows.source_address.min is None
    ports = stream.flows
    space = (ports.source_port.max - ports.source_port.min + 1) * (
        ports.destination_port.max - ports.destination_port.min + 1
    )
    assert space == 60_000


def test_phase_1_may_draw_its_four_tuples() -> None:
    stream = establish_request(experiment(**NAT, phase1_selection="random"), 5000, seed=7).streams[0]
    assert (stream.frames, stream.selection) == (60_000, Selection.RANDOM)


@given(st.integers(2, 10**9), st.data())
def test_phase_1_may_lose_exactly_as_many_connections_as_the_plan_allows(connections: int, data: st.DataObject) -> None:
    missing = data.draw(st.integers(1, min(connections - 1, 10**6)))
    own = experiment(gateway="nftables", connections=60_000, phase1_rate="10k")
    own = own.model_copy(update={"connections": connections, "phase1_loss": missing})
    stream = establish_request(own, 5000, seed=7).streams[0]
    # As the engine rounds it.
    assert math.floor(stream.max_loss_ratio * stream.frames) == missing


def test_without_a_loss_of_its_own_phase_1_loses_nothing() -> None:
    own = experiment(gateway="nftables", connections=60_000, phase1_rate="10k", loss_tolerance="1%")
    assert establish_request(own, 5000, seed=7).streams[0].max_loss_ratio == 0


@pytest.mark.parametrize(
    ("family", "address", "low_bit", "low", "high"),
    [("ipv4", "10.0.1.0", 0, 0x0100, 0xFFFE), ("ipv6", "fd00:2:0:1::2", 16, 0, 0xFFFF)],
)
def test_varying_addresses(family: str, address: str, low_bit: int, low: int, high: int) -> None:
    flows = establish_request(experiment(**NAT, addresses="multiple", family=family), 5000, seed=7).streams[0].flows
    assert flows is not None
    source = flows.source_address
    assert (source.address, source.low_bit, source.min, source.max) == (ip_address(address), low_bit, low, high)


def test_orders_reach_their_fields() -> None:
    orders = {"source_port": "increasing", "state_table": "decreasing"}
    own = experiment(**NAT, orders=orders)
    flows = establish_request(own, 5000, seed=7).streams[0].flows
    assert flows is not None
    assert (flows.source_port.order, flows.destination_port.order) == ("increasing", "pseudorandom")
    assert validate_request(own, 5000, seed=7).streams[0].order == "decreasing"


def test_ports_and_orders_of_each_direction_reach_its_stream() -> None:
    ports = {"source": "1-9", "destination": 80, "reverse": {"source": 53, "destination": "700-799"}}
    orders = {"source_port": "increasing", "reverse": {"destination_port": "decreasing"}}
    forward, reverse = traffic_request(experiment(ports=ports, orders=orders), 1000, seed=7).streams
    assert forward.flows is not None
    assert reverse.flows is not None
    assert forward.flows.source_port == PortField(min=1, max=9, order=Order.INCREASING)
    assert forward.flows.destination_port == PortField(min=80, max=80)
    assert reverse.flows.source_port == PortField(min=53, max=53, order=Order.INCREASING)
    assert reverse.flows.destination_port == PortField(min=700, max=799, order=Order.DECREASING)


@pytest.mark.parametrize(
    ("orders", "initiator", "responder"),
    [
        ({}, "pseudorandom", "pseudorandom"),
        ({"state_table": "decreasing"}, "decreasing", "decreasing"),
        ({"initiator": "increasing"}, "increasing", "pseudorandom"),
        ({"initiator": "pseudorandom", "state_table": "decreasing"}, "pseudorandom", "decreasing"),
    ],
)
def test_initiator_and_responder_use_the_connections_in_orders_of_their_own(
    orders: dict[str, str], initiator: str, responder: str
) -> None:
    phase2 = experiment(gateway="nftables", connections=60_000, phase1_rate="10k", orders=orders)
    forward, reverse = traffic_request(phase2, 1000, seed=7).streams
    assert (forward.order, reverse.order) == (initiator, responder)
    assert validate_request(experiment(**NAT, orders=orders), 1000, seed=7).streams[0].order == responder


@pytest.mark.parametrize(
    ("active", "forward", "reverse"),
    [(None, None, None), ("1k", 1000, 1000), ({"reverse": 1}, None, 1), ({"forward": 7, "reverse": 9}, 7, 9)],
)
def test_phase_2_may_use_some_connections_only(active: Any, forward: int | None, reverse: int | None) -> None:
    phase2 = experiment(gateway="nftables", connections=60_000, phase1_rate="10k", active_connections=active)
    streams = traffic_request(phase2, 1000, seed=7).streams
    assert [stream.active_connections for stream in streams] == [forward, reverse]
    assert phase2.with_one_flow().active_connections is None


@pytest.mark.parametrize("directions", ["bidirectional", "forward", "reverse"])
def test_foreground_and_background_share_the_rate_and_the_frames(directions: str) -> None:
    streams = traffic_request(experiment(background="20%", directions=directions), 1000, seed=7).streams
    assert {stream.source for stream in streams} == {
        "bidirectional": {Side.LEFT, Side.RIGHT}, "forward": {Side.LEFT}, "reverse": {Side.RIGHT},
    }[directions]  # fmt: skip
    for own, native in zip(streams[::2], streams[1::2], strict=True):
        assert (own.rate_fps, native.rate_fps) == pytest.approx((800, 200))
        assert (own.frames, native.frames) == (400, 100)
        assert (native.name, native.interleaved_with) == (f"{own.name} background", own.name)
        assert (own.source, own.interleaved_with) == (native.source, None)
        assert (own.frame.size, native.frame.size) == (64, 84)
        assert native.flows is not None
        assert native.flows.source_address.address.version == 6
    of_left = [stream for stream in streams if stream.source == Side.LEFT]
    for stream in of_left[1:]:
        assert stream.flows is not None
        assert str(stream.flows.source_address.address) == "2001:2:0:4000::2"
        assert str(stream.flows.destination_address.address) == "2001:2:0:c000::2"
    nothing = experiment(background="0%", directions=directions)
    assert not any(stream.interleaved_with for stream in traffic_request(nothing, 1000, seed=7).streams)


@pytest.mark.parametrize(
    ("translation", "left", "right"),
    [("siit", (128, Family.IPV4), (108, Family.IPV6)), ("nat46", (108, Family.IPV6), (128, Family.IPV4))],
)
def test_each_side_sends_frames_of_its_own_family(
    translation: str, left: tuple[int, Family], right: tuple[int, Family]
) -> None:
    own = experiment(gateway="jool-siit", translation=translation, frame_size=128)
    found = [(stream.frame.size, stream.arrives_as) for stream in traffic_request(own, 1000, seed=7).streams]
    assert found == [left, right]
    assert {stream.arrives_as for stream in traffic_request(experiment(), 1000, seed=7).streams} == {None}


def test_timing_reaches_every_trial() -> None:
    own = experiment(**NAT, timing={"drain": "3s", "drain_ends_early": True, "max_pause": "4ms"})
    for request in (establish_request(own, 1, 1), validate_request(own, 1, 1), traffic_request(own, 1, 1)):
        assert request.drain_ends_early
        assert (request.drain_s, request.limits.max_pause_s, request.limits.overrun_floor_s) == (3, 0.004, 0.001)


def test_the_tester_answers_for_all_it_plays_but_not_for_the_gateway() -> None:
    left, right = neighbors_request(experiment()).neighbors
    assert (str(left.address), str(left.gateway), [str(net) for net in left.answers]) == (
        "198.18.0.2",
        "198.18.0.1",
        ["198.18.0.0/16"],
    )
    assert right.side == Side.RIGHT


def test_the_tester_has_a_neighbour_more_on_each_link_for_background_traffic() -> None:
    own = neighbors_request(experiment(background="10%")).neighbors
    assert [(each.side, str(each.address)) for each in own] == [
        (Side.LEFT, "198.18.0.2"), (Side.RIGHT, "198.19.0.2"),
        (Side.LEFT, "2001:2:0:4000::2"), (Side.RIGHT, "2001:2:0:c000::2"),
    ]  # fmt: skip


def test_a_list_of_networks_is_one_field_in_several_addresses() -> None:
    addresses = {
        "right": {"dut": "198.19.0.1/24", "tester": "198.19.0.2/24", "behind": ["198.19.0.0/16", "10.7.0.0/16"]},
        "right_hosts": ["198.19.4.0/24", "10.7.0.0/24"],
        "left_hosts": ["198.18.0.2", "198.18.0.9"],
    }
    forward, reverse = traffic_request(experiment(addresses=addresses), 1000, seed=7).streams
    assert forward.flows is not None
    assert reverse.flows is not None
    to, own = forward.flows.destination_address, forward.flows.source_address
    assert (to.address, to.others, to.min, to.max, to.size) == (
        ip_address("198.19.4.1"),
        [ip_address("10.7.0.1")],
        1,
        254,
        508,
    )
    assert (own.address, own.others, own.min, own.size) == (
        ip_address("198.18.0.2"),
        [ip_address("198.18.0.9")],
        None,
        2,
    )
    assert reverse.flows.source_address == to


CORE: dict[str, Any] = {"driver": "chain", "gateways": ["tester", "softwire"]}
AFTR: dict[str, Any] = {"driver": "chain", "gateways": ["tester", {"driver": "reference", "mode": "nat"}]}


def test_the_ends_of_a_table_are_numbered_by_address_and_psid() -> None:
    lines = "".join(f"198.18.128.{a},{p},fd00:2:7::{a}{p}\n" for a in (3, 4) for p in (1, 0))
    own = {"table": f"ipv4,psid,b4\n{lines}", "offset": 4, "core": "fd00:2:5::1"}
    forward, reverse = traffic_request(experiment(gateway=CORE, subscribers=own), 1000, seed=7).streams
    softwire = forward.frame.softwire
    assert softwire == reverse.frame.softwire
    assert softwire
    assert softwire.table
    rule = softwire.subscribers
    assert (str(softwire.core), rule.ports.lowest, rule.identifier) == ("fd00:2:5::1", 4096, False)
    for address, port, end in ((3, 0x1000, "30"), (3, 0x1800, "31"), (4, 0x17FF, "40"), (4, 0xFFFF, "41")):
        number = (address & rule.address_mask) << rule.address_shift
        number += (port >> rule.psid_drop & rule.psid_mask) << rule.psid_shift
        assert str(softwire.table[number]) == f"fd00:2:7::{end}"
    assert forward.flows
    assert (forward.flows.source_address.size, forward.flows.source_port.min) == (2, 4096)


def test_spoofed_frames_of_a_table_have_another_subscribers_end() -> None:
    own = {"table": "ipv4,psid,b4\n" + "".join(f"198.18.128.{a},0,fd00:2:7::{a}\n" for a in range(3))}
    [stream, _] = traffic_request(experiment(gateway=CORE, subscribers=own), 1000, seed=7).streams
    other = spoofed(stream).frame.softwire
    assert other
    assert other.table
    # The last number is nobody's.
    assert [str(each) for each in other.table] == ["fd00:2:7::1", "fd00:2:7::2", "fd00:2:7::", "::"]
    alone = {"table": "ipv4,psid,b4\n198.18.128.1,0,fd00:2:7::1\n"}
    [stream, _] = traffic_request(experiment(gateway=CORE, subscribers=alone), 1000, seed=7).streams
    other = spoofed(stream).frame.softwire
    assert other
    assert [str(each) for each in other.table or ()] == ["fd00:2:7::1:1"]


def test_spoofed_frames_of_map_t_have_the_address_of_the_other_subscriber_of_a_pair() -> None:
    own = {"ipv4": "198.18.128.0/30", "ipv6": "fd00:2:6::/56", "ea_length": 6, "offset": 0}
    gateway = {"driver": "chain", "gateways": ["tester", "map-t"]}
    [stream, _] = traffic_request(experiment(gateway=gateway, subscribers=own), 1000, seed=7).streams
    false = spoofed(stream)
    assert stream.frame.mapping
    assert false.frame.mapping
    assert false.frame.mapping.subscribers == stream.frame.mapping.subscribers.model_copy(update={"psid_xor": 1})
    assert (false.role, false.frame.softwire) == (StreamRole.SPOOFED, None)


@pytest.mark.parametrize(
    ("ends", "others"),
    [("1122", "2211"), ("1121", "2212"), ("1212", "2121"), ("1231", "2312"), ("11", ["1:1", "1:1"])],
)
def test_no_spoofed_frame_has_its_own_end_where_subscribers_have_several(ends: str, others: list[str]) -> None:
    lines = "".join(f"198.18.128.{number},0,fd00:2:7::{end}\n" for number, end in enumerate(ends))
    own = {"table": f"ipv4,psid,b4\n{lines}"}
    [stream, _] = traffic_request(experiment(gateway=CORE, subscribers=own), 1000, seed=7).streams
    other = spoofed(stream).frame.softwire
    assert other
    assert [str(each) for each in other.table or ()] == [f"fd00:2:7::{end}" for end in others]


def test_homes_have_one_address_and_are_numbered_by_their_softwires() -> None:
    homes = {"inner": "192.168.1.2", "count": 1000}
    own = experiment(gateway=AFTR, subscribers=homes, connections=2000, phase1_rate="1k")
    [stream] = establish_request(own, 1000, seed=7).streams
    softwire = stream.frame.softwire
    assert softwire
    assert (str(softwire.inner_address), softwire.subscribers.identifier, softwire.subscribers.psid_mask) == (
        "192.168.1.2", True, 0,
    )  # fmt: skip
    assert stream.flows
    assert stream.flows.source_address.size == 1000


def test_only_packets_of_a_nat_may_lack_a_checksum() -> None:
    [forward, reverse] = traffic_request(experiment(gateway=CORE), 1000, seed=7).streams
    homes = experiment(gateway=AFTR, subscribers={}, connections=2000, phase1_rate="1k")
    [of_nat] = establish_request(homes, 1000, seed=7).streams
    taken = [stream.frame.softwire and stream.frame.softwire.may_lack_checksum for stream in (forward, reverse, of_nat)]
    assert taken == [False, False, True]
