# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6PacketTooBig, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamKind, TrialRequest
from natxy.engine.messages.results import ForeignSample, TrialResult
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.probe.frames import FRAMES, passages, send_probes
from natxy.probe.observed import Refusal


def experiment(**settings: Any) -> Experiment:
    written = {"name": "x", "procedure": "throughput", "gateway": "simulated", "search": {"max_rate": "1M"}} | settings
    written = {field: value for field, value in written.items() if value is not None}
    plan = {"name": "p", "testbed": {"kind": "simulated"}, "timing": "rfc", "experiments": [written]}
    return resolve(Plan.model_validate(plan)).experiments[0]


class NotingEngine(SimulatedEngine):
    def __init__(self, **config: Any) -> None:
        super().__init__(SimulatedDut(SimulatedConfig(**{"buffer_frames": 64} | config)))
        self.asked: list[TrialRequest] = []

    def run_trial(self, request: TrialRequest, on_progress: Any = None) -> TrialResult:
        self.asked.append(request)
        return super().run_trial(request, on_progress)


def test_stateless_traffic_is_one_flow_each_way_in_bursts() -> None:
    engine = NotingEngine()
    found = send_probes(engine, experiment(frame_size=128))
    (trial,) = engine.asked
    assert [(stream.source, stream.frames, stream.burst) for stream in trial.streams] == [
        (Side.LEFT, FRAMES, 8),
        (Side.RIGHT, FRAMES, 8),
    ]
    assert all(stream.flows and stream.flows.size == 1 for stream in trial.streams)
    assert trial.drain_ends_early, "a path without faults costs no waiting"
    assert [(passage.size, passage.arrived, passage.good) for passage in found] == [(128, FRAMES, True)] * 2
    assert engine.elapsed_s < 0.1


def test_only_the_experiments_directions_are_probed() -> None:
    engine = NotingEngine()
    send_probes(engine, experiment(directions="reverse"))
    (trial,) = engine.asked
    assert [stream.source for stream in trial.streams] == [Side.RIGHT]


@pytest.mark.parametrize(
    "settings",
    [
        {"procedure": "connection-rate", "connections": 1_000_000},
        {"connections": 1_000_000, "phase1_rate": "10k"},
        {"procedure": {"name": "tear-down-rate"}, "connections": 1000, "phase1_rate": "10k", "search": None},
    ],
)
def test_with_connections_the_frames_are_those_of_one(settings: dict[str, Any]) -> None:
    engine = NotingEngine()
    found = send_probes(engine, experiment(**settings))
    opened, trial = engine.asked
    assert opened.phase1
    assert opened.streams[0].frames == 1
    assert not trial.phase1
    assert [stream.kind for stream in trial.streams] == [StreamKind.CONNECTIONS, StreamKind.REPLIES]
    assert [passage.arrived for passage in found] == [FRAMES, FRAMES]


def test_nothing_more_is_sent_without_the_connection() -> None:
    engine = NotingEngine(forward_loss_ratio=0.9)
    (passage,) = send_probes(engine, experiment(procedure="connection-rate", connections=1_000_000))
    assert (passage.source, passage.sent, passage.arrived) == (Side.LEFT, 1, 0)
    assert len(engine.asked) == 1
    (passage,) = send_probes(engine, experiment(procedure="connection-rate", connections=1_000_000), 8)
    assert (passage.source, passage.sent, passage.arrived) == (Side.LEFT, 8, 0)
    assert len(engine.asked) == 9


def test_of_several_openings_one_has_to_succeed() -> None:
    engine = NotingEngine()
    found = send_probes(engine, experiment(connections=100, phase1_rate="10k"), 8)
    assert [passage.arrived for passage in found] == [FRAMES, FRAMES]
    assert len(engine.asked) == 2


