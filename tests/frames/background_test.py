# SPDX-License-Identifier: Apache-2.0
"""Tests background traffic on the wire: its exact order, every checksum, both families through one gateway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6

from natxy.engine.messages.common import Side
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from tests.support import needs
from tests.support.captured_frames import FCS_BYTES, has_right_checksums, signature_of
from tests.support.nat_bed import NatBed, all_arrived, nat_bed, patiently
from tests.support.undisturbed import repeated

pytestmark = needs.LAB


def experiment_of(**fields: Any) -> Experiment:
    own = {"name": "e", "gateway": "nftables", "procedure": "throughput", "search": {"max_rate": "1M"}}
    stateful = {"connections": 50, "phase1_rate": "5k", "timing": {"preset": "lab", "trial": "100ms"}}
    return resolve(Plan.model_validate({"name": "p", "experiments": [own | stateful | fields]})).experiments[0]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[NatBed]:
    experiment = experiment_of(background="10%")
    with nat_bed(experiment.address_plan, tmp_path, neighbors_request(experiment)) as opened:
        yield opened


@repeated
def test_one_of_every_ten_frames_is_native_in_exactly_this_order(bed: NatBed) -> None:
    experiment = experiment_of(background="10%", frame_size=128)
    bed.gateway.clear()
    phase1 = bed.engine.run_trial(patiently(establish_request(experiment, 5000, 1)))
    all_arrived(phase1)
    assert phase1.established == 50
    request = patiently(traffic_request(experiment, 5000, 2))
    with (
        bed.sent(Side.LEFT) as left,
        bed.sent(Side.RIGHT) as right,
        bed.forwarded(Side.RIGHT) as out,
    ):
        result = bed.engine.run_trial(request)
    all_arrived(result)
    assert {stream.name: (stream.planned, stream.lost) for stream in result.streams} == {
        "forward": (450, 0),
        "forward background": (50, 0),
        "reverse": (450, 0),
        "reverse background": (50, 0),
    }
    for frames in (left, right):
        assert "".join("b" if IPv6 in frame else "f" for frame in frames) == "fffffffffb" * 50
        for wanted in (IP, IPv6):
            assert [signature_of(f).sequence for f in frames if wanted in f] == list(
                range(sum(wanted in f for f in frames))
            )
        for frame in frames:
            assert len(frame) == 128 - FCS_BYTES
            assert has_right_checksums(frame)
    assert experiment.background is not None
    native = experiment.background.links
    assert {(f[IPv6].src, f[IPv6].dst) for f in out if IPv6 in f} == {
        (str(native.left.tester.ip), str(native.right.tester.ip))
    }
    assert {f[IP].src for f in out if IP in f} == {str(bed.links.right.dut.ip)}
    assert bed.gateway.count() == 50


@pytest.mark.parametrize("directions", ["forward", "reverse"])
@repeated
def test_one_direction_alone(bed: NatBed, directions: str) -> None:
    experiment = experiment_of(background="50%", directions=directions)
    bed.gateway.clear()
    all_arrived(bed.engine.run_trial(patiently(establish_request(experiment, 5000, 1))))
    result = bed.engine.run_trial(patiently(traffic_request(experiment, 5000, 2)))
    all_arrived(result)
    assert [(stream.name, stream.received) for stream in result.streams] == [
        (directions, 250),
        (f"{directions} background", 250),
    ]
