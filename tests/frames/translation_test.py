# SPDX-License-Identifier: Apache-2.0
"""Tests traffic that Tayga translates between IPv6 and IPv4. Scapy dissects the frames that the tester sends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortsOpen
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request, validate_request
from natxy.testbeds.lab import NetnsLab
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import FCS_BYTES, has_right_checksums
from tests.support.timing import wait_until
from tests.support.undisturbed import DisturbedError, repeated

RATE_FPS = 2000
CONNECTIONS = 500
TTL = 61
DYNAMIC_POOL = "192.168.0.0/17"


pytestmark = [*needs.LAB, needs.programs("tayga"), needs.TUN]


def experiment(**fields: Any) -> Experiment:
    base = {"name": "e", "gateway": "simulated", "procedure": "throughput", "search": {"max_rate": "1M"}, "ttl": TTL}
    timing = {"preset": "lab", "trial": "300ms", "drain": "1s", "max_pause": "1s", "overrun_floor": "1s"}
    top = {"name": "p", "testbed": {"kind": "simulated"}, "timing": timing}
    return resolve(Plan.model_validate(top | {"experiments": [base | fields]})).experiments[0]


@contextmanager
def tayga(lab: NetnsLab, own: Experiment, folder: Path) -> Iterator[None]:
    """Runs Tayga as a stateless translator. With connections, nftables masquerades behind it: a NAT64."""
    translation = own.translation
    assert translation is not None
    run = lab.transport.run
    configuration = folder / "tayga.conf"
    lines = ["tun-device nat64", "ipv4-addr 192.168.255.1", "ipv6-addr 2001:2:0:fffe::1", f"data-dir {folder}"]
    lines += [f"prefix {translation.prefix}"]
    lines += [f"map {mapping.ipv4} {mapping.ipv6}" for mapping in translation.mappings]
    routed = [str(translation.prefix), *(str(mapping.ipv4) for mapping in translation.mappings)]
    if own.connections:
        lines.append(f"dynamic-pool {DYNAMIC_POOL}")
        routed.append(DYNAMIC_POOL)
    configuration.write_text("\n".join(lines) + "\n", encoding="ascii")
    run(["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"])
    run(["tayga", "-c", str(configuration), "--mktun"])
    # The queue holds a whole trial, in case Tayga has to wait for a core.
    run(["ip", "link", "set", "nat64", "mtu", str(own.address_plan.mtu), "txqueuelen", "5000", "up"])
    for network in routed:
        run(["ip", "route", "add", network, "dev", "nat64"])
    if own.connections:
        chain = "chain p {\ntype nat hook postrouting priority srcnat\n"
        rule = f'oifname "{lab.interfaces.right}" masquerade\n'
        run(["nft", "-f", "-"], input=f"table ip nat64 {{\n{chain}{rule}}}\n}}\n")
    command = [
        "ip",
        "netns",
        "exec",
        lab.description()["dut namespace"],
        "tayga",
        "-c",
        str(configuration),
        "--nodetach",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            # The device has a carrier once Tayga has opened it.
            wait_until(lambda: "LOWER_UP" in run(["ip", "link", "show", "nat64"]).stdout)
            yield
        finally:
            process.kill()


class Bed:
    def __init__(self, stack: ExitStack, own: Experiment, folder: Path) -> None:
        self.lab = stack.enter_context(NetnsLab(LabConfig(), own.address_plan))
        stack.enter_context(tayga(self.lab, own, folder))
        self.engine = EngineClient(self.lab.engine_argv(), folder / "engine.log")
        stack.callback(self.engine.close)
        self.engine.open_ports(PortsOpen(ports=self.lab.port_specs()))
        self.engine.resolve_neighbors(neighbors_request(own))

    def sent(self, side: Side) -> AbstractContextManager[list[Packet]]:
        """Captures what the tester's port of a side sends."""
        interface = getattr(self.lab.interfaces, side)
        return captured(self.lab.description()["dut namespace"], interface, Direction.IN)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def judge(frames: list[Packet], size: int, version: int) -> None:
    """Asserts the size, family, TTL and checksums of the frames."""
    for frame in frames:
        layer = IP if version == 4 else IPv6
        assert layer in frame
        assert len(frame) == size - FCS_BYTES
        assert (frame[layer].ttl if version == 4 else frame[layer].hlim) == TTL
        assert has_right_checksums(frame)


