# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    PortField,
    StreamKind,
    StreamSpec,
    TrialRequest,
)
from natxy.plan.model.terms import Family, Order, Selection
from natxy_siitperf.arguments import ArgumentError, parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from natxy_siitperf.sides import initiator
from natxy_siitperf.trial.neighbors import neighbors_request
from natxy_siitperf.trial.requests import Limits, establish_request, trial_request
from tests.support.siitperf_confs import conf_text

PHASE1 = "4000 4000 1000 500 5000"


def request(
    name: str, arguments: str, program: Program = Program.THROUGHPUT, changed: dict[str, str | None] | None = None
) -> TrialRequest:
    conf = parse_conf(conf_text(name, **(changed or {})))
    return trial_request(conf, parse_arguments(program, arguments.split(), conf), 7, Limits())


def streams(*given: object, **named: object) -> dict[str, StreamSpec]:
    return {stream.name: stream for stream in request(*given, **named).streams}  # type: ignore[arg-type]


def established(name: str, arguments: str, **changed: str | None) -> TrialRequest:
    conf = parse_conf(conf_text(name, **changed))
    parsed = parse_arguments(Program.THROUGHPUT, arguments.split(), conf)
    first = initiator(conf)
    assert parsed.phase1
    assert first
    return establish_request(conf, parsed, parsed.phase1, first, 7, Limits())


def test_siit_has_the_families_and_sizes_of_each_side() -> None:
    found = streams("siit", "128 1000 10 2000 2 2")
    forward, reverse = found["Forward"], found["Reverse"]
    assert (forward.source, reverse.source) == (Side.LEFT, Side.RIGHT)
    assert (forward.frame.size, forward.arrives_as) == (128, Family.IPV4)
    assert (reverse.frame.size, reverse.arrives_as) == (108, Family.IPV6)
    assert forward.frame.ttl == reverse.frame.ttl == 10
    assert forward.flows
    assert reverse.flows
    assert str(forward.flows.source_address.address) == "2001:2::2"
    assert str(forward.flows.destination_address.address) == "2001:2:0:1000::2"
    assert str(reverse.flows.source_address.address) == "198.19.0.2"
    assert str(reverse.flows.destination_address.address) == "198.18.0.2"
    assert forward.flows.source_port == PortField(min=1024, max=65_535)
    assert (forward.frames, forward.rate_fps) == (10_000, 1000)


@pytest.mark.parametrize(
    ("program", "last"), [(Program.THROUGHPUT, ""), (Program.LATENCY, "0 10"), (Program.PDV, "700")]
)
@pytest.mark.parametrize(("name", "phase1"), [("siit", ""), ("nat64", PHASE1)])
def test_frames_of_traffic_have_gto_to_arrive(program: Program, last: str, name: str, phase1: str) -> None:
    assert request(name, f"84 1000 1 1500 2 2 {phase1} {last}", program).drain_s == 1.5


def test_more_frames_than_32_bits_count() -> None:
    assert streams("router-many", "84 14880952 3600 2000 2 2")["Forward"].frames == 53_571_427_200


def test_each_side_has_offsets_of_its_own() -> None:
    changed: dict[str, str | None] = {"IPv4_R_offset": "1", "IP_L_var": "1", "IP_R_var": "2"}
    forward = streams("router-many", "84 1000 1 0 2 2", changed=changed)["Forward"]
    assert forward.flows
    assert forward.flows.source_address == AddressField(
        address=ip_address("198.18.0.2"), low_bit=0, min=2, max=65_534, order=Order.INCREASING
    )
    assert forward.flows.destination_address == AddressField(
        address=ip_address("198.0.2.2"), low_bit=8, min=2, max=65_534, order=Order.DECREASING
    )


