# SPDX-License-Identifier: Apache-2.0
"""Tests both ends of MAP-T in a lab: each alone, and one behind the other. The frames between them are dissected by
Scapy, and the addresses that they must have are written out by hand."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.dut.base import Gateway
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.errors import GatewayDiedError
from natxy.plan.experiment import Experiment
from natxy.probe.binding import binding_of
from natxy.probe.frames import send_probes
from natxy.procedures.common.spoofing import traffic_beside_spoofed
from natxy.procedures.common.streams import establish_request, traffic_request
from natxy.testbeds.lab import NetnsLab
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, signature_of
from tests.support.chains import chain, experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, pytest.mark.same_machine, needs.programs("tayga", "nft", "conntrack"), needs.TUN]

FRAMES: Final = 100
CONNECTIONS: Final = 50
CONNECTED: Final[dict[str, Any]] = {"connections": CONNECTIONS, "phase1_rate": "1k"}
CE: Final = {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}}
PORTS_OF_CE: Final = range(12_288, 16_384)
# RFC 6052 §2.2: 198.19.0.2 is c6.13.00.02 behind 2001:2:0:64::/64, after the zero bits 64 to 71.
FAR: Final = "2001:2:0:64:c6:1300:200:0"
# RFC 7597 §6: the prefix, 16 zero bits, the IPv4 address, the PSID. 198.18.0.2 shares its address with nobody,
# 100.64.1.1 is shared, and PSID 3 has these ports.
ALONE, CUSTOMER = "2001:2:0:500{}:0:c612:2:0", "2001:2:0:500{}:0:6440:101:3"

Lab = tuple[NetnsLab, Gateway[Any], EngineClient]


def between(experiment: Experiment, lab: Lab, link: tuple[int, str], from_left: Direction) -> dict[Side, list[Packet]]:
    """Returns the frames of phase 2 between both ends of MAP-T, by the side that sends them; `link` is a gateway's
    interface, through which frames from the left go in or out."""
    testbed, gateway, engine = lab
    for passage in send_probes(engine, experiment):
        assert passage.good
    if experiment.connections:
        gateway.clear()
        made = engine.run_trial(patiently(establish_request(experiment, 1000, 7)))
        all_arrived(made)
        assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
    request = patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES))
    number, interface = link
    place = (testbed.dut_namespaces[number], interface)
    with captured(*place, Direction.IN) as received, captured(*place, Direction.OUT) as sent:
        result = engine.run_trial(request)
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
    forward, reverse = (received, sent) if from_left == Direction.IN else (sent, received)
    return {Side.LEFT: forward, Side.RIGHT: reverse}


def judge(frame: Packet, experiment: Experiment) -> tuple[tuple[str, int], tuple[str, int]]:
    """Asserts what holds for each frame between both ends, and returns its source and destination with their ports."""
    header = frame[IPv6]
    assert has_right_checksums(frame)
    # IPv6 and UDP alone: no fragment header, and no other one (RFC 7915 §4.1).
    assert (frame.type, header.nh, header.tc, header.fl) == (0x86DD, 17, 0, 0)
    assert header.plen == frame[UDP].len == experiment.frame_size - 18 - 20
    assert 0 < header.hlim <= experiment.ttl
    return (header.src, frame[UDP].sport), (header.dst, frame[UDP].dport)


@pytest.mark.parametrize("size", [64, 1518])
@pytest.mark.parametrize(
    ("gateways", "own", "link", "from_left", "subscriber"),
    [
        (("map-t", "map-t"), {}, (1, "dut2-left"), Direction.IN, ALONE.format(0)),
        ((CE, "map-t", "map-t"), CONNECTED, (2, "dut3-left"), Direction.IN, CUSTOMER.format(1)),
        ((CE, "map-t", "linux-forward", "map-t"), CONNECTED, (3, "dut4-left"), Direction.IN, CUSTOMER.format(1)),
        (("map-t", "tester"), {}, (0, "dut-right"), Direction.OUT, ALONE.format(0)),
        ((CE, "map-t", "tester"), CONNECTED, (1, "dut2-right"), Direction.OUT, CUSTOMER.format(1)),
        (("tester", "map-t"), {}, (0, "dut-left"), Direction.IN, ALONE.format(0)),
        (("tester", "linux-forward", "map-t"), {}, (0, "dut-left"), Direction.IN, ALONE.format(0)),
    ],
    ids=["both", "a CE and both", "a router between", "an edge", "a CE", "a core", "a router and a core"],
)
@repeated
def test_a_subscriber_has_its_address_of_the_rule(
    gateways: tuple[str | dict[str, Any], ...],
    own: dict[str, Any],
    link: tuple[int, str],
    from_left: Direction,
    subscriber: str,
    size: int,
    tmp_path: Path,
) -> None:
    experiment = experiment_of(gateway=chain(*gateways), frame_size=size, dont_fragment=True, **own)
    with set_up(experiment, tmp_path) as lab:
        found = between(experiment, lab, link, from_left)
        if experiment.connections:
            lab[1].clear()
            assert lab[1].count() == 0
    for side, frames in found.items():
        assert sorted(signature_of(frame).sequence for frame in frames) == [*range(FRAMES)]
        for frame in frames:
            near, far = judge(frame, experiment)[:: 1 if side == Side.LEFT else -1]
            assert (near[0], far[0]) == (subscriber, FAR)
            assert CE not in gateways or near[1] in PORTS_OF_CE
    hop_limits = {side: {frame[IPv6].hlim for frame in frames} for side, frames in found.items()}
    # Tayga is a hop, and so is the kernel on both sides of it; the tester's frames are as it sends them.
    assert all(len(each) == 1 for each in hop_limits.values())
    if gateways[0] == "tester":
        assert hop_limits == {Side.LEFT: {experiment.ttl}, Side.RIGHT: {experiment.ttl - 3}} or len(gateways) > 2
    if gateways == ("map-t", "tester"):
        assert hop_limits == {Side.LEFT: {experiment.ttl - 3}, Side.RIGHT: {experiment.ttl}}


@pytest.mark.parametrize(
    ("own", "lowest", "psids"),
    [
        ({"subscribers": {"ipv4": "198.18.128.0/28"}}, 0, 1),
        ({"subscribers": {"ipv4": "198.18.128.0/30", "ea_length": 4, "offset": 0}}, 0, 4),
        # 64 ports of each 1,024 are one subscriber's (RFC 7597 §5.1).
        ({"subscribers": {"ipv4": "198.18.128.0/30", "ea_length": 6}}, 1024, 16),
    ],
    ids=["an address each", "four at an address", "six bits before the PSID"],
)
@repeated
def test_a_core_has_an_address_for_each_subscriber(
    own: dict[str, Any], lowest: int, psids: int, tmp_path: Path
) -> None:
    experiment = experiment_of(gateway=chain("tester", "map-t"), **own)
    with set_up(experiment, tmp_path) as lab:
        found = between(experiment, lab, (0, "dut-left"), Direction.IN)
    seen = set()
    for side, frames in found.items():
        assert sorted(signature_of(frame).sequence for frame in frames) == [*range(FRAMES)]
        for frame in frames:
            (address, port), far = judge(frame, experiment)[:: 1 if side == Side.LEFT else -1]
            assert far[0] == FAR
            assert port >= lowest
            # By hand: with 16 PSIDs and six bits before them, bits 6 to 9 of a port; with 4 and none, the first two.
            psid = {1: 0, 4: port >> 14, 16: port >> 6 & 15}[psids]
            suffix = int(IPv6Address(address)) >> 16 & {1: 15, 4: 3, 16: 3}[psids]
            ipv4 = int(IPv4Address("198.18.128.0")) + suffix
            ea_bits, ea_length = suffix * psids + psid, {1: 4, 4: 4, 16: 6}[psids]
            prefix = int(IPv6Address("fd00:2:6::")) >> 64 | ea_bits << 16 - ea_length
            assert IPv6Address(address) == IPv6Address(prefix << 64 | ipv4 << 16 | psid)
            seen.add((suffix, psid))
    assert len({suffix for suffix, _ in seen}) > 1
    assert len({psid for _, psid in seen}) > psids // 2


@pytest.mark.parametrize(
    ("gateways", "own", "sent"),
    [
        (("tester", "map-t"), {"directions": "forward"}, 16),
        (("tester", "map-t"), {"directions": "reverse"}, 16),
        (("tester", "map-t", "nftables"), CONNECTED, 1),
    ],
    ids=["forward", "reverse", "before a NAT"],
)
@repeated
def test_a_core_drops_packets_whose_port_is_not_that_of_their_address(
    gateways: tuple[str, ...], own: dict[str, Any], sent: int, tmp_path: Path
) -> None:
    shared = {"ipv4": "198.18.128.0/30", "ea_length": 4, "offset": 0}
    experiment = experiment_of(gateway=chain(*gateways), subscribers=shared, **own)
    with set_up(experiment, tmp_path) as (_, _, engine):
        for passage in send_probes(engine, experiment):
            assert passage.good
        binding = binding_of(engine, experiment)
    assert binding
    assert (binding.sent, binding.passed, binding.caveats) == (sent, 0, [])


@pytest.mark.parametrize("directions", ["forward", "reverse"])
@repeated
def test_spoofed_frames_beside_good_ones_have_the_address_of_another_psid(directions: str, tmp_path: Path) -> None:
    shared = {"ipv4": "198.18.128.0/30", "ea_length": 4, "offset": 0}
    experiment = experiment_of(gateway=chain("tester", "map-t"), subscribers=shared, directions=directions)
    request = patiently(traffic_beside_spoofed(experiment, 2000.0, 7, 0.5))
    with set_up(experiment, tmp_path) as (lab, _, engine):
        with captured(lab.dut_namespaces[0], "dut-left", Direction.IN) as frames:
            result = engine.run_trial(request)
        all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    [spoofed] = result.spoofed
    good = sum(stream.sent for stream in result.streams if stream.name == "forward")
    assert (spoofed.received, spoofed.sent > 0, good > 0) == (0, True, directions == "forward")
    # By hand: with 4 PSIDs and no bit before them, the first two bits of a port.
    apart = [frame for frame in frames if int(IPv6Address(frame[IPv6].src)) & 0xFFFF != frame[UDP].sport >> 14]
    assert (len(frames), len(apart)) == (good + spoofed.sent, spoofed.sent)
    # The PSID of each differs from its own in the last bit, so that it is a subscriber's.
    assert {int(IPv6Address(frame[IPv6].src)) & 0xFFFF ^ frame[UDP].sport >> 14 for frame in apart} == {1}
    assert all(has_right_checksums(frame) for frame in frames)


def test_a_core_of_which_one_process_has_ended_is_dead(tmp_path: Path) -> None:
    shared = {"ipv4": "198.18.128.0/30", "ea_length": 4, "offset": 0}
    experiment = experiment_of(gateway=chain("tester", "map-t"), subscribers=shared)
    with set_up(experiment, tmp_path) as (_, gateway, _):
        gateway.check_alive()
        [core] = gateway.hops
        interfaces = core.transport.run(["ip", "-brief", "link"]).stdout
        assert [f"natxy-map{number}" in interfaces for number in range(5)] == [True] * 4 + [False]
        core.transport.run(["ip", "link", "del", "natxy-map2"])
        with pytest.raises(GatewayDiedError, match="natxy-map2"):
            gateway.check_alive()
        gateway.restart()
        gateway.wait_ready()
        gateway.check_alive()
        gateway.remove()
        left = core.transport.run(["sh", "-c", "ip link; ip rule; ip -6 rule; nft list ruleset"]).stdout
        assert "natxy-map" not in left
        assert "fwmark" not in left
