# SPDX-License-Identifier: Apache-2.0
"""Tests a tester with one port for both sides, each of which is a VLAN, and a DUT whose interfaces are these VLANs.

A switch joins the trunk with the DUT: a program, because few test kernels have VLANs.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet

from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve, PortMedium, PortsOpen, PortSpec
from natxy.engine.messages.requests import AddressField, FlowSpace, FrameFormat, PortField, StreamSpec, TrialRequest
from natxy.engine.messages.results import Verdict
from natxy.engine.program import find_engine
from natxy.errors import DutError
from natxy.plan.model.terms import Family
from natxy.report.words.conditions import conditions
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState
from tests.support import needs, vlan_switch
from tests.support.capture import inside
from tests.support.captured_frames import judge, signature_of, tuple_of
from tests.support.command import natxy
from tests.support.engine_trials import first_progress
from tests.support.iproute import ip
from tests.support.nat_bed import PATIENTLY, all_captured
from tests.support.undisturbed import DisturbedError, repeated, undisturbed

pytestmark = needs.LAB

TESTER, SWITCH, DUT = (f"vlan-{os.getpid()}-{name}" for name in ("tester", "switch", "dut"))
VLANS: Final = {Side.LEFT: 10, Side.RIGHT: 4094}
TESTER_MACS: Final = {Side.LEFT: "02:00:00:00:00:01", Side.RIGHT: "02:00:00:00:01:01"}
DUT_MACS: Final = {Side.LEFT: "02:00:00:00:00:11", Side.RIGHT: "02:00:00:00:01:11"}
ADDRESSES: Final = {
    Family.IPV4: {Side.LEFT: "198.18.0", Side.RIGHT: "198.19.0"},
    Family.IPV6: {Side.LEFT: "2001:2:", Side.RIGHT: "2001:2:0:8000:"},
}
FRAMES: Final = 200

PLAN = """
name: trunk
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms, max_backlog: 90%}}
repeat: 1
line_rate: 1Gbps
testbed:
  kind: hardware
  left: {{interface: t-trunk, vlan: 10{service}}}
  right: {{interface: t-trunk, vlan: 4094{service}}}
  io: {io}
  dut: {{namespace: {dut}, left: d-arm.10, right: d-arm.4094}}
defaults: {{procedure: throughput, search: {{min_rate: 200, max_rate: 400, error: 200}}, max_invalid: 20}}
experiments:
  - {{name: nat, gateway: nftables, connections: 100, phase1_rate: 400}}
  - {{name: router, gateway: linux-forward, family: ipv6, frame_size: 1518}}
