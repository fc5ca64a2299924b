# SPDX-License-Identifier: Apache-2.0
"""Tests whole lives of connections through a NAT of the kernel, whose own tracking judges every segment."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet
from scapy.utils import wrpcap

from natxy.engine.messages.results import Verdict
from natxy.plan.experiment import Experiment
from natxy.procedures.common.streams import lives_request
from natxy.results.records import RunRecord, State
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, signature_of
from tests.support.chains import experiment_of, set_up
from tests.support.measured_runs import measured_run
from tests.support.nat_bed import all_arrived, all_captured, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.programs("nft", "conntrack")]

CONNECTIONS: Final = 200
STRICT: Final = (
    "table inet strict { chain one { type filter hook forward priority 0; ct state invalid counter drop; }; }"
)
# Longer than a busy machine keeps a frame waiting.
STEP_S: Final = 0.3
# The segments of a life, each with its sender: `>` is the initiator.
OPENED: Final = ["> S", "< SA", "> A", "> PA", "> PA", "< PA", "< PA", "< PA"]
LIVES: Final = {
    "initiator": [*OPENED, "> FA", "< FA", "> A"],
    "responder": [*OPENED, "< FA", "> FA", "< A"],
    "reset": [*OPENED, "> RA"],
}
FRAME_SIZE: Final = 512


def lives(close: str, family: str, **own: Any) -> Experiment:
    fields: dict[str, Any] = {
        "gateway": "nftables", "protocol": "tcp", "family": family, "connections": CONNECTIONS,
        "procedure": {"name": "tcp-connection-rate", "close": close, "step": STEP_S, "request": 2, "response": 3},
        "frame_size": FRAME_SIZE,
        "search": {"min_rate": "1k", "max_rate": "2k", "error": "100%"},
    }  # fmt: skip
    return experiment_of(**fields | own)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize(
    ("close", "state"), [("initiator", "TIME_WAIT"), ("responder", "TIME_WAIT"), ("reset", "CLOSE")]
)
@repeated
def test_the_kernel_sees_connections_opened_used_and_closed(
    close: str, state: str, family: str, tmp_path: Path
) -> None:
    experiment = lives(close, family)
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        lab.transport.run(["nft", STRICT])
        gateway.clear()
        request = patiently(lives_request(experiment, 1000.0, 7))
        namespace = lab.dut_namespaces[0]
        with (
            captured(namespace, lab.interfaces.left, Direction.IN) as from_left,
            captured(namespace, lab.interfaces.right, Direction.IN) as from_right,
        ):
            result = engine.run_trial(request)
        all_arrived(result)
        states = lab.transport.run(["conntrack", "-L", "-p", "tcp", "-f", family]).stdout.splitlines()
        refused = lab.transport.run(["nft", "list", "chain", "inet", "strict", "one"]).stdout
        counted = gateway.count()
    assert result.verdict == Verdict.PASS, result.reason
    assert result.established == CONNECTIONS
    assert [stream.received for stream in result.streams] == len(LIVES[close]) * [CONNECTIONS]
    all_captured([*from_left, *from_right], len(LIVES[close]) * CONNECTIONS)
    assert counted == CONNECTIONS
    assert sum(f" {state} " in each for each in states) == CONNECTIONS
    assert "invalid counter packets 0" in refused
    by_stream = {
        number: [frame for frame in (*from_left, *from_right) if signature_of(frame).stream == number]
        for number in range(len(LIVES[close]))
    }
    for number, frames in by_stream.items():
        assert {str(frame[TCP].flags) for frame in frames} == {LIVES[close][number][2:]}
        assert sorted(signature_of(frame).sequence for frame in frames) == [*range(CONNECTIONS)]
        assert all(has_right_checksums(frame) for frame in frames)
        sender = from_left if LIVES[close][number][0] == ">" else from_right
        assert all(frame in sender for frame in frames[:3])
    acknowledges_what_was_sent([frames[0] for frames in by_stream.values()], LIVES[close])


def acknowledges_what_was_sent(life: list[Packet], senders: list[str]) -> None:
    """Follows a connection as its two ends do (RFC 9293 §3.4): each segment acknowledges all that has arrived."""
    expected: dict[bool, int] = {}
    for segment, sender in zip(life, senders, strict=True):
        tcp, left = segment[TCP], sender[0] == ">"
        sequence = expected.setdefault(left, tcp.seq)
        assert tcp.seq == sequence
        if "A" in str(tcp.flags):
            assert tcp.ack == expected[not left]
        data_bytes = FRAME_SIZE - 58 - 20 * (IPv6 in segment) if "P" in str(tcp.flags) else 0
        assert len(tcp.payload) == data_bytes
        expected[left] += data_bytes + ("S" in str(tcp.flags)) + ("F" in str(tcp.flags))


@pytest.mark.parametrize(
    "gateway",
    [
        pytest.param({"gateway": "iptables"}, marks=needs.programs("iptables"), id="iptables"),
        pytest.param(
            {"gateway": "tayga-netfilter", "translation": "nat64", "family": "ipv6"},
            marks=needs.programs("tayga"), id="tayga-netfilter",
        ),
    ],
)  # fmt: skip
@repeated
def test_connections_live_through_other_gateways(gateway: dict[str, Any], tmp_path: Path) -> None:
    experiment = lives("initiator", **{"family": "ipv4", **gateway})
    with set_up(experiment, tmp_path) as (lab, made, engine):
        lab.transport.run(["nft", STRICT])
        made.clear()
        result = engine.run_trial(patiently(lives_request(experiment, 1000.0, 7)))
        all_arrived(result)
        refused = lab.transport.run(["nft", "list", "chain", "inet", "strict", "one"]).stdout
        counted = made.count()
    assert result.verdict == Verdict.PASS, result.reason
    # The rule makes Linux track both sides of a translation.
    tracked = 2 if experiment.translation else 1
    assert (result.established, counted) == (CONNECTIONS, tracked * CONNECTIONS)
    assert "invalid counter packets 0" in refused


@needs.programs("tshark")
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@repeated
def test_tshark_finds_nothing_odd_on_either_side_of_the_nat(family: str, tmp_path: Path) -> None:
    experiment = lives("initiator", family)
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        gateway.clear()
        namespace = lab.dut_namespaces[0]
        with (
            captured(namespace, lab.interfaces.left, Direction.BOTH) as left,
            captured(namespace, lab.interfaces.right, Direction.BOTH) as right,
        ):
            result = engine.run_trial(patiently(lives_request(experiment, 1000.0, 7)))
        all_arrived(result)
    for side in (left, right):
        all_captured(side, len(LIVES["initiator"]) * CONNECTIONS)
        assert judged_by_tshark(side, tmp_path / "side.pcap", "tcp.connection.fin") == 2 * CONNECTIONS
        odd = "tcp.analysis.flags || tcp.checksum.status != good || ip.checksum.status == bad || _ws.malformed"
        assert judged_by_tshark(side, tmp_path / "side.pcap", odd) == 0
        # Had the gateway lost the data of one side, tshark would miss them.
        without = [frame for frame in side if str(frame[TCP].flags) != "PA"]
        assert judged_by_tshark(without, tmp_path / "side.pcap", "tcp.analysis.ack_lost_segment") > 0


def judged_by_tshark(frames: list[Packet], file: Path, display_filter: str) -> int:
    """Returns how many of the frames tshark finds to be such, in the order in which they were sent."""
    wrpcap(str(file), frames)
    preferences = ("tcp.check_checksum", "ip.check_checksum", "tcp.analyze_sequence_numbers")
    given = [argument for each in preferences for argument in ("-o", f"{each}:TRUE")]
    found = subprocess.run(
        ["tshark", "-r", file, *given, "-Y", display_filter], capture_output=True, text=True, check=True
    )
    return len(found.stdout.splitlines())


def test_steps_follow_each_other_at_their_ages() -> None:
    steps = lives("initiator", "ipv4").procedure.life(lives("initiator", "ipv4").protocol)
    assert [later.age_s - earlier.age_s for earlier, later in pairwise(steps)] == pytest.approx(9 * [STEP_S])


def late(run: RunRecord) -> str:
    """Returns why a trial was not what it should be: the machine kept the tester or the gateway from its core."""
    return ", ".join(each.reason for each in run.experiments if each.state != State.DONE)


@repeated
def test_lifetimes_are_those_that_the_kernel_is_told(tmp_path: Path) -> None:
    gateway = {
        "driver": "nftables", "udp_timeout_s": 3, "udp_stream_timeout_s": 5,
        "tcp_timeouts_s": {
            "syn_sent": 3, "syn_recv": 2, "established": 4, "unacknowledged": 1, "time_wait": 2, "close": 1,
        },
    }  # fmt: skip
    expected = {
        ("udp", "opened"): 3, ("udp", "replied"): 3, ("udp", "used"): 5, ("tcp", "opened"): 3, ("tcp", "replied"): 2,
        ("tcp", "used"): 4, ("tcp", "closed"): 2, ("tcp", "reset"): 1,
    }  # fmt: skip
    fields: dict[str, Any] = {"gateway": gateway, "connections": 120, "rate": "1k"}
    plan = {
        "name": "p",
        "repeat": 1,
        "timing": {"preset": "lab", "max_pause": "100ms", "overrun_floor": "100ms"},
        "experiments": [
            {
                "name": f"{protocol}-{state}", "protocol": protocol, **fields,
                "procedure": {"name": "ageing", "state": state, "longest": lifetime_s + 1.5},
            }
            for (protocol, state), lifetime_s in expected.items()
        ],
    }  # fmt: skip
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", blames=late)
    found = {each.name: each.repetitions[0].figures["lifetime"] for each in run.experiments}
    # A probe comes every 50 ms, and the kernel rounds a lifetime up to a tick.
    assert found == {
        f"{protocol}-{state}": pytest.approx(lifetime_s, abs=0.12) for (protocol, state), lifetime_s in expected.items()
    }


@repeated
def test_connections_come_and_go(tmp_path: Path) -> None:
    plan = {
        "name": "p",
        "repeat": 1,
        "timing": {"preset": "lab", "max_pause": "20ms", "overrun_floor": "20ms"},
        "experiments": [
            {
                "name": "churn",
                "gateway": {"driver": "nftables", "udp_timeout_s": 1, "udp_stream_timeout_s": 1},
                "procedure": {"name": "churn", "lifetime": "1s", "age": "500ms"},
                "connections": 12_000,
                "search": {"min_rate": "1k", "max_rate": "2k", "error": "100%"},
                "max_invalid": 10,
            }
        ],
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", blames=late)
    [repetition] = run.experiments[0].repetitions
    assert repetition.figures["rate"] == 2000
    assert repetition.figures["expected_entries"] == 2000
    # The kernel looks for entries that have expired every now and then.
    entries = repetition.figures["entries"]
    assert entries is not None
    assert 2000 <= entries < 12_000
