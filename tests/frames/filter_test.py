# SPDX-License-Identifier: Apache-2.0
"""Tests a stateful filter without NAT: connections keep their four-tuples, and the right side cannot begin one."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from pathlib import Path

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamSpec,
    TrialRequest,
)
from natxy.engine.messages.results import Verdict
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.model.terms import Selection
from tests.support import needs
from tests.support.captured_frames import signature_of, tuple_of
from tests.support.engine_trials import phase1_of, validation_of
from tests.support.nat_bed import PATIENTLY, all_arrived, nat_bed
from tests.support.undisturbed import DisturbedError, repeated

pytestmark = needs.LAB

LINKS = AddressPlan(
    left=LinkAddresses(
        dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"), behind=(ip_network("198.18.0.0/16"),)
    ),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)

CONNECTIONS = 100
FRAME = FrameFormat(size=64)


def flows(own: Side) -> FlowSpace:
    left = AddressField(address=ip_interface("198.18.1.0").ip, min=1, max=CONNECTIONS)
    right = AddressField(address=LINKS.right.tester.ip)
    return FlowSpace(
        source_address=left if own == Side.LEFT else right,
        destination_address=right if own == Side.LEFT else left,
        source_port=PortField(min=5000, max=5000),
        destination_port=PortField(min=5000, max=5000),
    )


@repeated
def test_the_left_side_is_answered_and_the_right_side_cannot_begin(tmp_path: Path) -> None:
    initiator = StreamSpec(
        name="phase 1",
        source=Side.LEFT,
        frame=FRAME,
        rate_fps=5000,
        frames=CONNECTIONS,
        flows=flows(Side.LEFT),
        selection=Selection.ENUMERATE,
    )
    unasked = initiator.model_copy(update={"name": "unasked", "source": Side.RIGHT, "flows": flows(Side.RIGHT)})
    with nat_bed(LINKS, tmp_path, config=NftablesConfig(nat=False)) as bed:
        blocked = bed.engine.run_trial(TrialRequest(streams=[unasked], seed=6, **PATIENTLY))
        if blocked.verdict == Verdict.INVALID:
            raise DisturbedError(blocked.reason)
        assert blocked.verdict == Verdict.FAIL
        assert blocked.streams[0].received == 0

        bed.gateway.clear()
        with bed.sent(Side.LEFT) as offered, bed.forwarded(Side.RIGHT) as filtered:
            made = bed.engine.run_trial(phase1_of(initiator, seed=7, **PATIENTLY))
        all_arrived(made)
        assert made.verdict == Verdict.PASS, made.reason
        assert bed.gateway.count() == CONNECTIONS
        before, after = (
            {signature_of(frame).sequence: tuple_of(frame) for frame in each} for each in (offered, filtered)
        )
        assert len(before) == CONNECTIONS
        assert before == after
        validated = bed.engine.run_trial(validation_of(initiator, rate_fps=5000, seed=8, **PATIENTLY))
        all_arrived(validated)
        assert validated.verdict == Verdict.PASS, validated.reason