"""


def host(family: Family, side: Side, number: int) -> str:
    return f"{ADDRESSES[family][side]}{'.' if family is Family.IPV4 else ':'}{number}"


@pytest.fixture
def trunk() -> Iterator[socket.socket]:
    """Joins the tester's port to a switch. Yields what the switch has at the other end of the cable."""
    with ExitStack() as stack:
        for namespace in (TESTER, SWITCH):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
            ip("netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        cable("t-trunk", TESTER, "s-trunk")
        with inside(SWITCH):
            end = stack.enter_context(vlan_switch.opened("s-trunk"))
        yield end


def cable(end: str, namespace: str, port: str) -> None:
    """Joins an interface to a port of the switch."""
    ip("-n", SWITCH, "link", "add", "name", port, "type", "veth", "peer", "name", end, "netns", namespace)
    for owner, name in ((namespace, end), (SWITCH, port)):
        # The interfaces behave as a card whose offloads are off.
        ip("netns", "exec", owner, "ethtool", "-K", name, "tx", "off")
        ip("-n", owner, "link", "set", name, "up")


def seen(end: socket.socket) -> Iterator[tuple[int | None, Packet]]:
    """Yields the frames that have arrived, each with its VLAN."""
    while select.select([end], [], [], 0.1)[0]:
        frame, vlan = vlan_switch.received(end)
        yield vlan, Ether(frame)


@pytest.fixture
def engine(trunk: socket.socket, tmp_path: Path) -> Iterator[EngineClient]:
    first, *others = sorted(os.sched_getaffinity(0))
    argv = ["--worker-cores", str(first), "--main-core", str(others[0] if others else first)]
    client = EngineClient(["ip", "netns", "exec", TESTER, str(find_engine()), *argv], tmp_path / "engine.log")
    try:
        ports = [
            PortSpec(side=side, device="net_af_packet0,iface=t-trunk", medium=PortMedium.NIC, mac=TESTER_MACS[side],
                     vlan=VLANS[side])
            for side in Side
        ]  # fmt: skip
        client.open_ports(PortsOpen(ports=ports))
        yield client
    finally:
        client.close()


def stream(family: Family, side: Side, size: int) -> StreamSpec:
    source, destination = (AddressField(address=ip_address(host(family, each, 2))) for each in (side, side.opposite))
    return StreamSpec(
        name=side, source=side, frame=FrameFormat(size=size, ttl=9), rate_fps=2000, frames=FRAMES,
        flows=FlowSpace(source_address=source, destination_address=destination,
                        source_port=PortField(min=1024, max=65535), destination_port=PortField(min=7, max=7)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("family", "size"),
    [(Family.IPV4, 64), (Family.IPV4, 1518), (Family.IPV6, 84), (Family.IPV6, 1518)],
)
@repeated
def test_frames_have_the_tag_of_their_side(
    trunk: socket.socket, engine: EngineClient, family: Family, size: int
) -> None:
    engine.resolve_neighbors(
        NeighborsResolve(
            neighbors=[
                NeighborSide(side=side, address=ip_address(host(family, side, 2)), gateway_mac=DUT_MACS[side])
                for side in Side
            ]
        )
    )
    streams = [stream(family, side, size) for side in Side]
    # No frame comes back.
    result = engine.run_trial(TrialRequest(streams=streams, seed=5, **PATIENTLY | {"drain_s": 0.1}))
    frames = [*seen(trunk)]
    if result.verdict == Verdict.INVALID:
        raise DisturbedError(result.reason)
    assert result.verdict == Verdict.FAIL
    all_captured([frame for _, frame in frames], 2 * FRAMES)
    for number, side in enumerate(Side):
        own = [frame for vlan, frame in frames if vlan == VLANS[side]]
        assert {signature_of(frame).sequence for frame in own} == set(range(FRAMES))
        for frame in own:
            # A tag is in no length: neither in that of the IP packet nor in the frame's size.
            judge(frame, family, size, side, ttl=9)
            assert signature_of(frame).stream == number
            assert tuple_of(frame)[:2] == (host(family, side, 2), host(family, side.opposite, 2))
    assert len(frames) == 2 * FRAMES


def request_of(frame: Packet) -> tuple[str, str] | None:
    """Returns who asks for which address."""
    if ARP in frame:
        return frame[ARP].psrc, frame[ARP].pdst
    return (frame[IPv6].src, frame[ICMPv6ND_NS].tgt) if ICMPv6ND_NS in frame else None


def asking(family: Family, side: Side) -> Packet:
    """Returns the DUT's question for the tester's address on a side."""
    dut, tester = (host(family, side, number) for number in (1, 2))
    ethernet = Ether(src=DUT_MACS[side], dst="ff:ff:ff:ff:ff:ff")
    if family is Family.IPV4:
        return ethernet / ARP(op="who-has", psrc=dut, hwsrc=DUT_MACS[side], pdst=tester)
    return ethernet / IPv6(src=dut, dst=tester) / ICMPv6ND_NS(tgt=tester) / ICMPv6NDOptSrcLLAddr(lladdr=DUT_MACS[side])


def answers_of(frame: Packet, dut: str) -> bool:
    """Returns True for the answer to the DUT's question."""
    if ARP in frame:
        return bool(frame[ARP].op == 2 and frame[ARP].pdst == dut)
    return ICMPv6ND_NA in frame


Asked = tuple[list[tuple[int | None, Packet]], list[int]]
"""The answers to a question, each with its VLAN, and the frames of another VLAN that each port counted."""


def asked_in_mid_trial(
    trunk: socket.socket, engine: EngineClient, family: Family, side: Side, vlan: int | None
) -> Asked:
    list(seen(trunk))
    question = bytes(asking(family, side))
    if vlan is not None:
        question = vlan_switch.tagged(question, vlan)
    # In the midst of the trial, which waits 1 s for its frames: what came before it is not counted.
    waiting = TrialRequest(streams=[stream(family, Side.LEFT, 84)], seed=5, **PATIENTLY | {"drain_s": 1.0})
    result = engine.run_trial(waiting, first_progress(lambda: trunk.send(question)))
    answers = [(vlan, frame) for vlan, frame in seen(trunk) if answers_of(frame, host(family, side, 1))]
    return answers, [port.foreign.get("other_vlan", 0) for port in result.ports]


def unexpected(expected: tuple[int, list[int]], asked: Asked) -> str:
    """Returns what differs from the number of answers and the counters that are expected."""
    answers, others = asked
    found = len(answers), others
    return "" if found == expected else f"(answers, frames of another VLAN) were {found}, not {expected}"


@pytest.mark.parametrize("family", [Family.IPV4, Family.IPV6])
def test_neighbours_are_asked_and_answered_in_the_vlan_of_their_side(
    trunk: socket.socket, engine: EngineClient, family: Family
) -> None:
    links = [
        NeighborSide(side=side, address=ip_address(host(family, side, 2)), gateway=ip_address(host(family, side, 1)))
        for side in Side
    ]
    with pytest.raises(DutError, match="no reply"):
        engine.resolve_neighbors(NeighborsResolve(neighbors=links, timeout_s=0.3))
    asked = {(vlan, request_of(frame)) for vlan, frame in seen(trunk)}
    assert asked == {(VLANS[side], (host(family, side, 2), host(family, side, 1))) for side in Side}

    given = [link.model_copy(update={"gateway_mac": DUT_MACS[link.side]}) for link in links]
    # A question in the other side's VLAN is for nobody.
    for side, vlan in ((Side.LEFT, VLANS[Side.LEFT]), (Side.RIGHT, VLANS[Side.LEFT]), (Side.RIGHT, None)):
        engine.resolve_neighbors(NeighborsResolve(neighbors=given))
        expected = (1 if side is Side.LEFT else 0, [1 if vlan is None else 0, 0])
        answers, others = undisturbed(
            partial(asked_in_mid_trial, trunk, engine, family, side, vlan),
            # A machine that pauses for long has the question come before the trial or after it.
            partial(unexpected, expected),
        )
        if side is Side.LEFT:
            ((tag, answer),) = answers
            assert tag == VLANS[side]
            assert (answer.src, answer.dst) == (TESTER_MACS[side], DUT_MACS[side])
        else:
            assert not answers
        assert others == [1 if vlan is None else 0, 0]


@contextmanager
def switched(trunk: socket.socket, service: int | None) -> Iterator[None]:
    """Joins the DUT's interfaces to the switch, each in one VLAN, which may be within a service VLAN."""
    trunk.close()
    with ExitStack() as stack:
        ip("netns", "add", DUT)
        stack.callback(ip, "netns", "del", DUT)
        ports = {f"s-{vlan}": vlan for vlan in VLANS.values()}
        for port, vlan in ports.items():
            cable(f"d-arm.{vlan}", DUT, port)
        outer = f"{service}." if service else ""
        access = [f"{outer}{vlan}={port}" for port, vlan in ports.items()]
        argv = [
            "nice",
            "-n-20",
            "ip",
            "netns",
            "exec",
            SWITCH,
            sys.executable,
            vlan_switch.__file__,
            "s-trunk",
            *access,
        ]
        switch = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
        stack.callback(switch.terminate)
        assert switch.stdout
        assert switch.stdout.readline() == "ready\n"
        yield


@pytest.mark.parametrize(
    ("io", "service"),
    [
        ("af_packet", 300),
        ("af_xdp", None),
        pytest.param("af_packet", None, marks=pytest.mark.more),
        pytest.param("af_xdp", 300, marks=pytest.mark.more),
    ],
    ids=["af_packet-two tags", "af_xdp-one tag", "af_packet-one tag", "af_xdp-two tags"],
)
def test_a_gateway_on_a_trunk_is_measured(trunk: socket.socket, io: str, service: int | None, tmp_path: Path) -> None:
    with switched(trunk, service):
        if service:
            ip("-n", TESTER, "link", "set", "t-trunk", "mtu", "1508")
            ip("-n", SWITCH, "link", "set", "s-trunk", "mtu", "1508")
        measure_on_a_trunk(io, service, tmp_path)


def measure_on_a_trunk(io: str, service: int | None, tmp_path: Path) -> None:
    outer = f", service_vlan: {service}" if service else ""
    (tmp_path / "plan.yaml").write_text(PLAN.format(dut=DUT, io=io, service=outer))
    if io == "af_xdp":
        refused = natxy(
            "run", tmp_path / "plan.yaml", "--output", tmp_path / "no", inside=["ip", "netns", "exec", TESTER]
        )
        assert refused.returncode == 2
        assert "testbed.left.vlan: t-trunk takes the tags off the frames that af_xdp receives" in refused.stderr
        for namespace, end in ((TESTER, "t-trunk"), (SWITCH, "s-trunk")):
            ip("netns", "exec", namespace, "ethtool", "-K", end, "rxvlan", "off", "txvlan", "off")
    folders = (tmp_path / f"out{number}" for number in count())

    def measured() -> RunRecord:
        folder = next(folders)
        done = natxy("run", tmp_path / "plan.yaml", "--output", folder, inside=["ip", "netns", "exec", TESTER])
        assert done.returncode == 0, done.stdout + done.stderr
        return RunReader(folder).run

    def without_result(run: RunRecord) -> str:
        # The switch is a Python program, which loses frames while a busy machine keeps it from running.
        return ", ".join(
            each.planned.name for each in run.experiments if each.statistics and each.statistics.median == 0
        )

    run = undisturbed(measured, without_result)
    assert run.state == RunState.DONE
    for experiment in run.experiments:
        assert experiment.statistics is not None
        assert experiment.statistics.median >= 200
        passed = [trial for _, _, trial in experiment.all_trials if trial.verdict == "pass"]
        assert passed
        assert not any(trial.misrouted or trial.duplicate for trial in passed)
    nat, router = run.experiments
    tags, tag_bytes = ("the tags of two VLANs", 8) if service else ("a VLAN's tag", 4)
    assert conditions(nat)["Frame size, FCS counted"] == f"64 bytes, and {tag_bytes} bytes of {tags}"
    assert nat.planned.maximum_fps == pytest.approx(1e9 / 8 / (64 + tag_bytes + 20))
    assert router.planned.maximum_fps == pytest.approx(1e9 / 8 / (1518 + tag_bytes + 20))
    assert run.testbed["right port"] == f"t-trunk by net_{io}, VLAN 4094" + (" within 300" if service else "")