@pytest.mark.parametrize("program", [Program.PDV, Program.LATENCY])
def test_reverse_frames_of_every_program_have_the_ports_of_their_direction(program: Program) -> None:
    last = "0" if program is Program.PDV else "0 10"
    changed: dict[str, str | None] = {"Rev_dport_min": "53", "Rev_dport_max": "99", "Rev_var_sport": "0"}
    reverse = streams("pdv", f"84 1000 1 0 2 2 {last}", program, changed=changed)["Reverse"]
    assert reverse.flows
    assert (reverse.flows.source_port, reverse.flows.destination_port) == (
        PortField(min=49_184, max=49_184),
        PortField(min=53, max=99),
    )


@pytest.mark.parametrize(("timeout_ms", "timeout_s"), [(0, None), (100, 0.1)])
def test_the_frames_of_both_kinds_have_the_frame_timeout(timeout_ms: int, timeout_s: float | None) -> None:
    found = request("siit", f"84 1000 1 500 10 7 {timeout_ms}", Program.PDV)
    assert len(found.streams) == 4
    assert {stream.frame_timeout_s for stream in found.streams} == {timeout_s}
    assert found.delay_histogram is (timeout_s is None)


@pytest.mark.parametrize(("n", "m", "frames"), [(10, 7, 1000), (10, 7, 1003), (10, 7, 1009), (2, 1, 3), (1000, 1, 999)])
def test_foreground_and_background_have_their_exact_numbers(n: int, m: int, frames: int) -> None:
    found = request("siit", f"84 {frames} 1 0 {n} {m}")
    foreground = [frame for frame in range(frames) if frame % n < m]
    of = [stream for stream in found.streams if stream.source is Side.LEFT]
    native = [stream for stream in of if "background" in stream.name]
    assert sum(stream.frames for stream in of) == frames
    assert sum(stream.frames for stream in of if stream not in native) == len(foreground)
    assert len(found.streams) <= 8
    for stream in native:
        assert stream.interleaved_with in {each.name for each in of if each not in native}
        assert stream.flows
        assert str(stream.flows.destination_address.address) == "2001:2:0:8000::2"
        assert stream.frame.size == 84


def test_background_alone_and_cycles_that_are_too_long() -> None:
    (forward, reverse) = request("siit", "84 100 1 0 2 0").streams
    assert (forward.name, reverse.name, forward.frames) == ("Forward background", "Reverse background", 100)
    assert forward.interleaved_with is None
    with pytest.raises(ArgumentError, match="n is 1001, and natxy mixes at most 1000 frames"):
        request("siit", "84 100 1 0 1001 1000")


def test_tags_are_spread_over_the_time_after_the_delay() -> None:
    tagged = streams("siit", "84 1000 10 0 2 2 4 100", Program.LATENCY)["Forward"].tagged
    assert tagged
    assert (tagged.first, tagged.stride, tagged.count) == (4000, 60, 100)
    mixed = streams("siit", "84 1000 10 0 10 5 4 3000", Program.LATENCY)["Forward"].tagged
    assert mixed
    assert (mixed.first, mixed.stride, mixed.count) == (2000, 1, 3000)


@settings(deadline=None)
@given(
    rate=st.integers(1, 400), duration=st.integers(2, 4), n=st.integers(2, 12), m=st.integers(1, 12),
    delay=st.integers(0, 1), tags=st.integers(1, 300),
)  # fmt: skip
def test_a_direction_has_its_tags_once_each(rate: int, duration: int, n: int, m: int, delay: int, tags: int) -> None:
    arguments = f"84 {rate} {duration} 0 {n} {m} {delay} {tags}"
    foreground = [frame for frame in range(rate * duration) if frame % n < m]
    first = len(foreground) * delay // duration
    if tags > (duration - delay) * rate:
        return
    if tags > len(foreground) - first:
        with pytest.raises(ArgumentError, match=f"timestamps is {tags}, and {len(foreground) - first} foreground"):
            streams("siit", arguments, Program.LATENCY)
        return
    found = streams("siit", arguments, Program.LATENCY)
    begin, numbers = 0, []
    for stream in (found["Forward"], found.get("Forward rest")):
        if stream and stream.tagged:
            own = [stream.tagged.first + each * stream.tagged.stride for each in range(stream.tagged.count)]
            assert 0 <= own[0] <= own[-1] < stream.frames
            numbers += [begin + number for number in own]
        begin += stream.frames if stream else 0
    stride = (len(foreground) - first) // tags
    assert numbers == [first + each * stride for each in range(tags)]


