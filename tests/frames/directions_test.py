# SPDX-License-Identifier: Apache-2.0
"""Tests captured frames of plans whose directions differ in ports, orders or connections."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from scapy.packet import Packet

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Order
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request, validate_request
from tests.support import needs
from tests.support.captured_frames import FourTuple, judge, signature_of, swapped, tuple_of
from tests.support.nat_bed import NatBed, all_arrived, all_captured, nat_bed, patiently
from tests.support.undisturbed import repeated

pytestmark = needs.LAB

RATE_FPS = 5000.0
TTL = 64
CONNECTIONS = 50
STATEFUL: dict[str, Any] = {"gateway": "nftables", "connections": CONNECTIONS, "phase1_rate": "5k"}


def experiment_of(**fields: Any) -> Experiment:
    own = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
    timing = {"timing": {"preset": "lab", "trial": "40ms"}}
    return resolve(Plan.model_validate({"name": "p", "experiments": [own | timing | fields]})).experiments[0]


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatBed]:
    experiment = experiment_of(**STATEFUL)
    with nat_bed(experiment.address_plan, tmp_path_factory.mktemp("engine"), neighbors_request(experiment)) as opened:
        yield opened


def in_order(frames: list[Packet], experiment: Experiment, side: Side) -> list[FourTuple]:
    """Judges the frames and returns their four-tuples by sequence number, from 0 without a gap."""
    for frame in frames:
        judge(frame, experiment.family, experiment.frame_size, side, ttl=TTL)
    return by_sequence(frames)


def by_sequence(frames: list[Packet]) -> list[FourTuple]:
    tuples = {signature_of(frame).sequence: tuple_of(frame) for frame in frames}
    assert sorted(tuples) == list(range(len(frames)))
    return [tuples[sequence] for sequence in range(len(frames))]


def established(bed: NatBed, experiment: Experiment) -> tuple[list[FourTuple], list[FourTuple]]:
    """Runs phase 1; returns the four-tuples that the initiator sent, and those that the responder received."""
    bed.gateway.clear()
    request = patiently(establish_request(experiment, RATE_FPS, seed=1))
    with bed.sent(Side.LEFT) as offered, bed.forwarded(Side.RIGHT) as translated:
        result = bed.engine.run_trial(request)
    all_arrived(result)
    assert result.established == experiment.connections
    return in_order(offered, experiment, Side.LEFT), by_sequence(translated)


def phase_2(bed: NatBed, experiment: Experiment) -> tuple[list[FourTuple], list[FourTuple]]:
    """Runs phase 2; returns the four-tuples that initiator and responder sent."""
    request = patiently(traffic_request(experiment, RATE_FPS, seed=2))
    with bed.sent(Side.LEFT) as left, bed.sent(Side.RIGHT) as right:
        result = bed.engine.run_trial(request)
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    return in_order(left, experiment, Side.LEFT), in_order(right, experiment, Side.RIGHT)


@pytest.mark.parametrize("initiator", list(Order))
@repeated
def test_initiator_and_responder_have_orders_of_their_own(bed: NatBed, initiator: Order) -> None:
    orders = {"initiator": initiator, "state_table": Order.DECREASING}
    experiment = experiment_of(**STATEFUL, orders=orders)
    offered, seen = established(bed, experiment)
    forward, reverse = phase_2(bed, experiment)
    assert reverse == [*map(swapped, reversed(seen))] * 4
    if initiator == Order.PSEUDORANDOM:
        assert forward == forward[:CONNECTIONS] * 4
        assert sorted(forward[:CONNECTIONS]) == sorted(offered)
        assert forward[:CONNECTIONS] not in (offered, offered[::-1])
    else:
        assert forward == (offered if initiator == Order.INCREASING else offered[::-1]) * 4


@repeated
def test_a_phase_1_that_draws_its_four_tuples_repeats_some(bed: NatBed) -> None:
    own = STATEFUL | {"ports": {"source": "1000-1004", "destination": "80-85"}, "connections": 200}
    experiment = experiment_of(**own, phase1_selection="random")
    offered, seen = established(bed, experiment)
    space = set(itertools.product(range(1000, 1005), range(80, 86)))
    # With 200 draws, one of the 30 four-tuples is left out once in 28 times; the seed is one of the others.
    assert {(source, destination) for _, _, source, destination in offered} == space
    assert bed.gateway.count() == len(set(offered)) == len(set(seen)) == 30
    assert round(experiment.distinct_connections or 0) == 30
    # Frames with the same four-tuple use the same connection, also behind the gateway.
    assert len(set(zip(offered, seen, strict=True))) == 30
    validation = patiently(validate_request(experiment, RATE_FPS, seed=4))
    with bed.sent(Side.RIGHT) as replies:
        validated = bed.engine.run_trial(validation)
    all_arrived(validated)
    assert validated.verdict == Verdict.PASS
    assert sorted(in_order(replies, experiment, Side.RIGHT)) == sorted(map(swapped, seen))
    forward, reverse = phase_2(bed, experiment)
    assert (sorted(forward), sorted(reverse)) == (sorted(offered), sorted(map(swapped, seen)))
    assert bed.gateway.count() == 30


@repeated
def test_replies_may_come_from_a_single_connection(bed: NatBed) -> None:
    experiment = experiment_of(**STATEFUL, active_connections={"forward": 20, "reverse": 1})
    offered, seen = established(bed, experiment)
    forward, reverse = phase_2(bed, experiment)
    assert sorted(forward) == sorted(offered[:20] * 10)
    assert reverse == [swapped(seen[0])] * 200
    assert bed.gateway.count() == CONNECTIONS


@repeated
def test_each_direction_has_its_own_ports_in_its_own_orders(bed: NatBed) -> None:
    """The gateway drops the frames from the right, which belong to no connection, so only their sending is judged."""
    links = {side: getattr(bed.links, side).model_dump(mode="json") for side in ("left", "right")}
    experiment = experiment_of(
        addresses=links,
        ports={"source": "1000-1006", "destination": 80, "reverse": {"source": 53, "destination": "5000-5010"}},
        orders={"source_port": "increasing", "reverse": {"destination_port": "decreasing"}},
    )
    request = patiently(traffic_request(experiment, RATE_FPS, seed=3))
    with bed.sent(Side.LEFT) as left, bed.sent(Side.RIGHT) as right:
        bed.engine.run_trial(request)
    for frames in (left, right):
        all_captured(frames, 200)
    forward, reverse = in_order(left, experiment, Side.LEFT), in_order(right, experiment, Side.RIGHT)
    assert len(forward) == len(reverse) == 200
    near, far = str(bed.links.left.tester.ip), str(bed.links.right.tester.ip)
    assert forward == [(near, far, 1000 + number % 7, 80) for number in range(200)]
    assert reverse == [(far, near, 53, 5010 - number % 11) for number in range(200)]