@pytest.mark.parametrize("connections", [None, 1_000_000])
def test_each_attempt_has_another_flow(connections: int | None) -> None:
    engine = NotingEngine()
    for attempt in range(3):
        send_probes(engine, experiment(connections=connections, phase1_rate=connections and "10k"), attempt=attempt)
    sources = [trial.streams[0].flows.source_port for trial in engine.asked if trial.streams[0].flows]
    assert len(sources) == len({ports.min for ports in sources}) == 3
    assert all(ports.min == ports.max for ports in sources)


def test_background_traffic_is_left_out() -> None:
    engine = NotingEngine()
    mixed = experiment(translation="siit", background={"share": "50%"}, connections=None)
    send_probes(engine, mixed)
    (trial,) = engine.asked
    assert [stream.name for stream in trial.streams] == ["forward", "reverse"]


def sample(side: Side, kind: str, packet: Packet, keep: int = 256) -> ForeignSample:
    return ForeignSample(side=side, kind=kind, time_ns=0, data_base64=base64.b64encode(bytes(packet)[:keep]).decode())


def seen(*samples: ForeignSample) -> tuple[Any, Any]:
    """Returns the passages of both directions with these samples."""
    engine = NotingEngine()
    send_probes(engine, experiment(frame_size=64))
    (trial,) = engine.asked
    result = engine.run_trial(trial).model_copy(update={"samples": [*samples]})
    forward, reverse = passages(result, trial.streams)
    return forward, reverse


@pytest.mark.parametrize(
    ("kind", "error", "refusal"),
    [
        ("icmp_unreachable", IP() / ICMP(type=3, code=13), Refusal.PROHIBITED),
        ("icmp_unreachable", IP() / ICMP(type=3, code=3), Refusal.PORT),
        ("icmp_unreachable", IP() / ICMP(type=3, code=1), Refusal.NO_ROUTE),
        ("icmp_unreachable", IP() / ICMP(type=3, code=2), Refusal.OTHER),
        ("icmp_fragmentation_needed", IP() / ICMP(type=3, code=4), Refusal.TOO_LONG),
        ("icmp_time_exceeded", IP() / ICMP(type=11, code=0), Refusal.LOOP),
        ("icmpv6_unreachable", IPv6() / ICMPv6DestUnreach(code=1), Refusal.PROHIBITED),
        ("icmpv6_unreachable", IPv6() / ICMPv6DestUnreach(code=0), Refusal.NO_ROUTE),
        ("icmpv6_packet_too_big", IPv6() / ICMPv6PacketTooBig(), Refusal.TOO_LONG),
    ],
)
def test_an_error_belongs_to_the_direction_whose_sender_it_reaches(kind: str, error: Packet, refusal: Refusal) -> None:
    forward, reverse = seen(sample(Side.RIGHT, kind, Ether() / error))
    assert forward.refusals == ()
    assert reverse.refusals == (refusal,)


@pytest.mark.parametrize("packet", [IP() / UDP() / Raw(bytes(500)), IPv6() / UDP() / Raw(bytes(480))])
def test_a_longer_frame_is_a_merged_one_even_if_the_sample_is_cut(packet: Packet) -> None:
    forward, reverse = seen(sample(Side.RIGHT, "corrupt_test", Ether() / packet))
    assert forward.longest == 14 + 528 + 4
    assert forward.merged
    assert not forward.good
    assert reverse.longest is None


def test_a_frame_of_its_own_length_is_not_merged() -> None:
    forward, _ = seen(sample(Side.RIGHT, "corrupt_test", Ether() / IP() / UDP() / Raw(bytes(18))))
    assert forward.longest == 64
    assert forward.good


@pytest.mark.parametrize("data", [b"", bytes(14), bytes(20)])
def test_a_sample_too_short_for_its_kind_says_nothing(data: bytes) -> None:
    forward, reverse = seen(
        sample(Side.RIGHT, "corrupt_test", Raw(data)), sample(Side.RIGHT, "icmp_unreachable", Raw(data))
    )
    assert forward.longest is None
    assert set(reverse.refusals) <= {Refusal.OTHER}
