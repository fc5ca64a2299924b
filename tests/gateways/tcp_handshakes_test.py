# SPDX-License-Identifier: Apache-2.0
"""Tests TCP connections through a NAT of the kernel that drops whatever its tracking of windows calls invalid."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from scapy.layers.inet import TCP
from scapy.packet import Packet

from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.procedures.common.streams import ack_request, establish_request, syn_ack_request, traffic_request
from natxy.testbeds.lab import NetnsLab
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, signature_of, swapped, tuple_of
from tests.support.chains import experiment_of, set_up
from tests.support.nat_bed import all_arrived, all_captured, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.programs("nft", "conntrack")]

CONNECTIONS: Final = 200
FRAMES: Final = 500
DATA: Final = {"ipv4": 76 - 58, "ipv6": 96 - 78}
STRICT: Final = (
    "table inet strict { chain one { type filter hook forward priority 0; ct state invalid counter drop; }; }"
)


def nat(family: str) -> Experiment:
    return experiment_of(
        gateway="nftables", procedure="throughput", protocol="tcp", family=family, connections=CONNECTIONS,
        phase1_rate="1k",
    )  # fmt: skip


def sent(lab: NetnsLab, engine: EngineClient, request: TrialRequest, side: Side) -> tuple[TrialResult, list[Packet]]:
    """Runs a trial; returns its result, and the frames that the tester's port of a side sent."""
    with captured(lab.dut_namespaces[0], getattr(lab.interfaces, side), Direction.IN) as frames:
        result = engine.run_trial(patiently(request))
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    all_captured(frames, sum(stream.frames for stream in request.streams if stream.source == side))
    return result, frames


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@repeated
def test_every_connection_is_assured_and_no_segment_invalid(family: str, tmp_path: Path) -> None:
    experiment, data = nat(family), DATA[family]
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        lab.transport.run(["nft", STRICT])
        gateway.clear()
        made, syns = sent(lab, engine, establish_request(experiment, 1000.0, 7), Side.LEFT)
        assert made.established == CONNECTIONS
        _, answers = sent(lab, engine, syn_ack_request(experiment, 1000.0, 7), Side.RIGHT)
        _, acks = sent(lab, engine, ack_request(experiment, 1000.0, 7), Side.LEFT)
        states = lab.transport.run(["conntrack", "-L", "-p", "tcp", "-f", family]).stdout.splitlines()
        assert gateway.count() == CONNECTIONS
        request = traffic_request(experiment, 1000.0, 7, frames=FRAMES)
        _, data_from_left = sent(lab, engine, request, Side.LEFT)
        _, data_from_right = sent(lab, engine, request, Side.RIGHT)
        refused = lab.transport.run(["nft", "list", "chain", "inet", "strict", "one"]).stdout
    assert len(states) == CONNECTIONS
    assert all("ESTABLISHED" in state and "[ASSURED]" in state for state in states)
    assert "invalid counter packets 0" in refused
    for frames, flags, of_data in (
        (syns, "S", 0), (answers, "SA", 0), (acks, "A", 0), (data_from_left, "PA", data), (data_from_right, "PA", data),
    ):  # fmt: skip
        for frame in frames:
            assert has_right_checksums(frame)
            assert frame[TCP].flags == flags
            assert len(frame[TCP].payload) == of_data
            assert ("MSS" in dict(frame[TCP].options)) == ("S" in flags)
    assert sorted(signature_of(frame).sequence for frame in syns) == [*range(CONNECTIONS)]
    (of_initiator,), (of_responder,) = ({frame[TCP].seq for frame in frames} for frames in (syns, answers))
    assert {frame[TCP].ack for frame in answers} == {of_initiator + 1}
    for frames in (acks, data_from_left):
        assert {(frame[TCP].seq, frame[TCP].ack) for frame in frames} == {(of_initiator + 1, of_responder + 1)}
    assert {(frame[TCP].seq, frame[TCP].ack) for frame in data_from_right} == {(of_responder + 1, of_initiator + 1)}
    assert {tuple_of(frame) for frame in acks} == {tuple_of(frame) for frame in syns}
    assert {swapped(tuple_of(frame))[2] for frame in answers} == {frame[TCP].sport for frame in syns}


@repeated
def test_a_syn_alone_leaves_no_assured_connection(tmp_path: Path) -> None:
    experiment = nat("ipv4")
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        gateway.clear()
        sent(lab, engine, establish_request(experiment, 1000.0, 7), Side.LEFT)
        states = lab.transport.run(["conntrack", "-L", "-p", "tcp"]).stdout.splitlines()
        assert sum("SYN_SENT" in state and "[UNREPLIED]" in state for state in states) == CONNECTIONS
        # A segment of the initiator before the answer is invalid to a gateway that tracks windows.
        lab.transport.run(["nft", STRICT])
        early = engine.run_trial(patiently(ack_request(experiment, 1000.0, 7)))
    assert early.verdict == Verdict.FAIL
    assert early.streams[0].lost == CONNECTIONS
