# SPDX-License-Identifier: Apache-2.0
"""Tests traffic between three pairs of interfaces at once: each pair has its own frames, dissected by Scapy, and no
frame of another's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.dut.base import Gateway
from natxy.dut.registry import create
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortsOpen
from natxy.engine.messages.results import Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Family
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.lab_kernels import lab_for
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, signature_of
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.REFERENCE, needs.programs("iptables-nft")]

PAIRS, FRAMES, CONNECTIONS = 3, 200, 50
CONNECTED: dict[str, Any] = {"connections": CONNECTIONS, "phase1_rate": "1k"}
GATEWAYS: list[dict[str, Any]] = [
    {"gateway": "linux-forward"},
    {"gateway": "nftables"} | CONNECTED,
    {"gateway": "iptables"} | CONNECTED,
    {"gateway": {"driver": "iptables", "target": "snat"}} | CONNECTED,
]


def experiment_of(**own: Any) -> Experiment:
    experiment = {"name": "e", "procedure": "throughput", "pairs": PAIRS, "search": {"max_rate": "1M"}}
    return resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [experiment | own]})).experiments[
        0
    ]


def addresses_of(frame: Packet) -> tuple[Any, Any]:
    network = frame[IP] if IP in frame else frame[IPv6]
    return ip_address(network.src), ip_address(network.dst)


@contextmanager
def set_up(experiment: Experiment, folder: Path) -> Iterator[tuple[NetnsLab, Gateway[Any], EngineClient]]:
    """Yields a lab with its gateway, and an engine that has resolved the addresses of all pairs."""
    links = experiment.address_plan
    with ExitStack() as stack:
        lab = stack.enter_context(lab_for(LabConfig(), experiment.path))
        gateway = create(experiment.gateway, lab.transport, lab.interfaces, links)
        stack.callback(gateway.remove)
        gateway.apply()
        engine = EngineClient(lab.engine_argv(), folder / "engine.log")
        stack.callback(engine.close)
        engine.open_ports(PortsOpen(ports=lab.port_specs()))
        engine.resolve_neighbors(neighbors_request(experiment))
        yield lab, gateway, engine


@pytest.mark.parametrize("family", list(Family))
@pytest.mark.parametrize("own", GATEWAYS, ids=["linux-forward", "nftables", "iptables", "snat"])
@repeated
def test_each_pair_has_its_own_frames(own: dict[str, Any], family: Family, tmp_path: Path) -> None:
    experiment = experiment_of(family=family, **own)
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        macs = {(port.pair, port.side): port.mac for port in lab.port_specs()}
        assert len(set(macs.values())) == 2 * PAIRS
        if experiment.connections:
            for pair in range(PAIRS):
                made = engine.run_trial(patiently(establish_request(experiment, 1000, 7, pair)))
                all_arrived(made)
                assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
            assert gateway.count() == PAIRS * CONNECTIONS

        request = patiently(traffic_request(experiment, PAIRS * 2000.0, 7, frames=FRAMES))
        with ExitStack() as captures:
            ends = [(pair, side) for pair in range(PAIRS) for side in Side]
            seen = {
                (*end, way): captures.enter_context(captured(lab.description()["dut namespace"], interface, way))
                for end, interface in zip(ends, lab.interfaces.names, strict=True)
                for way in Direction
            }
            result = engine.run_trial(request)
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
    for number, stream in enumerate(request.streams):
        sent, forwarded = (
            seen[stream.pair, stream.source, Direction.IN],
            seen[stream.pair, stream.source.opposite, Direction.OUT],
        )
        for frames in (sent, forwarded):
            signatures = [signature_of(frame) for frame in frames]
            assert {each.stream for each in signatures} == {number}
            assert sorted(each.sequence for each in signatures) == [*range(FRAMES)]
            assert all(has_right_checksums(frame) for frame in frames)
        near, far = macs[stream.pair, stream.source], macs[stream.pair, stream.source.opposite]
        assert {frame.src for frame in sent} == {near}
        assert {frame.dst for frame in forwarded} == {far}

        own_addresses = experiment.addresses.of_pair(stream.pair)
        left, right = own_addresses.left.tester.ip, own_addresses.right.tester.ip
        outside = own_addresses.right.dut.ip if experiment.connections else left
        inside_way, outside_way = {(left, right)}, {(outside, right)}
        if stream.source == Side.RIGHT:
            inside_way, outside_way = {(right, left)}, {(right, outside)}
            sent, forwarded = forwarded, sent
        assert {addresses_of(frame) for frame in sent} == inside_way
        assert {addresses_of(frame) for frame in forwarded} == outside_way


@repeated
def test_the_reference_gateway_keeps_pairs_apart(tmp_path: Path) -> None:
    experiment = experiment_of(gateway={"driver": "reference", "mode": "nat", "table_capacity": 1000}, **CONNECTED)
    with set_up(experiment, tmp_path) as (_, gateway, engine):
        for pair in range(PAIRS):
            made = engine.run_trial(patiently(establish_request(experiment, 1000, 7, pair)))
            all_arrived(made)
            assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
        assert gateway.count() == PAIRS * CONNECTIONS
        request = patiently(traffic_request(experiment, PAIRS * 2000.0, 7, frames=FRAMES))
        result = engine.run_trial(request)
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
