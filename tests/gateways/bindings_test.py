# SPDX-License-Identifier: Apache-2.0
"""Tests cores whose subscribers a table lists, and homes with one address, in a lab. Scapy dissects the frames, and a
core with another table is found out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.engine.messages.results import Verdict
from natxy.plan.bindings.csv_table import as_csv
from natxy.plan.experiment import Experiment
from natxy.probe.binding import binding_of
from natxy.procedures.common.streams import establish_request, traffic_request, validate_request
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums
from tests.support.chains import chain, experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, pytest.mark.same_machine, needs.REFERENCE]

FRAMES: Final = 200
PSID_BITS: Final = 2
CORE: Final = "fd00:2:5::9"
FIRST: Final = int(IPv4Address("198.18.128.0"))
REFERENCE: Final = {"driver": "reference"}
AFTR: Final = {"driver": "reference", "mode": "nat"}
HOME: Final = "192.168.1.2"

Ends = dict[tuple[IPv4Address, int], IPv6Address]


def table(psid_bits: int, addresses: Sequence[int] = range(16)) -> Ends:
    """Returns a table in a random order, with B4 addresses that follow no rule."""
    chosen = random.Random(psid_bits)
    keys = [(IPv4Address(FIRST + each), psid) for each in addresses for psid in range(1 << psid_bits)]
    chosen.shuffle(keys)
    return {key: IPv6Address(0xFD00_0002_0007 << 80 | chosen.getrandbits(80)) for key in keys}


def core_of(gateway: str | dict[str, Any], ends: Ends, psid_length: int) -> Experiment:
    subscribers = {"table": as_csv(ends), "psid_length": psid_length, "offset": 0, "core": CORE}
    return experiment_of(gateway=chain("tester", gateway), subscribers=subscribers)


def judged(frames: list[Packet], ends: Ends, sent: bool, psid_length: int) -> set[tuple[IPv4Address, int]]:
    """Asserts the addresses of frames between the table's subscribers and the core, and returns which were seen."""
    seen = set()
    for frame in frames:
        outer, inner, udp = frame[IPv6], frame[IP], frame[UDP]
        own, port = (inner.src, udp.sport) if sent else (inner.dst, udp.dport)
        key = (IPv4Address(own), port >> 16 - psid_length)
        far = (str(ends[key]), CORE)
        assert (frame.type, outer.nh, (outer.src, outer.dst)) == (0x86DD, 4, far if sent else far[::-1])
        assert has_right_checksums(frame)
        seen.add(key)
    return seen


@pytest.mark.parametrize(
    ("gateway", "psid_length", "addresses"),
    [
        ("softwire", PSID_BITS, range(16)),
        # Not all of the numbers between the first and the last address have a subscriber.
        ("softwire", 0, [3, 4, 9, 40]),
        (REFERENCE, PSID_BITS, range(16)),
    ],
)
@needs.SEG6
@repeated
def test_a_table_says_which_softwire_each_packet_is_in(
    gateway: str | dict[str, Any], psid_length: int, addresses: Sequence[int], tmp_path: Path
) -> None:
    ends = table(psid_length, addresses)
    experiment = core_of(gateway, ends, psid_length)
    request = patiently(traffic_request(experiment, 4000.0, 7, frames=FRAMES))
    with set_up(experiment, tmp_path) as (lab, _, engine):
        place = (lab.dut_namespaces[0], "dut-left")
        if gateway == "softwire":
            with captured(*place, Direction.IN) as sent, captured(*place, Direction.OUT) as received:
                result = engine.run_trial(request)
            assert len(sent) == len(received) == FRAMES
            for frames, is_sent in ((sent, True), (received, False)):
                assert len(judged(frames, ends, is_sent, psid_length)) > len(ends) / 2
        else:
            result = engine.run_trial(request)
        binding = binding_of(engine, experiment)
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
    # The kernel takes packets of any subscriber; natxy-reference looks at the table.
    assert binding is not None
    assert binding.passed == (binding.sent if gateway == "softwire" else 0)


@needs.SEG6
@repeated
def test_a_core_whose_table_has_two_lines_swapped_is_found_out(tmp_path: Path) -> None:
    ends = table(PSID_BITS)
    one, other = [*ends][3:5]
    swapped = ends | {one: ends[other], other: ends[one]}
    request = patiently(traffic_request(core_of("softwire", ends, PSID_BITS), 4000.0, 7, frames=FRAMES))
    with (
        set_up(core_of("softwire", swapped, PSID_BITS), tmp_path) as (lab, _, engine),
        captured(lab.dut_namespaces[0], "dut-left", Direction.OUT) as received,
    ):
        result = engine.run_trial(request)
    forward, reverse = result.streams
    assert forward.received == FRAMES, "the kernel takes packets of any subscriber"
    of_both = [
        frame for frame in received if (IPv4Address(frame[IP].dst), frame[UDP].dport >> 16 - PSID_BITS) in (one, other)
    ]
    assert len(of_both) > 0
    assert (result.verdict, reverse.lost) == (Verdict.FAIL, len(of_both))
    assert sum(port.foreign.get("wrong_softwire", 0) for port in result.ports) == len(of_both)


@repeated
def test_homes_with_one_address_get_their_own_connections_back(tmp_path: Path) -> None:
    homes, connections = 100, 400
    experiment = experiment_of(
        gateway=chain("tester", AFTR),
        subscribers={"inner": HOME, "count": homes},
        connections=connections,
        phase1_rate="2k",
        # The same source ports for all homes, so that nothing but their softwires tells them apart.
        ports={"source": "5000-5003", "destination": 53},
    )
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        place = (lab.dut_namespaces[0], "dut-left")
        with captured(*place, Direction.IN) as sent:
            made = engine.run_trial(patiently(establish_request(experiment, 2000.0, 7)))
        all_arrived(made)
        assert (made.verdict, made.established, gateway.count()) == (Verdict.PASS, connections, connections)
        validated = engine.run_trial(patiently(validate_request(experiment, 2000.0, 7)))
        all_arrived(validated)
        assert validated.verdict == Verdict.PASS, validated.reason
        assert binding_of(engine, experiment) is None
    assert {frame[IP].src for frame in sent} == {HOME}
    assert len({frame[IPv6].src for frame in sent}) == homes
    assert len({(frame[IPv6].src, frame[UDP].sport) for frame in sent}) == connections


@repeated
def test_a_reply_in_another_homes_softwire_is_misrouted(tmp_path: Path) -> None:
    experiment = experiment_of(
        gateway=chain("tester", AFTR | {"softwire": {"wrong_subscriber_every": 10}}),
        subscribers={"inner": HOME, "count": 50},
        connections=100,
        phase1_rate="2k",
    )
    with set_up(experiment, tmp_path) as (_, _, engine):
        all_arrived(engine.run_trial(patiently(establish_request(experiment, 2000.0, 7))))
        result = engine.run_trial(patiently(validate_request(experiment, 2000.0, 7)))
    assert (result.verdict, result.streams[0].lost) == (Verdict.FAIL, 10)
    assert sum(port.foreign.get("wrong_softwire", 0) for port in result.ports) == 10