def test_an_incomplete_last_cycle_is_judged_by_the_whole_duration() -> None:
    request_ = request("siit", "84 403 3 0 10 7")
    assert {"Forward rest", "Forward background rest"} - {stream.name for stream in request_.streams} == set()
    assert request_.limits.overrun_floor_s == pytest.approx(3e-5)


def test_phase_1_enumerates_the_ranges_whatever_the_var_keys_say() -> None:
    phase1 = established("nat64", f"84 1000 10 2000 2 2 {PHASE1}", Enumerate_ports="2", Fwd_var_sport="0")
    stream = phase1.streams[0]
    assert (stream.selection, stream.frames, stream.rate_fps) == (Selection.ENUMERATE, 4000, 1000)
    assert stream.flows
    assert stream.flows.source_port == PortField(min=1, max=40_000, order=Order.DECREASING)
    assert stream.flows.destination_port == PortField(min=1, max=100, order=Order.DECREASING)
    assert (phase1.drain_s, stream.arrives_as) == (0.5, Family.IPV4)


def test_phase_1_enumerates_addresses() -> None:
    stream = established("nat64-many", f"84 1000 10 2000 2 2 {PHASE1}").streams[0]
    assert stream.flows
    assert (stream.flows.source_address.size, stream.flows.destination_address.size) == (4000, 1000)
    assert stream.flows.size == 4_000_000
    assert stream.flows.source_address.low_bit == 16


def test_phase_2_draws_for_the_initiator_and_replies_for_the_responder() -> None:
    found = streams("nat64", f"84 1000 10 2000 2 2 {PHASE1}", changed={"Responder_tuples": "2"})
    assert (found["Forward"].kind, found["Forward"].selection) == (StreamKind.FLOWS, Selection.RANDOM)
    reverse = found["Reverse"]
    assert (reverse.kind, reverse.order, reverse.flows, reverse.frame.size) == (
        StreamKind.REPLIES, Order.DECREASING, None, 64,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("traffic", "directions"), [("1 1", {}), ("1000 10", {"Forward": "0", "Reverse": "0"})], ids=["a frame", "none"]
)
def test_phase_1_has_no_background_where_it_is_what_is_measured(traffic: str, directions: dict[str, str]) -> None:
    """A script for the connection rate compares what was received with N, which includes background."""
    changed = {"IPv6_R_Real": "2001:2:0:8000::2", **directions}
    with pytest.raises(ArgumentError, match=r"m is 1, less than n, 2, .* never count all 4000 .* give m = n"):
        established("nat64", f"84 {traffic} 2000 2 1 4000 2000 1000 500 5000", **changed)
    # None of so few frames is background.
    whole = established("nat64", f"84 {traffic} 2000 5000 4999 4000 2000 1000 500 5000", **changed)
    assert whole.streams[0].frames == 4000
    # A search over connections reads the lines of its traffic.
    with_traffic = established("nat64", "84 1000 10 2000 2 1 4000 2000 1000 500 5000", IPv6_R_Real="2001:2:0:8000::2")
    assert with_traffic.streams[0].frames == 2000


def test_phase_1_draws_if_nothing_enumerates() -> None:
    stream = established("nat64", f"84 1000 10 2000 2 2 {PHASE1}", Enumerate_ports="0", Fwd_var_dport="1").streams[0]
    assert stream.selection == Selection.RANDOM
    assert stream.flows
    assert stream.flows.source_port == PortField(min=1, max=40_000)
    assert stream.flows.destination_port == PortField(min=1, max=100, order=Order.INCREASING)


