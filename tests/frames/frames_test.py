# SPDX-License-Identifier: Apache-2.0
"""Every variant of test frame, captured on a real veth and judged by Scapy: each field and each checksum."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import PcapReader

from natxy.dut.base import Gateway
from natxy.dut.registry import create
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve, PortsOpen
from natxy.engine.messages.requests import (
    AddressField,
    EstablishRequest,
    FlowSpace,
    FrameFormat,
    PortField,
    Selection,
    StreamKind,
    StreamSpec,
    TrialLimits,
    TrialRequest,
    ValidateRequest,
)
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.engine.program import find_engine
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.model.terms import Family, Order
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request
from natxy.testbeds.lab import NetnsLab

Address = IPv4Address | IPv6Address
FourTuple = tuple[str, str, int, int]

FRAMES = 200
TTL = 61
FCS_BYTES = 4
# A frame's content is of interest here, not when it left.
AT_LEISURE = TrialLimits(max_overrun_ratio=1, overrun_floor_s=1, max_pause_s=10)


def missing() -> str | None:
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("tcpdump") is None:
        return "tcpdump is not installed"
    try:
        find_engine()
    except Exception as error:
        return str(error)
    return None


pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@dataclass(frozen=True)
class Bed:
    lab: NetnsLab
    engine: EngineClient
    gateway: Gateway[Any]
    family: Family
    links: AddressPlan


def links_of(family: Family) -> AddressPlan:
    def link(dut: str, tester: str, behind: str, networks: int = 1) -> LinkAddresses:
        prefix = ip_network(behind)
        return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), behind=(prefix,), networks=networks)

    if family == Family.IPV4:
        return AddressPlan(
            left=link("10.0.0.1/24", "10.0.0.2/24", "10.0.0.0/16"),
            right=link("198.19.0.1/24", "198.19.0.2/24", "198.19.0.0/16", 256),
        )
    return AddressPlan(
        left=link("2001:2::1/64", "2001:2::2/64", "2001:2::/49"),
        right=link("2001:2:0:8000::1/64", "2001:2:0:8000::2/64", "2001:2:0:8000::/56", 256),
    )


@pytest.fixture(scope="module", params=list(Family))
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    family = request.param
    links = links_of(family)
    with NetnsLab(LabConfig(kind="lab"), links) as lab:
        gateway = create(NftablesConfig(), lab.transport, lab.interfaces, links)
        gateway.apply()
        engine = EngineClient(lab.engine_argv(), tmp_path_factory.mktemp("engine") / "engine.log")
        try:
            engine.open_ports(PortsOpen(ports=lab.port_specs()))
            sides = [
                NeighborSide(side=side, address=link.tester.ip, gateway=link.dut.ip, answers=list(link.behind))
                for side, link in ((Side.LEFT, links.left), (Side.RIGHT, links.right))
            ]
            engine.resolve_neighbors(NeighborsResolve(neighbors=sides))
            yield Bed(lab, engine, gateway, family, links)
        finally:
            engine.close()
            gateway.remove()


@contextmanager
def captured(bed: Bed, interface: str, direction: str, into: Path) -> Iterator[list[Packet]]:
    """UDP frames that pass the DUT's `interface` in `direction`, complete when the block has ended."""
    command = [
        "ip",
        "netns",
        "exec",
        bed.lab.description()["dut namespace"],
        "tcpdump",
        "-i",
        interface,
        "-Q",
        direction,
    ]
    # The DUT's own frames in the other direction would double those of a phase 2.
    tcpdump = subprocess.Popen(
        [*command, "-Z", "root", "-U", "--immediate-mode", "-s", "0", "-B", "16384", "-w", str(into), "udp"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tcpdump.stderr is not None
    while "listening on" not in tcpdump.stderr.readline():
        assert tcpdump.poll() is None, "tcpdump ended"
    frames: list[Packet] = []
    try:
        yield frames
        time.sleep(0.3)
    finally:
        tcpdump.terminate()
        tcpdump.wait()
        tcpdump.stderr.close()
    with PcapReader(str(into)) as reader:
        frames.extend(reader)


def field(base: Address, varies: bool, family: Family) -> AddressField:
    """With `varies`: 300 values, of the last 16 bits (IPv4) or of bits 96 to 111 (IPv6), behind the next hop."""
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


def space(bed: Bed, varied_addresses: bool, varied_ports: bool, source: Side = Side.LEFT) -> FlowSpace:
    near, far = (bed.links.left, bed.links.right) if source == Side.LEFT else (bed.links.right, bed.links.left)
    return FlowSpace(
        source_address=field(near.tester.ip, varied_addresses, bed.family),
        destination_address=field(far.tester.ip, varied_addresses, bed.family),
        source_port=PortField(min=1024, max=65535) if varied_ports else PortField(min=4444, max=4444),
        destination_port=PortField(min=1, max=49151) if varied_ports else PortField(min=53, max=53),
    )


def frame_format(bed: Bed, size: int | None = None, dont_fragment: bool = False) -> FrameFormat:
    smallest = 64 if bed.family == Family.IPV4 else 84
    return FrameFormat(size=size or smallest, ttl=TTL, dont_fragment=dont_fragment)


def tuple_of(frame: Packet) -> FourTuple:
    network = frame[IP] if IP in frame else frame[IPv6]
    return network.src, network.dst, frame[UDP].sport, frame[UDP].dport


def swapped(flow: FourTuple) -> FourTuple:
    return flow[1], flow[0], flow[3], flow[2]


def signature_of(frame: Packet) -> tuple[int, int, int]:
    """(stream, run id, sequence number) from the first 18 bytes of the UDP payload."""
    payload = bytes(frame[UDP].payload)
    assert payload[:3] == b"NXY"
    return payload[3], int.from_bytes(payload[4:6], "big"), int.from_bytes(payload[6:12], "big")


def judge(bed: Bed, frame: Packet, size: int, side: Side, dont_fragment: bool = False, ttl: int = TTL) -> None:
    """Asserts everything that does not vary, and that Scapy computes the very same checksums."""
    assert len(frame) == size - FCS_BYTES
    ends = (
        ("02:00:00:00:00:01", "02:00:00:00:00:11") if side == Side.LEFT else ("02:00:00:00:01:01", "02:00:00:00:01:11")
    )
    assert (frame.src, frame.dst) == ends
    if bed.family == Family.IPV4:
        network = frame[IP]
        assert frame.type == 0x0800
        assert (network.version, network.ihl, network.tos, network.frag) == (4, 5, 0, 0)
        assert (network.ttl, network.proto) == (ttl, 17)
        assert network.flags == ("DF" if dont_fragment else 0)
        assert network.len == size - FCS_BYTES - 14
        header = 20
    else:
        network = frame[IPv6]
        assert frame.type == 0x86DD
        assert (network.version, network.tc, network.fl) == (6, 0, 0)
        assert (network.hlim, network.nh) == (ttl, 17)
        assert network.plen == size - FCS_BYTES - 14 - 40
        header = 40
    assert frame[UDP].len == size - FCS_BYTES - 14 - header
    assert frame[UDP].chksum != 0
    rebuilt = frame.copy()
    del rebuilt[UDP].chksum
    if bed.family == Family.IPV4:
        del rebuilt[IP].chksum
    assert bytes(rebuilt) == bytes(frame)
    payload = bytes(frame[UDP].payload)
    assert payload[18:] == bytes(len(payload) - 18)


def check(frames: list[Packet], result: TrialResult, flows: FlowSpace) -> None:
    """All sent frames are there, each sequence number once, all fields within the flow space."""
    assert result.verdict == Verdict.PASS, result.reason
    assert sorted(signature_of(frame)[2] for frame in frames) == list(range(len(frames)))
    assert {signature_of(frame)[1] for frame in frames} == {result.run_id}
    sources, destinations = values(flows.source_address), values(flows.destination_address)
    for source, destination, source_port, destination_port in map(tuple_of, frames):
        assert source in sources
        assert destination in destinations
        assert flows.source_port.min <= source_port <= flows.source_port.max
        assert flows.destination_port.min <= destination_port <= flows.destination_port.max


VARIATION = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize("selection", list(Selection))
@pytest.mark.parametrize("size", [None, 65, 128, 1280, 1518])
def test_sizes_and_selections(bed: Bed, tmp_path: Path, size: int | None, selection: Selection) -> None:
    if size == 65 and bed.family == Family.IPV6:
        size = 85
    flows = space(bed, varied_addresses=True, varied_ports=True)
    frame = frame_format(bed, size, dont_fragment=size == 128)
    stream = StreamSpec(
        name="forward", source=Side.LEFT, frame=frame, rate_fps=20_000, frames=FRAMES, flows=flows, selection=selection
    )
    bed.gateway.clear()
    with captured(bed, bed.lab.interfaces.left, "in", tmp_path / "sent.pcap") as frames:
        result = bed.engine.run_trial(TrialRequest(streams=[stream], seed=5, drain_s=0.2, limits=AT_LEISURE))
    assert len(frames) == FRAMES
    check(frames, result, flows)
    for captured_frame in frames:
        judge(bed, captured_frame, frame.size, Side.LEFT, dont_fragment=frame.dont_fragment)
    if selection == Selection.ENUMERATE:
        assert len(set(map(tuple_of, frames))) == FRAMES
    assert len({tuple_of(frame)[0] for frame in frames}) > 50


@pytest.mark.parametrize(("varied_addresses", "varied_ports"), VARIATION)
def test_stateless_directions(bed: Bed, tmp_path: Path, varied_addresses: bool, varied_ports: bool) -> None:
    """Forward from the initiator's side; the way back is not opened by the NAT, so only its sending is judged."""
    for side, interface in ((Side.LEFT, bed.lab.interfaces.left), (Side.RIGHT, bed.lab.interfaces.right)):
        flows = space(bed, varied_addresses, varied_ports, side)
        stream = StreamSpec(
            name="stateless", source=side, frame=frame_format(bed), rate_fps=20_000, frames=FRAMES, flows=flows
        )
        bed.gateway.clear()
        with captured(bed, interface, "in", tmp_path / f"{side}.pcap") as frames:
            result = bed.engine.run_trial(TrialRequest(streams=[stream], seed=6, drain_s=0.2, limits=AT_LEISURE))
        assert len(frames) == FRAMES
        check(frames, result, flows)
        for frame in frames:
            judge(bed, frame, stream.frame.size, side)


@pytest.mark.parametrize(("varied_addresses", "varied_ports"), VARIATION)
def test_both_phases_in_both_directions(bed: Bed, tmp_path: Path, varied_addresses: bool, varied_ports: bool) -> None:
    flows = space(bed, varied_addresses, varied_ports)
    connections = FRAMES if varied_addresses or varied_ports else 1
    initiator = StreamSpec(
        name="phase 1",
        source=Side.LEFT,
        frame=frame_format(bed),
        rate_fps=20_000,
        frames=connections,
        flows=flows,
        selection=Selection.ENUMERATE,
    )
    size = initiator.frame.size
    left, right = bed.lab.interfaces.left, bed.lab.interfaces.right
    bed.gateway.clear()

    with (
        captured(bed, left, "in", tmp_path / "phase1.pcap") as offered,
        captured(bed, right, "out", tmp_path / "translated.pcap") as translated,
    ):
        result = bed.engine.establish(EstablishRequest(stream=initiator, seed=7, drain_s=0.2, limits=AT_LEISURE))
    check(offered, result, flows)
    assert result.established == connections
    assert bed.gateway.count() == connections
    for frame in offered:
        judge(bed, frame, size, Side.LEFT)
    tuples = {signature_of(frame)[2]: tuple_of(frame) for frame in offered}
    assert len(set(tuples.values())) == connections
    outside = {signature_of(frame)[2]: tuple_of(frame) for frame in translated}
    # The gateway really translates: the responder sees its address, not the initiator's.
    assert {flow[0] for flow in outside.values()} == {str(bed.links.right.dut.ip)}

    with captured(bed, right, "in", tmp_path / "validation.pcap") as replies:
        validation = bed.engine.validate(
            ValidateRequest(frame=frame_format(bed), rate_fps=20_000, seed=8, drain_s=0.2, limits=AT_LEISURE)
        )
    assert validation.verdict == Verdict.PASS, validation.reason
    for frame in replies:
        judge(bed, frame, size, Side.RIGHT)
    assert sorted(map(tuple_of, replies)) == sorted(map(swapped, outside.values()))

    forward = StreamSpec(
        name="forward",
        source=Side.LEFT,
        kind=StreamKind.CONNECTIONS,
        frame=frame_format(bed),
        rate_fps=20_000,
        frames=2 * connections,
    )
    reverse = forward.model_copy(update={"name": "reverse", "source": Side.RIGHT, "kind": StreamKind.REPLIES})
    with (
        captured(bed, left, "in", tmp_path / "forward.pcap") as sent_left,
        captured(bed, right, "in", tmp_path / "reverse.pcap") as sent_right,
    ):
        result = bed.engine.run_trial(TrialRequest(streams=[forward, reverse], seed=9, drain_s=0.2, limits=AT_LEISURE))
    assert result.verdict == Verdict.PASS, result.reason
    assert bed.gateway.count() == connections
    for frame in sent_left:
        judge(bed, frame, size, Side.LEFT)
    for frame in sent_right:
        judge(bed, frame, size, Side.RIGHT)
    # Round and round: every connection twice.
    assert sorted(map(tuple_of, sent_left)) == sorted([*tuples.values()] * 2)
    assert sorted(map(tuple_of, sent_right)) == sorted([*map(swapped, outside.values())] * 2)
    assert all(Ether in frame for frame in sent_left)


# What a plan may write of the left and the right side's hosts.
HOSTS: dict[str, dict[Family, tuple[Any, Any]]] = {
    "prefixes": {
        Family.IPV4: ("10.0.4.0/23", "198.19.8.0/22"),
        Family.IPV6: ("2001:2:0:1::/112", "2001:2:0:8001::40/122"),
    },
    "lists": {
        Family.IPV4: (["10.0.200.9", "10.0.7.1", "10.0.3.77"], ["198.19.77.2", "198.19.1.1"]),
        Family.IPV6: (["2001:2:0:77::9", "2001:2:0:1::9"], ["2001:2:0:8001::5", "2001:2:0:8042::1", "2001:2:0:8007::"]),
    },
    "odd bits": {
        Family.IPV4: (
            {"first": "10.0.2.9", "last": "10.0.37.41", "low_bit": 5},
            {"first": "198.19.1.3", "last": "198.19.254.131", "low_bit": 7},
        ),
        # Across the middle of the address, and one bit below its upper half.
        Family.IPV6: (
            {"first": "2001:2:0:2:6000::2", "last": "2001:2:0:21:4000::2", "low_bit": 61},
            {"first": "2001:2:0:8001::1", "last": "2001:2:0:8001:63::1", "low_bit": 48},
        ),
    },
    "256 networks of 14 hosts": {
        Family.IPV4: ("10.0.9.0/28", [f"198.19.{128 + n // 2}.{n % 2 * 128}/28" for n in range(256)]),
        Family.IPV6: ("2001:2:0:9::/124", [f"2001:2:0:80{n:02x}::f0/124" for n in range(256)]),
    },
}


def all_of(written: Any) -> list[str]:
    if isinstance(written, list):
        return [address for each in written for address in all_of(each)]
    if isinstance(written, dict):
        first, last, step = int(ip_address(written["first"])), int(ip_address(written["last"])), 1 << written["low_bit"]
        kind = type(ip_address(written["first"]))
        return [str(kind(address)) for address in range(first, last + 1, step)]
    return [*map(str, ip_network(written).hosts())] if "/" in written else [written]


@pytest.mark.parametrize("turn", range(len(Order)))
@pytest.mark.parametrize("case", HOSTS)
def test_every_flow_set_in_every_order(bed: Bed, tmp_path: Path, case: str, turn: int) -> None:
    """From what a plan writes to the tuple of each frame; in the three turns each field has each order."""
    fields = ("destination_address", "source_address", "destination_port", "source_port")
    orders = {field: [*Order][(number + turn) % len(Order)] for number, field in enumerate(fields)}
    left, right = HOSTS[case][bed.family]
    experiment = {
        "name": "flows",
        "gateway": "nftables",
        "procedure": "connection-rate",
        "family": bed.family,
        "connections": FRAMES,
        "search": {"max_rate": "20k"},
        "addresses": {
            **{side: getattr(bed.links, side).model_dump(mode="json") for side in ("left", "right")},
            **{"left_hosts": left, "right_hosts": right},
        },
        "ports": {"source": "1024-1030", "destination": "80-84"},
        "orders": orders,
    }
    resolved = resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [experiment]}))
    request = establish_request(resolved.experiments[0], 20_000, seed=3)
    domains = [all_of(right), all_of(left), [*range(80, 85)], [*range(1024, 1031)]]
    sent: list[dict[int, FourTuple]] = []
    for number, (selection, seed) in enumerate(
        [(Selection.ENUMERATE, 3), (Selection.RANDOM, 3), (Selection.RANDOM, 3), (Selection.RANDOM, 4)]
    ):
        stream = request.stream.model_copy(update={"selection": selection})
        bed.gateway.clear()
        with captured(bed, bed.lab.interfaces.left, "in", tmp_path / f"{number}.pcap") as frames:
            bed.engine.run_trial(TrialRequest(streams=[stream], seed=seed, drain_s=0.1, limits=AT_LEISURE))
        for frame in frames:
            judge(bed, frame, stream.frame.size, Side.LEFT, ttl=64)
        sent.append({signature_of(frame)[2]: tuple_of(frame) for frame in frames})
        assert sorted(sent[-1]) == list(range(FRAMES))

    enumerated, drawn, again, other_seed = sent
    assert len(set(enumerated.values())) == FRAMES
    assert drawn == again
    assert drawn != other_seed
    weight = 1
    for field, domain in zip(reversed(fields), reversed(domains), strict=True):
        place = ("source_address", "destination_address", "source_port", "destination_port").index(field)
        in_order: list[Any] = domain[::-1] if orders[field] == Order.DECREASING else domain
        for sequence in range(FRAMES):
            counted, alone = enumerated[sequence][place], drawn[sequence][place]
            if orders[field] == Order.PSEUDORANDOM:
                assert counted in in_order
                assert alone in in_order
            else:
                assert counted == in_order[sequence // weight % len(domain)], field
                assert alone == in_order[sequence % len(domain)], field
        weight *= len(domain)
