# SPDX-License-Identifier: Apache-2.0
"""Tests the two gateways of IPv4 as a service in namespaces of one virtual machine: their frames on the link between
them, dissected by Scapy, packets in the wrong softwire, and what stays of a gateway that another object removes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.addressing.port_sets import PortSet
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Gateway
from natxy.dut.registry import create
from natxy.dut.transport.base import Transport
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortsOpen
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Verdict
from natxy.errors import GatewayDiedError
from natxy.plan.experiment import Experiment
from natxy.plan.model.subscribers import Subscribers
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.vm import VmConfig
from natxy.plan.written import Plan
from natxy.probe.binding import binding_of
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from natxy.testbeds.vm.lab import VmLab
from tests.support import needs
from tests.support.capture import Direction
from tests.support.captured_frames import has_right_checksums, signature_of
from tests.support.guest_capture import captured_in_guest
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, *needs.VM, pytest.mark.long]

FRAMES: Final = 50
CONNECTIONS: Final = 20
# Without KVM, and on a busy machine, a frame takes seconds now and then.
FPS: Final = 200.0
DRAIN_S: Final = 10.0
MTU: Final = 1540
CONNECTED: Final[dict[str, Any]] = {"connections": CONNECTIONS, "phase1_rate": "1k"}
TUNNEL: Final = {"driver": "softwire", "by": "ip6_tunnel"}
PORTS: Final = {"psid": 3, "psid_length": 4, "offset": 6}
CUSTOMER: Final = {"driver": "nftables", "port_set": PORTS}
RELAY: Final = {"driver": "lwaftr", "port_set": PORTS}
JOOL: Final = {"driver": "map-t", "by": "jool-siit"}


def experiment_of(*gateways: str | dict[str, Any], **own: Any) -> Experiment:
    gateway = {"driver": "chain", "gateways": [*gateways]}
    fields = {"name": "e", "procedure": "throughput", "search": {"max_rate": "1M"}, "gateway": gateway} | own
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": "vm"}, "experiments": [fields]}
    return resolve(Plan.model_validate(plan)).experiments[0]


@pytest.fixture(scope="module")
def machine() -> Iterator[VmLab]:
    """Yields a virtual machine whose links take the longest frame of these tests."""
    addresses = experiment_of(TUNNEL, TUNNEL).path.ends.model_copy(update={"mtu": MTU})
    with VmLab(VmConfig(kind="vm", cpus=1), addresses) as lab:
        # With the module comes an interface of its own in each namespace.
        lab.transport.run(["modprobe", "ip6_tunnel"])
        yield lab


@contextmanager
def set_up(lab: VmLab, experiment: Experiment, folder: Path) -> Iterator[tuple[Gateway[Any], EngineClient]]:
    """Yields the gateways, and an engine that has resolved the addresses of the outer ones."""
    with ExitStack() as stack:
        gateway = lab.create_path(experiment.path)
        stack.callback(gateway.unset_links)
        gateway.set_links()
        stack.callback(gateway.remove)
        gateway.apply()
        gateway.wait_ready()
        engine = EngineClient(lab.engine_argv(), folder / "engine.log")
        stack.callback(engine.close)
        engine.open_ports(PortsOpen(ports=lab.port_specs()))
        engine.resolve_neighbors(neighbors_request(experiment))
        yield gateway, engine


def at_leisure(request: TrialRequest) -> TrialRequest:
    return patiently(request).model_copy(update={"drain_s": DRAIN_S})


def passed(lab: VmLab, experiment: Experiment, engine: EngineClient, number: int) -> dict[Side, list[Packet]]:
    """Returns the frames of a trial that have passed the left interface of a gateway, by the side they come from."""
    if experiment.connections:
        made = engine.run_trial(at_leisure(establish_request(experiment, FPS, 7)))
        all_arrived(made)
        assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
    hop = lab.boxes[number]
    with captured_in_guest(hop.transport, hop.interfaces.left) as frames:
        result = engine.run_trial(at_leisure(traffic_request(experiment, FPS, 7, frames=FRAMES)))
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
    found = {Side.LEFT: frames[Direction.IN], Side.RIGHT: frames[Direction.OUT]}
    for each in found.values():
        assert sorted(signature_of(frame).sequence for frame in each) == [*range(FRAMES)]
        assert all(has_right_checksums(frame) for frame in each)
    return found


@pytest.mark.parametrize(
    ("gateways", "own", "edge", "host", "hops"),
    [
        pytest.param((TUNNEL, TUNNEL), {}, 0, "198.18.0.2", (1, 1), marks=pytest.mark.more),
        # DS-Lite, and lw4o6 or MAP-E. The inner packet loses a hop in each gateway before the link, both ways.
        ((TUNNEL, TUNNEL, "nftables"), CONNECTED, 0, "10.0.0.2", (1, 2)),
        ((CUSTOMER, TUNNEL, RELAY), CONNECTED, 1, "100.64.1.1", (2, 1)),
    ],
    ids=["softwire", "ds-lite", "lw4o6"],
)
@repeated
def test_a_softwire_has_ipv4_packets_in_ipv6(
    gateways: tuple[str | dict[str, Any], ...],
    own: dict[str, Any],
    edge: int,
    host: str,
    hops: tuple[int, int],
    machine: VmLab,
    tmp_path: Path,
) -> None:
    short, long = (experiment_of(*gateways, frame_size=size, dont_fragment=True, **own) for size in (64, 1518))
    with set_up(machine, long, tmp_path) as (_, engine):
        found = [(each, *sent) for each in (short, long) for sent in passed(machine, each, engine, edge + 1).items()]
    tunnel, inner_ends = (f"2001:2:0:500{edge}::1", f"2001:2:0:500{edge}::2"), (host, "198.19.0.2")
    for experiment, side, frames in found:
        size = experiment.frame_size
        way = slice(None, None, 1 if side == Side.LEFT else -1)
        for frame in frames:
            outer, inner = frame[IPv6], frame[IP]
            # Nothing is between the two headers (RFC 2473 §3.1), such as Linux's usual encapsulation limit.
            assert (frame.type, outer.nh, bytes(outer)[40:]) == (0x86DD, 4, bytes(inner))
            assert (outer.src, outer.dst, outer.plen) == (*tunnel[way], size - 18)
            assert (outer.hlim, outer.tc) == (64, 0)
            assert (inner.src, inner.dst) == (*inner_ends[way],)
            assert (inner.flags, inner.frag, inner.len, inner.options) == ("DF", 0, size - 18, [])
            assert inner.ttl == experiment.ttl - hops[side == Side.RIGHT]
            if gateways[0] == CUSTOMER:
                assert (frame[UDP].sport if side == Side.LEFT else frame[UDP].dport) in PortSet(**PORTS)


@pytest.mark.parametrize(
    ("gateways", "left", "right", "hops"),
    [
        # RFC 6877 §6.3 and RFC 6052 §2.2, by hand: 10.0.0.2 is 0a.00.00.02, 198.19.0.2 is c6.13.00.02.
        (("jool-siit", "jool"), "2001:2:0:46::a00:2", "2001:2:0:64::c613:2", (1, 1)),
        pytest.param(
            (CUSTOMER, "jool-siit", "jool-siit"), "2001:2:0:46::6440:101", "2001:2:0:64::c613:2", (2, 1),
            marks=pytest.mark.more,
        ),
        # RFC 7597 §6: 100.64.1.1 is 64.40.01.01, and the PSID is 3. RFC 6052 §2.2, behind 64 bits.
        ((CUSTOMER, JOOL, JOOL), "2001:2:0:5001:0:6440:101:3", "2001:2:0:64:c6:1300:200:0", (2, 1)),
    ],
    ids=["464xlat", "two SIITs", "map-t"],
)  # fmt: skip
@repeated
def test_translators_have_ipv6_between_them(
    gateways: tuple[str | dict[str, Any], ...],
    left: str,
    right: str,
    hops: tuple[int, int],
    machine: VmLab,
    tmp_path: Path,
) -> None:
    experiment = experiment_of(*gateways, **CONNECTED)
    with set_up(machine, experiment, tmp_path) as (_, engine):
        found = passed(machine, experiment, engine, len(gateways) - 1)
    for side, frames in found.items():
        ends = (left, right) if side == Side.LEFT else (right, left)
        assert {(frame[IPv6].src, frame[IPv6].dst, frame[IPv6].nh) for frame in frames} == {(*ends, 17)}
        assert {experiment.ttl - frame[IPv6].hlim for frame in frames} == {hops[side == Side.RIGHT]}
        assert {len(frame[UDP].payload) for frame in frames} == {experiment.frame_size - 18 - 20 - 8}
        if gateways[0] == CUSTOMER:
            ports = {frame[UDP].sport if side == Side.LEFT else frame[UDP].dport for frame in frames}
            assert all(port in PortSet(**PORTS) for port in ports)


SHARED: Final = {"ipv4": "198.18.128.0/30", "ea_length": 4}
SIX_BITS: Final = {
    "subscribers": SHARED | {"offset": 6},
    "ports": {"source": "1024-65535", "destination": "1024-65535"},
}


@pytest.mark.parametrize(
    ("core", "own", "spoofed"),
    [
        pytest.param("lwaftr", {"subscribers": {}}, 0, marks=pytest.mark.more),
        ("lwaftr", SIX_BITS, 0),
        pytest.param(TUNNEL, {"subscribers": SHARED | {"offset": 0}}, 16, marks=pytest.mark.more),
        pytest.param(TUNNEL, SIX_BITS, 16, marks=pytest.mark.more),
    ],
    ids=["an address each", "six bits before the PSID", "ports of theirs", "a thousand rules"],
)
@repeated
def test_each_subscriber_of_a_core_has_its_own_softwire(
    core: str | dict[str, Any], own: dict[str, Any], spoofed: int, machine: VmLab, tmp_path: Path
) -> None:
    experiment = experiment_of("tester", core, **own)
    subscribers = experiment.subscribers
    assert isinstance(subscribers, Subscribers)
    with set_up(machine, experiment, tmp_path) as (_, engine):
        found = passed(machine, experiment, engine, 0)
        binding = binding_of(engine, experiment)
    shared_bits = subscribers.rule.psid_length
    ways = ((Side.LEFT, "src", "sport", experiment.ttl), (Side.RIGHT, "dst", "dport", experiment.ttl - 1))
    for side, end, port, ttl in ways:
        for frame in found[side]:
            address, number = IPv4Address(getattr(frame[IP], end)), getattr(frame[UDP], port)
            psid = number >> 16 - subscribers.offset - shared_bits & (1 << shared_bits) - 1 if shared_bits else 0
            # RFC 7597 §5.2 and §6: prefix, bits of the address, PSID; then the address and the PSID again.
            own_bits = int(address) - int(subscribers.ipv4.network_address) << shared_bits | psid
            high = int(subscribers.ipv6.network_address) >> 64 | own_bits << 16 - subscribers.rule.ea_length
            assert IPv6Address(getattr(frame[IPv6], end)) == IPv6Address(high << 64 | int(address) << 16 | psid)
            assert (frame[IPv6].nh, frame[IP].ttl) == (4, ttl)
    assert len({frame[IPv6].dst for frame in found[Side.RIGHT]}) > 1
    # The check of the binding (RFC 7596 §6.2, RFC 7597 §8.1).
    assert binding
    assert (binding.sent, binding.passed) == (16, spoofed)


@repeated
def test_each_subscriber_of_a_border_relay_has_its_own_instance(machine: VmLab, tmp_path: Path) -> None:
    experiment = experiment_of("tester", JOOL, **SIX_BITS)
    with set_up(machine, experiment, tmp_path) as (gateway, engine):
        found = passed(machine, experiment, engine, 0)
        binding = binding_of(engine, experiment)
        gateway.check_alive()
        [core] = gateway.hops
        core.transport.run(["jool_siit", "instance", "remove", "natxy-map2"])
        with pytest.raises(GatewayDiedError, match="Jool's instance natxy-map2 is gone"):
            gateway.check_alive()
    assert binding
    assert (binding.sent, binding.passed) == (16, 0)
    seen = set()
    for side, end, far, port, ttl in (
        (Side.LEFT, "src", "dst", "sport", experiment.ttl),
        (Side.RIGHT, "dst", "src", "dport", experiment.ttl - 1),
    ):
        for frame in found[side]:
            address, psid = int(IPv6Address(getattr(frame[IPv6], end))), getattr(frame[UDP], port) >> 8 & 3
            # RFC 7597 §6, by hand: two bits of the address and two of the PSID behind /60, and both again at the end.
            suffix = address >> 16 & 3
            high = int(IPv6Address("fd00:2:6::")) >> 64 | suffix << 14 | psid << 12
            assert IPv6Address(address) == IPv6Address(
                high << 64 | int(IPv4Address("198.18.128.0")) + suffix << 16 | psid
            )
            assert (getattr(frame[IPv6], far), frame[IPv6].nh) == ("2001:2:0:64:c6:1300:200:0", 17)
            assert frame[IPv6].hlim == ttl
            seen.add((suffix, psid))
    assert len(seen) > 4


@pytest.mark.parametrize("own", [SIX_BITS, {"subscribers": {"ipv4": "198.18.128.0/30"}}], ids=["shared", "not shared"])
@repeated
def test_a_border_relay_forwards_nothing_of_subscribers_without_a_mapping(
    own: dict[str, Any], machine: VmLab, tmp_path: Path
) -> None:
    experiment = experiment_of("tester", JOOL, **own)
    subscribers = experiment.subscribers
    assert isinstance(subscribers, Subscribers)
    first = subscribers.ipv4.network_address
    with set_up(machine, experiment, tmp_path) as (gateway, engine):
        gateway.set_unbound([SubscriberRange.of(subscribers.rule, first, first + 1)])
        [hop] = machine.boxes
        with captured_in_guest(hop.transport, hop.interfaces.left) as frames:
            result = engine.run_trial(at_leisure(traffic_request(experiment, FPS, 7, frames=FRAMES)))
        gateway.set_unbound([])
        passed(machine, experiment, engine, 0)
    forward, reverse = result.streams

    def bound(direction: Direction, end: str) -> list[bool]:
        """Returns of each frame whether its subscriber has one of the last two addresses."""
        addresses = [int(IPv6Address(getattr(frame[IPv6], end))) for frame in frames[direction] if UDP in frame]
        return [address >> 16 & 3 > 1 for address in addresses]

    sent, delivered = bound(Direction.IN, "src"), bound(Direction.OUT, "dst")
    assert (len(sent), forward.received) == (FRAMES, sum(sent))
    assert (all(delivered), reverse.received) == (True, len(delivered))
    assert all(0 < stream.received < FRAMES for stream in (forward, reverse))


def state_of(place: Transport) -> list[str]:
    """Returns all that a core changes in its namespace, line by line, once it has settled: the kernel tries an address
    before the address is there for good."""
    commands = (
        "ip -o link",
        "ip -o address",
        "ip -4 rule",
        "ip -4 route show table all",
        "ip -6 route show table all",
        "tc qdisc",
        "nft list tables",
        "jool_siit instance display --csv --no-headers",
        "sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding",
    )
    found: list[str] = []
    for _ in range(20):
        before, found = found, place.run(["sh", "-c", "; ".join(commands)]).stdout.splitlines()
        if found == before and not any("tentative" in line for line in found):
            return found
        time.sleep(0.5)
    raise AssertionError("\n".join(found))


@pytest.mark.parametrize(
    ("core", "own"),
    [
        pytest.param(TUNNEL, {}, marks=pytest.mark.more),
        ("lwaftr", {}),
        pytest.param("lwaftr", {"subscribers": SHARED | {"offset": 0}}, marks=pytest.mark.more),
        pytest.param(TUNNEL, SIX_BITS, marks=pytest.mark.more),
        (JOOL, SIX_BITS),
    ],
    ids=["one", "one that is checked", "shared", "a thousand rules", "instances of Jool"],
)
def test_another_object_gives_everything_back(core: str | dict[str, Any], own: dict[str, Any], machine: VmLab) -> None:
    experiment = experiment_of("tester" if own else TUNNEL, core, **own)
    gateway = machine.create_path(experiment.path)
    gateway.set_links()
    *_, last = machine.boxes
    before = state_of(last.transport)
    gateway.apply()
    assert state_of(last.transport) != before
    # After a kill, another process does this.
    hop = experiment.path.hops[-1]
    create(hop.gateway, last.transport, last.interfaces, hop.addresses).remove()
    assert state_of(last.transport) == before
    gateway.remove()
    gateway.unset_links()
