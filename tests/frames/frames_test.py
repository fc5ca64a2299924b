# SPDX-License-Identifier: Apache-2.0
"""Tests every field and checksum of every variant of test frame, captured on a real veth and dissected by Scapy."""

from __future__ import annotations

import itertools
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop, PadN
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamKind,
    StreamSpec,
    TrialRequest,
)
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.frames.forms import Form
from natxy.plan.frames.mix import mix_sizes
from natxy.plan.model.terms import Family, Selection
from tests.support import needs
from tests.support.captured_frames import has_right_checksums, judge, signature_of, swapped, tuple_of
from tests.support.engine_trials import phase1_of, validation_of
from tests.support.nat_bed import PATIENTLY, NatBed, all_arrived, all_captured
from tests.support.undisturbed import repeated

pytestmark = needs.LAB

Address = IPv4Address | IPv6Address

FRAMES = 200
# So low that the gateway's queue lasts while other programs take its core.
RATE_FPS = 5000.0
TTL = 61


def field(base: Address, varies: bool, family: Family) -> AddressField:
    """Returns the address, or with `varies` 300 (IPv4) or 256 (IPv6) addresses behind the next hop."""
    if not varies:
        return AddressField(address=base)
    if family == Family.IPV4:
        return AddressField(address=base, min=0x0101, max=0x0101 + 299)
    behind = ip_address(str(base).replace("2001:2::", "2001:2:0:1::").replace("2001:2:0:8000::", "2001:2:0:8001::"))
    return AddressField(address=behind, low_bit=16, min=0xFF00, max=0xFF00 + 255)


def values(field: AddressField) -> set[str]:
    if field.min is None or field.max is None:
        return {str(field.address)}
    mask = ((1 << field.max.bit_length()) - 1) << field.low_bit
    base = int(field.address) & ~mask
    return {str(type(field.address)(base | v << field.low_bit)) for v in range(field.min, field.max + 1)}


def space(bed: NatBed, varied_addresses: bool, varied_ports: bool, source: Side = Side.LEFT) -> FlowSpace:
    near, far = (bed.links.left, bed.links.right) if source == Side.LEFT else (bed.links.right, bed.links.left)
    return FlowSpace(
        source_address=field(near.tester.ip, varied_addresses, bed.family),
        destination_address=field(far.tester.ip, varied_addresses, bed.family),
        source_port=PortField(min=1024, max=65535) if varied_ports else PortField(min=4444, max=4444),
        destination_port=PortField(min=1, max=49151) if varied_ports else PortField(min=53, max=53),
    )


def frame_format(bed: NatBed, size: int | None = None, dont_fragment: bool = False) -> FrameFormat:
    smallest = 64 if bed.family == Family.IPV4 else 84
    return FrameFormat(size=size or smallest, ttl=TTL, dont_fragment=dont_fragment)


def check(frames: list[Packet], result: TrialResult, flows: FlowSpace) -> None:
    """Asserts that every sequence number is there once and that all fields are in the flow space."""
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert sorted(signature_of(frame).sequence for frame in frames) == list(range(len(frames)))
    assert {signature_of(frame).run_id for frame in frames} == {result.run_id}
    sources, destinations = values(flows.source_address), values(flows.destination_address)
    for source, destination, source_port, destination_port in map(tuple_of, frames):
        assert source in sources
        assert destination in destinations
        assert flows.source_port.min <= source_port <= flows.source_port.max
        assert flows.destination_port.min <= destination_port <= flows.destination_port.max


def checked(bed: NatBed, frame: FrameFormat, flows: FlowSpace, selection: Selection = Selection.RANDOM) -> list[Packet]:
    """Sends frames through the gateway, asserts that each arrived, and returns them as they left."""
    stream = StreamSpec(
        name="forward",
        source=Side.LEFT,
        frame=frame,
        rate_fps=RATE_FPS,
        frames=FRAMES,
        flows=flows,
        selection=selection,
    )
    bed.gateway.clear()
    with bed.sent(Side.LEFT) as frames:
        result = bed.engine.run_trial(TrialRequest(streams=[stream], seed=5, **PATIENTLY))
    all_captured(frames, FRAMES)
    assert len(frames) == FRAMES
    check(frames, result, flows)
    return frames


@pytest.mark.parametrize("selection", list(Selection))
@repeated
def test_a_mix_has_its_sizes_in_their_order(bed: NatBed, selection: Selection) -> None:
    sizes = [*mix_sizes("imix", 84), 256]
    flows = space(bed, varied_addresses=True, varied_ports=True)
    frames = checked(bed, FrameFormat(size=sizes, ttl=TTL), flows, selection)
    for number, frame in enumerate(frames):
        assert signature_of(frame).sequence == number
        judge(frame, bed.family, sizes[number % len(sizes)], Side.LEFT, ttl=TTL)
    if selection == Selection.ENUMERATE:
        assert len(set(map(tuple_of, frames))) == FRAMES


HOP_BY_HOP = (0, IPv6ExtHdrHopByHop)
DESTINATION_OPTIONS = (60, IPv6ExtHdrDestOpt)