def addresses(frames: list[Packet]) -> set[tuple[str, str]]:
    return {(frame[1].src, frame[1].dst) for frame in frames}


def passed(result: TrialResult) -> None:
    """Asserts that no frame is lost; raises DisturbedError if some are missing that the machine may have lost."""
    if any(stream.lost > stream.corrupt for stream in result.streams):
        raise DisturbedError(result.reason)
    # Tayga writes a UDP checksum of 0 instead of 0xFFFF once in 65536 frames, which RFC 8200 §8.1 forbids.
    assert result.verdict == Verdict.PASS or all(stream.lost == stream.corrupt for stream in result.streams), (
        result.reason
    )


@pytest.mark.parametrize(
    ("fields", "sizes", "ends"),
    [
        ({"translation": "siit"}, (84, 64), (("2001:2::2", "2001:2:0:64::c613:2"), ("198.19.0.2", "198.18.0.2"))),
        (
            {"translation": "siit", "frame_size": 512, "size_convention": "nominal"},
            (512, 512),
            (("2001:2::2", "2001:2:0:64::c613:2"), ("198.19.0.2", "198.18.0.2")),
        ),
        (
            {"translation": "nat46", "frame_size": 128},
            (108, 128),
            (("198.18.0.2", "198.19.0.2"), ("2001:2:0:8000::2", "2001:2:0:64::c612:2")),
        ),
    ],
)
@repeated
def test_stateless_translation_both_ways(
    stack: ExitStack,
    tmp_path: Path,
    fields: dict[str, Any],
    sizes: tuple[int, int],
    ends: tuple[tuple[str, str], tuple[str, str]],
) -> None:
    own = experiment(**fields)
    # Close what an earlier attempt has opened.
    stack.close()
    bed = Bed(stack, own, tmp_path)
    with bed.sent(Side.LEFT) as left, bed.sent(Side.RIGHT) as right:
        result = bed.engine.run_trial(traffic_request(own, RATE_FPS, seed=3))
    passed(result)
    assert [stream.misrouted for stream in result.streams] == [0, 0]
    for frames, size, addressed, family in zip((left, right), sizes, ends, own.families, strict=True):
        assert len(frames) == result.streams[0].planned
        assert addresses(frames) == {addressed}
        judge(frames, size, 4 if family == "ipv4" else 6)


@repeated
def test_nat64_replies_in_ipv4_to_what_it_saw(stack: ExitStack, tmp_path: Path) -> None:
    own = experiment(translation="nat64", connections=CONNECTIONS, phase1_rate="1k")
    # Close what an earlier attempt has opened.
    stack.close()
    bed = Bed(stack, own, tmp_path)
    with bed.sent(Side.LEFT) as offered:
        established = bed.engine.run_trial(establish_request(own, RATE_FPS, seed=1))
    passed(established)
    judge(offered, 84, 6)
    assert addresses(offered) == {("2001:2::2", "2001:2:0:64::c613:2")}
    assert len({(frame[UDP].sport, frame[UDP].dport) for frame in offered}) == CONNECTIONS
    with bed.sent(Side.RIGHT) as replies:
        validated = bed.engine.run_trial(validate_request(own, RATE_FPS, seed=2))
    passed(validated)
    judge(replies, 64, 4)
    assert addresses(replies) == {("198.19.0.2", "198.19.0.1")}
    assert len(replies) == CONNECTIONS
    phase2 = bed.engine.run_trial(traffic_request(own, RATE_FPS, seed=3))
    passed(phase2)
    assert [stream.misrouted for stream in phase2.streams] == [0, 0]
