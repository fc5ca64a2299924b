# SPDX-License-Identifier: Apache-2.0
"""Background traffic on the wire of a lab: the exact order, every checksum, both families through one gateway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet

from natxy.dut.registry import create
from natxy.engine.client import EngineClient
from natxy.engine.messages.ports import PortsOpen
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Family
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from natxy.testbeds.lab import NetnsLab
from tests.frames.frames_test import AT_LEISURE, Bed, captured, missing, signature_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def experiment_of(**fields: Any) -> Experiment:
    own = {"name": "e", "gateway": "nftables", "procedure": "throughput", "search": {"max_rate": "1M"}}
    stateful = {"connections": 50, "phase1_rate": "5k", "timing": {"preset": "lab", "trial": "100ms"}}
    return resolve(Plan.model_validate({"name": "p", "experiments": [own | stateful | fields]})).experiments[0]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    experiment = experiment_of(background="10%")
    links = experiment.address_plan
    with NetnsLab(LabConfig(), links) as lab:
        gateway = create(experiment.gateway, lab.transport, lab.interfaces, links)
        gateway.apply()
        engine = EngineClient(lab.engine_argv(), tmp_path / "engine.log")
        try:
            engine.open_ports(PortsOpen(ports=lab.port_specs()))
            engine.resolve_neighbors(neighbors_request(experiment))
            yield Bed(lab, engine, gateway, Family.IPV4, links)
        finally:
            engine.close()
            gateway.remove()


def judge(frame: Packet) -> None:
    """Scapy computes the very same checksums."""
    rebuilt = frame.copy()
    del rebuilt[UDP].chksum
    if IP in frame:
        del rebuilt[IP].chksum
    assert bytes(rebuilt) == bytes(frame)


def test_one_of_every_ten_frames_is_native_in_exactly_this_order(bed: Bed, tmp_path: Path) -> None:
    experiment = experiment_of(background="10%", frame_size=128)
    bed.gateway.clear()
    phase1 = bed.engine.establish(establish_request(experiment, 5000, 1).model_copy(update={"limits": AT_LEISURE}))
    assert phase1.established == 50
    request = traffic_request(experiment, 5000, 2).model_copy(update={"limits": AT_LEISURE})
    interfaces = bed.lab.interfaces
    with (
        captured(bed, interfaces.left, "in", tmp_path / "left.pcap") as left,
        captured(bed, interfaces.right, "in", tmp_path / "right.pcap") as right,
        captured(bed, interfaces.right, "out", tmp_path / "out.pcap") as out,
    ):
        result = bed.engine.run_trial(request)
    assert {stream.name: (stream.planned, stream.lost) for stream in result.streams} == {
        "forward": (450, 0),
        "forward background": (50, 0),
        "reverse": (450, 0),
        "reverse background": (50, 0),
    }
    for frames in (left, right):
        assert "".join("b" if IPv6 in frame else "f" for frame in frames) == "fffffffffb" * 50
        for wanted in (IP, IPv6):
            assert [signature_of(f)[2] for f in frames if wanted in f] == list(range(sum(wanted in f for f in frames)))
        for frame in frames:
            assert len(frame) == 124
            judge(frame)
    assert experiment.background is not None
    native = experiment.background.links
    assert {(f[IPv6].src, f[IPv6].dst) for f in out if IPv6 in f} == {
        (str(native.left.tester.ip), str(native.right.tester.ip))
    }
    assert {f[IP].src for f in out if IP in f} == {str(bed.links.right.dut.ip)}
    assert bed.gateway.count() == 50


@pytest.mark.parametrize("directions", ["forward", "reverse"])
def test_one_direction_alone(bed: Bed, directions: str) -> None:
    experiment = experiment_of(background="50%", directions=directions)
    bed.gateway.clear()
    bed.engine.establish(establish_request(experiment, 5000, 1).model_copy(update={"limits": AT_LEISURE}))
    result = bed.engine.run_trial(traffic_request(experiment, 5000, 2).model_copy(update={"limits": AT_LEISURE}))
    assert [(stream.name, stream.received) for stream in result.streams] == [
        (directions, 250),
        (f"{directions} background", 250),
    ]