@pytest.mark.parametrize("bed", [Family.IPV6], indirect=True)
@pytest.mark.parametrize(
    ("form", "headers"),
    [
        (Form.HOP_BY_HOP, [HOP_BY_HOP]),
        (Form.DESTINATION_OPTIONS, [DESTINATION_OPTIONS]),
        (Form.BOTH_OPTIONS, [HOP_BY_HOP, DESTINATION_OPTIONS]),
    ],
)
@repeated
def test_extension_headers(bed: NatBed, form: Form, headers: list[tuple[int, type[Packet]]]) -> None:
    flows = space(bed, varied_addresses=True, varied_ports=True)
    frame = FrameFormat(form=form, size=[100, 600], ttl=TTL)
    frames = checked(bed, frame, flows)
    for each in frames:
        assert len(each) in {100 - 4, 600 - 4}
        assert each[IPv6].plen == len(each) - 14 - 40
        assert has_right_checksums(each)
        layer, names = each[IPv6], each[IPv6].nh
        for protocol, kind in headers:
            assert names == protocol
            layer = layer.payload
            assert isinstance(layer, kind)
            assert [type(option) for option in layer.options] == [PadN]
            assert len(layer) - len(layer.payload) == 8
            names = layer.nh
        assert names == 17
        assert isinstance(layer.payload, UDP)
        assert layer.payload.len == len(layer.payload)


VARIATION = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize("selection", list(Selection))
@pytest.mark.parametrize("size", [None, 65, 128, 1280, 1518])
@repeated
def test_sizes_and_selections(bed: NatBed, size: int | None, selection: Selection) -> None:
    if size == 65 and bed.family == Family.IPV6:
        size = 85
    flows = space(bed, varied_addresses=True, varied_ports=True)
    frame = frame_format(bed, size, dont_fragment=size == 128)
    frames = checked(bed, frame, flows, selection)
    for captured_frame in frames:
        judge(captured_frame, bed.family, frame.longest, Side.LEFT, ttl=TTL, dont_fragment=frame.dont_fragment)
    if selection == Selection.ENUMERATE:
        assert len(set(map(tuple_of, frames))) == FRAMES
    assert len({tuple_of(frame)[0] for frame in frames}) > 50


@pytest.mark.parametrize(("varied_addresses", "varied_ports"), VARIATION)
@repeated
def test_stateless_directions(bed: NatBed, varied_addresses: bool, varied_ports: bool) -> None:
    """The NAT drops the frames from the right because they belong to no connection, so only their sending is judged."""
    for side in (Side.LEFT, Side.RIGHT):
        flows = space(bed, varied_addresses, varied_ports, side)
        stream = StreamSpec(
            name="stateless", source=side, frame=frame_format(bed), rate_fps=RATE_FPS, frames=FRAMES, flows=flows
        )
        bed.gateway.clear()
        with bed.sent(side) as frames:
            result = bed.engine.run_trial(TrialRequest(streams=[stream], seed=6, **PATIENTLY))
        all_captured(frames, FRAMES)
        assert len(frames) == FRAMES
        check(frames, result, flows)
        for frame in frames:
            judge(frame, bed.family, stream.frame.longest, side, ttl=TTL)


@pytest.mark.parametrize(("varied_addresses", "varied_ports"), VARIATION)
@repeated
def test_both_phases_in_both_directions(bed: NatBed, varied_addresses: bool, varied_ports: bool) -> None:
    flows = space(bed, varied_addresses, varied_ports)
    connections = FRAMES if varied_addresses or varied_ports else 1
    initiator = StreamSpec(
        name="phase 1",
        source=Side.LEFT,
        frame=frame_format(bed),
        rate_fps=RATE_FPS,
        frames=connections,
        flows=flows,
        selection=Selection.ENUMERATE,
    )
    size = initiator.frame.longest
    bed.gateway.clear()

    with (
        bed.sent(Side.LEFT) as offered,
        bed.forwarded(Side.RIGHT) as translated,
    ):
        result = bed.engine.run_trial(phase1_of(initiator, seed=7, **PATIENTLY))
    check(offered, result, flows)
    assert result.established == connections
    assert bed.gateway.count() == connections
    for frame in offered:
        judge(frame, bed.family, size, Side.LEFT, ttl=TTL)
    tuples = {signature_of(frame).sequence: tuple_of(frame) for frame in offered}
    assert len(set(tuples.values())) == connections
    outside = {signature_of(frame).sequence: tuple_of(frame) for frame in translated}
    # The responder receives the gateway's address, not the initiator's.
    assert {flow[0] for flow in outside.values()} == {str(bed.links.right.dut.ip)}

    with bed.sent(Side.RIGHT) as replies:
        validation = bed.engine.run_trial(validation_of(initiator, rate_fps=RATE_FPS, seed=8, **PATIENTLY))
    all_arrived(validation)
    assert validation.verdict == Verdict.PASS, validation.reason
    for frame in replies:
        judge(frame, bed.family, size, Side.RIGHT, ttl=TTL)
    assert sorted(map(tuple_of, replies)) == sorted(map(swapped, outside.values()))

    forward = StreamSpec(
        name="forward",
        source=Side.LEFT,
        kind=StreamKind.CONNECTIONS,
        frame=frame_format(bed),
        rate_fps=RATE_FPS,
        frames=2 * connections,
    )
    reverse = forward.model_copy(update={"name": "reverse", "source": Side.RIGHT, "kind": StreamKind.REPLIES})
    with (
        bed.sent(Side.LEFT) as sent_left,
        bed.sent(Side.RIGHT) as sent_right,
    ):
        result = bed.engine.run_trial(TrialRequest(streams=[forward, reverse], seed=9, **PATIENTLY))
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert bed.gateway.count() == connections
    for frame in sent_left:
        judge(frame, bed.family, size, Side.LEFT, ttl=TTL)
    for frame in sent_right:
        judge(frame, bed.family, size, Side.RIGHT, ttl=TTL)
    # The streams use every connection twice.
    assert sorted(map(tuple_of, sent_left)) == sorted([*tuples.values()] * 2)
    assert sorted(map(tuple_of, sent_right)) == sorted([*map(swapped, outside.values())] * 2)
    assert all(Ether in frame for frame in sent_left)
