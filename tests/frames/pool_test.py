# SPDX-License-Identifier: Apache-2.0
"""Tests NAT44 with four public addresses: connections leave with each of them, and replies to each come back."""

from __future__ import annotations

from collections import Counter
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path

import pytest

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
from natxy.engine.messages.results import SourceSpread, Verdict
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.linux import IptablesBackend, IptablesConfig, IptablesTarget, NftablesConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.model.terms import Selection
from tests.support import needs
from tests.support.captured_frames import signature_of, tuple_of
from tests.support.engine_trials import phase1_of, validation_of
from tests.support.nat_bed import PATIENTLY, all_arrived, nat_bed
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.programs("iptables-nft", "iptables-legacy")]

LINKS = AddressPlan(
    left=LinkAddresses(
        dut=ip_interface("10.0.0.1/24"), tester=ip_interface("10.0.0.2/24"), behind=(ip_network("10.0.0.0/16"),)
    ),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
    pool=ip_network("198.19.0.4/30"),
)
HOSTS, PORTS = 50, 4
FRAME = FrameFormat(size=64)


def phase1() -> StreamSpec:
    return StreamSpec(
        name="phase 1",
        source=Side.LEFT,
        frame=FRAME,
        rate_fps=5000,
        frames=HOSTS * PORTS,
        flows=FlowSpace(
            source_address=AddressField(address=ip_address("10.0.1.0"), min=1, max=HOSTS),
            destination_address=AddressField(address=ip_address("198.19.0.2")),
            source_port=PortField(min=5001, max=5000 + PORTS),
            destination_port=PortField(min=7, max=7),
        ),
        selection=Selection.ENUMERATE,
    )


@pytest.mark.parametrize(
    "config",
    [
        NftablesConfig(),
        IptablesConfig(target=IptablesTarget.SNAT),
        IptablesConfig(target=IptablesTarget.SNAT, backend=IptablesBackend.LEGACY),
    ],
    ids=["nftables", "iptables-nft", "iptables-legacy"],
)
@repeated
def test_connections_use_all_four_and_replies_go_to_each(config: GatewayModel, tmp_path: Path) -> None:
    connections = HOSTS * PORTS
    with nat_bed(LINKS, tmp_path, config=config) as bed:
        with bed.forwarded(Side.RIGHT) as translated:
            made = bed.engine.run_trial(phase1_of(phase1(), seed=7, **PATIENTLY))
        all_arrived(made)
        assert made.verdict == Verdict.PASS, made.reason
        assert made.established == bed.gateway.count() == connections
        tuples = [tuple_of(frame) for frame in translated]
        used = Counter(source for source, *_ in tuples)
        ports = [port for _, _, port, _ in tuples]
        assert set(used) == {str(address) for address in LINKS.public}
        assert sum(used.values()) == connections
        assert made.sources == SourceSpread(
            connections=connections, addresses=4, fewest=min(used.values()), most=max(used.values()),
            lowest=LINKS.public[0], highest=LINKS.public[-1], lowest_port=min(ports), highest_port=max(ports),
            endpoints=len({(source, port) for source, _, port, _ in tuples}),
        )  # fmt: skip

        with bed.sent(Side.RIGHT) as replies:
            validated = bed.engine.run_trial(validation_of(phase1(), rate_fps=5000, seed=8, **PATIENTLY))
        all_arrived(validated)
        assert validated.verdict == Verdict.PASS, validated.reason
        assert Counter(tuple_of(frame)[1] for frame in replies) == used

        streams = [
            StreamSpec(name=side, source=side, kind=kind, frame=FRAME, rate_fps=5000, frames=2 * connections)
            for side, kind in ((Side.LEFT, StreamKind.CONNECTIONS), (Side.RIGHT, StreamKind.REPLIES))
        ]
        with bed.forwarded(Side.LEFT) as returned:
            result = bed.engine.run_trial(TrialRequest(streams=streams, seed=9, **PATIENTLY))
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
        assert result.sources is None
        assert bed.gateway.count() == connections
        assert len({signature_of(frame).sequence for frame in returned}) == 2 * connections

        routes = ["ip", "route", "show", "table", "local", "198.19.0.4/30"]
        assert bed.lab.transport.run(routes).stdout.startswith("local 198.19.0.4/30 dev dut-right")
        # Somebody else's route for the same addresses stays.
        bed.lab.transport.run(["ip", "route", "add", "local", "198.19.0.4/30", "dev", "dut-right", "metric", "7"])
        bed.gateway.remove()
        assert "metric 7" in bed.lab.transport.run(routes).stdout
        assert len(bed.lab.transport.run(routes).stdout.splitlines()) == 1