@pytest.mark.parametrize(("tuples", "table", "active"), [("0", 4000, 1), ("1", 4000, 4000), ("3", 70, 70)])
def test_replies_are_of_the_connections_in_the_table(tuples: str, table: int, active: int) -> None:
    arguments = f"84 1000 10 2000 2 2 4000 {table} 1000 500 5000"
    reverse = streams("nat64", arguments, changed={"Responder_tuples": tuples})["Reverse"]
    assert (reverse.kind, reverse.active_connections) == (StreamKind.REPLIES, active)


def test_neighbors_have_the_macs_of_the_configuration_and_answer_for_every_host() -> None:
    conf = parse_conf(conf_text("router-many"))
    arguments = parse_arguments(Program.THROUGHPUT, ["84", "1000", "10", "2000", "2", "2"], conf)
    left, right = neighbors_request(conf, arguments).neighbors
    assert (left.gateway, left.gateway_mac) == (None, "02:00:00:00:00:11")
    assert right.gateway_mac == "02:00:00:00:01:11"
    answers = left.answers
    assert sum(network.num_addresses for network in answers) == 65_533
    assert not any(ip_address("198.18.0.1") in network for network in answers)
    assert any(ip_address("198.18.255.254") in network for network in answers)


def test_the_tester_answers_for_a_host_in_each_network() -> None:
    conf = parse_conf(conf_text("router-many", IP_L_var="0", IP_R_var="0", Num_L_Nets="3", IPv4_L_Real="198.18.9.2"))
    arguments = parse_arguments(Program.THROUGHPUT, ["84", "1000", "10", "2000", "2", "2"], conf)
    left, right = neighbors_request(conf, arguments).neighbors
    assert str(left.address) == "198.18.9.2"
    for number in range(3):
        assert any(ip_address(f"198.18.{number}.2") in network for network in left.answers)
    assert [str(network) for network in right.answers] == ["198.19.0.2/32"]


def test_the_responder_of_a_nat64_answers_for_the_address_in_the_prefix() -> None:
    conf = parse_conf(conf_text("nat64"))
    arguments = parse_arguments(Program.THROUGHPUT, f"84 1000 10 2000 2 2 {PHASE1}".split(), conf)
    left, right = neighbors_request(conf, arguments).neighbors
    assert (str(left.address), str(right.address)) == ("2001:2::2", "198.19.0.2")


def test_the_tester_answers_for_addresses_that_vary_where_it_knows_the_bytes() -> None:
    """siitperf answers for none, and so asks for no offset of addresses that none of its frames is sent from or to."""
    nat64 = parse_conf(conf_text("nat64-many", IPv4_R_Real="198.19.0.2", IPv4_R_offset=None))
    arguments = parse_arguments(Program.THROUGHPUT, f"84 1000 10 2000 2 2 {PHASE1}".split(), nat64)
    _, right = neighbors_request(nat64, arguments).neighbors
    assert any(ip_address("198.19.3.233") in network for network in right.answers)
    varying: dict[str, str | None] = {"IP_R_var": "3", "IP_R_min": "2", "IP_R_max": "9", "IPv6_R_offset": "14"}
    one_way = parse_conf(conf_text("siit", Reverse="0", **varying))
    arguments = parse_arguments(Program.THROUGHPUT, ["84", "1000", "10", "2000", "2", "2"], one_way)
    assert [each.side for each in neighbors_request(one_way, arguments).neighbors] == [Side.LEFT]


def test_background_needs_a_neighbor_of_its_own() -> None:
    conf = parse_conf(conf_text("siit"))
    arguments = parse_arguments(Program.THROUGHPUT, ["84", "1000", "10", "2000", "2", "1"], conf)
    neighbors = neighbors_request(conf, arguments).neighbors
    assert [(each.side, each.address.version) for each in neighbors] == [
        (Side.LEFT, 6), (Side.RIGHT, 4), (Side.RIGHT, 6),
    ]  # fmt: skip
