# SPDX-License-Identifier: Apache-2.0
"""Tests frames of MAP-T subscribers, which real gateways route and translate. Scapy dissects them, and the rules of
natxy.addressing, which know nothing of the engine, say which addresses they have."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_interface
from pathlib import Path
from typing import Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.addressing.embedding import embedded
from natxy.addressing.map_rules import MapRule
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    MappingFormat,
    PortField,
    StreamKind,
    StreamSpec,
    SubscriberRule,
    TrialRequest,
)
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.frames.forms import Form
from natxy.plan.gateways.linux import LinuxForwardConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.model.terms import Selection
from tests.support import needs
from tests.support.captured_frames import FCS_BYTES, has_right_checksums, signature_of
from tests.support.engine_trials import phase1_of
from tests.support.nat_bed import PATIENTLY, NatBed, all_arrived, all_captured, nat_bed
from tests.support.timing import wait_until
from tests.support.undisturbed import repeated

pytestmark = needs.LAB

FRAMES: Final = 300
RATE_FPS: Final = 5000.0
TTL: Final = 61
SIZE: Final = 148  # of mapped frames
LONGER: Final = 20  # than frames of IPv4
SUBSCRIBERS: Final = IPv6Network("2001:2:0:4000::/52")
SHARED: Final = MapRule(SUBSCRIBERS, IPv4Network("198.18.128.0/24"), 12)
UNSHARED: Final = MapRule(SUBSCRIBERS, IPv4Network("198.18.128.0/29"), 3)
FAR: Final = IPv4Network("198.19.0.0/24")
LEFT: Final = LinkAddresses(
    dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"), behind=(SUBSCRIBERS,)
)


def mapping(rule: MapRule, prefix: IPv6Network) -> MappingFormat:
    return MappingFormat(subscribers=SubscriberRule.of(rule), prefix=prefix, traffic_class=0x28, flow_label=0x12345)


def flows(rule: MapRule) -> FlowSpace:
    return FlowSpace(
        source_address=AddressField(address=rule.ipv4.network_address, min=0, max=rule.ipv4.num_addresses - 1),
        destination_address=AddressField(address=FAR.network_address, min=2, max=250),
        source_port=PortField(min=1024, max=65535),
        destination_port=PortField(min=1, max=49151),
    )


def judged(frame: Packet, rule: MapRule, prefix: IPv6Network, sender: Side, size: int = SIZE) -> tuple[str, str]:
    """Asserts all fields of a mapped frame, and returns the IPv4 addresses that its addresses stand for."""
    network, udp = frame[IPv6], frame[UDP]
    up = sender == Side.LEFT
    subscriber, far = (network.src, network.dst) if up else (network.dst, network.src)
    port = udp.sport if up else udp.dport
    address = IPv4Address(bytes(frame[IPv6])[(8 if up else 24) :][10:14])
    assert subscriber == str(rule.subscriber_of(address, port).address)
    hosts = {str(embedded(prefix, host)): str(host) for host in FAR}
    assert far in hosts
    assert len(frame) == size - FCS_BYTES
    assert (network.version, network.nh, network.plen) == (6, 17, size - FCS_BYTES - 54)
    assert (udp.len, has_right_checksums(frame)) == (size - FCS_BYTES - 54, True)
    return str(address), hosts[far]


def run(bed: NatBed, request: TrialRequest) -> TrialResult:
    result = bed.engine.run_trial(request)
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    return result


def initiator(frame: FrameFormat, rule: MapRule) -> StreamSpec:
    return StreamSpec(
        name="phase 1", source=Side.LEFT, frame=frame, rate_fps=RATE_FPS, frames=FRAMES, flows=flows(rule),
        selection=Selection.ENUMERATE,
    )  # fmt: skip


def traffic(up: FrameFormat, down: FrameFormat) -> TrialRequest:
    forward = StreamSpec(
        name="forward", source=Side.LEFT, kind=StreamKind.CONNECTIONS, frame=up, rate_fps=RATE_FPS, frames=2 * FRAMES
    )
    reverse = forward.model_copy(
        update={"name": "reverse", "source": Side.RIGHT, "kind": StreamKind.REPLIES, "frame": down}
    )
    return TrialRequest(streams=[forward, reverse], seed=9, **PATIENTLY)


PREFIXES: Final = (
    IPv6Network("2001:2:0:f000::/64"), IPv6Network("2001:2:0:f000::/96"), IPv6Network("2001:2:0:f000::/56"),
)  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES, ids=str)
@repeated
def test_mapped_frames_are_routed(tmp_path: Path, prefix: IPv6Network) -> None:
    """A router leaves their addresses as they are, so that both ports know the frames as mapped."""
    right = LinkAddresses(
        dut=ip_interface("2001:2:0:8000::1/64"), tester=ip_interface("2001:2:0:8000::2/64"),
        behind=(IPv6Network("2001:2:0:f000::/56"),),
    )  # fmt: skip
    own = mapping(SHARED, prefix)
    up = FrameFormat(form=Form.MAP_FROM_EDGE, arrival_form=Form.MAP_FROM_EDGE, mapping=own, size=[SIZE, 1200], ttl=TTL)
    down = up.model_copy(update={"form": Form.MAP_FROM_CORE, "arrival_form": Form.MAP_FROM_CORE})
    with nat_bed(AddressPlan(left=LEFT, right=right), tmp_path, config=LinuxForwardConfig()) as bed:
        with bed.sent(Side.LEFT) as sent:
            result = run(bed, phase1_of(initiator(up, SHARED), seed=7, **PATIENTLY))
        assert result.established == FRAMES
        all_captured(sent, FRAMES)
        pairs = set()
        for frame in sent:
            number = signature_of(frame).sequence
            pairs.add(judged(frame, SHARED, prefix, Side.LEFT, up.sizes[number % 2]))
            assert (frame[IPv6].tc, frame[IPv6].fl, frame[IPv6].hlim) == (0x28, 0x12345, TTL)
        assert len(pairs) > FRAMES // 2
        with bed.sent(Side.RIGHT) as replies:
            run(bed, traffic(up, down))
        all_captured(replies, 2 * FRAMES)
        answered = {
            judged(frame, SHARED, prefix, Side.RIGHT, up.sizes[signature_of(frame).sequence % 2]) for frame in replies
        }
        assert answered == pairs


@contextmanager
def tayga(bed: NatBed, prefix: IPv6Network, folder: Path) -> Iterator[None]:
    """Runs Tayga as the border relay of the subscribers that share no address."""
    transport = bed.lab.transport
    everybody = [UNSHARED.subscriber(number) for number in range(UNSHARED.subscriber_count)]
    configuration = folder / "tayga.conf"
    lines = ["tun-device relay", "ipv4-addr 192.168.255.1", "ipv6-addr 2001:2:0:fffe::1", f"data-dir {folder}"]
    lines += [f"prefix {prefix}", *(f"map {each.ipv4} {each.address}" for each in everybody)]
    configuration.write_text("\n".join(lines) + "\n", encoding="ascii")
    transport.run(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"])
    transport.run(["tayga", "-c", str(configuration), "--mktun"])
    transport.run(["ip", "link", "set", "relay", "txqueuelen", "5000", "up"])
    for network in (prefix, UNSHARED.ipv4):
        transport.run(["ip", "route", "add", str(network), "dev", "relay"])
    inside = ["ip", "netns", "exec", bed.lab.description()["dut namespace"]]
    command = [*inside, "tayga", "-c", str(configuration), "--nodetach"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: "LOWER_UP" in transport.run(["ip", "link", "show", "relay"]).stdout)
            yield
        finally:
            process.kill()


@pytest.mark.parametrize("prefix", PREFIXES[:2], ids=str)
@needs.programs("tayga")
@needs.TUN
@repeated
def test_a_border_relay_translates_them(tmp_path: Path, prefix: IPv6Network) -> None:
    right = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"), behind=(FAR,))
    own = mapping(UNSHARED, prefix)
    up = FrameFormat(form=Form.MAP_FROM_EDGE, arrival_form=Form.UDP, mapping=own, size=SIZE, ttl=TTL)
    down = FrameFormat(form=Form.UDP, arrival_form=Form.MAP_FROM_CORE, mapping=own, size=SIZE - LONGER, ttl=TTL)
    with (
        nat_bed(AddressPlan(left=LEFT, right=right), tmp_path, config=LinuxForwardConfig()) as bed,
        tayga(bed, prefix, tmp_path),
    ):
        with bed.sent(Side.LEFT) as sent, bed.forwarded(Side.RIGHT) as translated:
            result = run(bed, phase1_of(initiator(up, UNSHARED), seed=7, **PATIENTLY))
        assert result.established == FRAMES
        all_captured(translated, FRAMES)
        found = {signature_of(frame).sequence: judged(frame, UNSHARED, prefix, Side.LEFT) for frame in sent}
        assert found == addresses_by_number(translated)
        with bed.sent(Side.RIGHT) as replies, bed.forwarded(Side.LEFT) as mapped:
            run(bed, traffic(up, down))
        all_captured(mapped, 2 * FRAMES)
        answered = {signature_of(frame).sequence: judged(frame, UNSHARED, prefix, Side.RIGHT) for frame in mapped}
        assert {number: pair[::-1] for number, pair in answered.items()} == addresses_by_number(replies)


def addresses_by_number(frames: Sequence[Packet]) -> dict[int, tuple[str, str]]:
    return {signature_of(frame).sequence: (frame[IP].src, frame[IP].dst) for frame in frames if IP in frame}
