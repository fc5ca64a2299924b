# SPDX-License-Identifier: Apache-2.0
"""Tests one translator of 464XLAT alone in a lab, with the tester as the other: its frames have the addresses that they
have between both."""

from __future__ import annotations

from contextlib import ExitStack
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.packet import Packet

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.probe.frames import send_probes
from natxy.procedures.common.streams import establish_request, traffic_request
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
# RFC 6877 §6.3 and RFC 6052 §2.2, by hand: 10.0.0.2, 198.18.0.2 and 100.64.1.1 on the left, 198.19.0.2 on the right.
HOME, BENCHMARK, NATED = "2001:2:0:46::a00:2", "2001:2:0:46::c612:2", "2001:2:0:46::6440:101"
FAR: Final = "2001:2:0:64::c613:2"


@pytest.mark.parametrize("size", [64, 1518])
@pytest.mark.parametrize(
    ("gateways", "own", "ipv6", "ipv4"),
    [
        (("tester", "tayga-netfilter"), CONNECTED, (HOME, FAR), ("198.19.0.1", "198.19.0.2")),
        (("tester", "linux-forward", "tayga-netfilter"), CONNECTED, (HOME, FAR), ("198.19.0.1", "198.19.0.2")),
        (("tester", "tayga"), {}, (BENCHMARK, FAR), ("198.18.0.2", "198.19.0.2")),
        (("tayga", "tester"), {}, (HOME, FAR), ("10.0.0.2", "198.19.0.2")),
        (("nftables", "tayga", "tester"), CONNECTED, (NATED, FAR), ("10.0.0.2", "198.19.0.2")),
    ],
)
@repeated
def test_a_translator_alone_has_the_frames_that_are_between_both(
    gateways: tuple[str, ...],
    own: dict[str, Any],
    ipv6: tuple[str, str],
    ipv4: tuple[str, str],
    size: int,
    tmp_path: Path,
) -> None:
    experiment = experiment_of(gateway=chain(*gateways), frame_size=size, dont_fragment=True, **own)
    ports: dict[Side, tuple[list[Packet], list[Packet]]] = {}
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        for passage in send_probes(engine, experiment):
            assert passage.good
        if experiment.connections:
            gateway.clear()
            made = engine.run_trial(patiently(establish_request(experiment, 1000, 7)))
            all_arrived(made)
            assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
            assert gateway.count() == CONNECTIONS
        request = patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES))
        hops = len(lab.dut_namespaces)
        places = {
            Side.LEFT: (lab.dut_namespaces[0], "dut-left"),
            Side.RIGHT: (lab.dut_namespaces[-1], "dut-right" if hops == 1 else f"dut{hops}-right"),
        }
        with ExitStack() as stack:
            for side, place in places.items():
                found = (captured(*place, Direction.IN), captured(*place, Direction.OUT))
                ports[side] = (stack.enter_context(found[0]), stack.enter_context(found[1]))
            result = engine.run_trial(request)
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
        assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
    played = Side.LEFT if gateways[0] == "tester" else Side.RIGHT
    for side, (sent, received) in ports.items():
        for frames, from_left in ((sent, side == Side.LEFT), (received, side == Side.RIGHT)):
            way = slice(None, None, 1 if from_left else -1)
            assert sorted(signature_of(frame).sequence for frame in frames) == [*range(FRAMES)]
            for frame in frames:
                assert has_right_checksums(frame)
                assert len(frame[UDP].payload) == size - 18 - 20 - 8
                if side == played:
                    header = frame[IPv6]
                    assert (header.src, header.dst) == (*ipv6[way],)
                    assert (frame.type, header.nh, header.plen) == (0x86DD, 17, size - 18 - 20)
                    assert IPv6ExtHdrFragment not in frame
                else:
                    assert (frame[IP].src, frame[IP].dst) == (*ipv4[way],)
                    assert frame[IP].len == size - 18
        if side == played:
            assert {(frame[IPv6].hlim, frame[IPv6].tc, frame[IPv6].fl) for frame in sent} == {(experiment.ttl, 0, 0)}


@repeated
def test_hosts_that_vary_have_addresses_of_their_own_in_ipv6(tmp_path: Path) -> None:
    hosts = {"left_hosts": {"first": "10.0.1.16", "last": "10.0.1.31"}}
    experiment = experiment_of(gateway=chain("tayga", "tester"), addresses=hosts)
    with set_up(experiment, tmp_path) as (lab, _, engine):
        place = (lab.dut_namespaces[0], "dut-right")
        with captured(*place, Direction.IN) as sent, captured(*place, Direction.OUT) as received:
            result = engine.run_trial(patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES)))
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
    first = int(IPv6Address("2001:2:0:46::")) + int(IPv4Address("10.0.1.16"))
    seen = {IPv6Address(frame[IPv6].dst) for frame in sent}, {IPv6Address(frame[IPv6].src) for frame in received}
    assert seen == ({IPv6Address(first + number) for number in range(16)},) * 2
