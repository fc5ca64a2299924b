# SPDX-License-Identifier: Apache-2.0
"""Tests 1,000 hosts on each link: the gateway learns them all, or has them as static entries, and loses no frame."""

from __future__ import annotations

import re
from ipaddress import ip_interface
from pathlib import Path

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamSpec,
    TrialRequest,
)
from natxy.engine.messages.results import Verdict
from natxy.plan.gateways.linux import LinuxForwardConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, LinkMacs
from natxy.plan.model.terms import Selection
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import learning_request, neighbors_request
from natxy.testbeds.veth import TESTER_MACS
from tests.support import needs
from tests.support.nat_bed import PATIENTLY, all_arrived, nat_bed
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, pytest.mark.machine]

HOSTS = 1000
STATIC = LinkMacs(left=TESTER_MACS[Side.LEFT], right=TESTER_MACS[Side.RIGHT])
LINKS = {
    4: ("198.18.0.1/16", "198.18.0.2/16", "198.19.0.1/16", "198.19.0.2/16"),
    6: ("2001:2::1/64", "2001:2::2/64", "2001:2:0:8000::1/64", "2001:2:0:8000::2/64"),
}


def links(version: int) -> AddressPlan:
    left, left_tester, right, right_tester = map(ip_interface, LINKS[version])
    return AddressPlan(
        left=LinkAddresses(dut=left, tester=left_tester, on_link=HOSTS),
        right=LinkAddresses(dut=right, tester=right_tester, on_link=HOSTS),
    )


def field(link: LinkAddresses) -> AddressField:
    first, last = int(link.hosts_on_link[0]), int(link.hosts_on_link[-1])
    return AddressField(address=link.hosts_on_link[0], min=first & 0x1FFFF, max=last & 0x1FFFF)


def stream(plan: AddressPlan, side: Side, version: int) -> StreamSpec:
    near, far = (plan.left, plan.right) if side == Side.LEFT else (plan.right, plan.left)
    return StreamSpec(
        name=side,
        source=side,
        frame=FrameFormat(size=64 if version == 4 else 84),
        rate_fps=4000,
        frames=2 * HOSTS,
        flows=FlowSpace(
            source_address=field(near),
            destination_address=field(far),
            source_port=PortField(min=5000, max=5000),
            destination_port=PortField(min=7, max=7),
        ),
        selection=Selection.RANDOM,
    )


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("macs", [None, STATIC], ids=["learned", "static"])
@repeated
def test_every_neighbour_is_reached(version: int, macs: LinkMacs | None, tmp_path: Path) -> None:
    plan = links(version)
    sides = ((Side.LEFT, plan.left), (Side.RIGHT, plan.right))
    request = NeighborsResolve(
        neighbors=[
            NeighborSide(side=side, address=link.tester.ip, gateway=link.dut.ip, answers=list(link.answered))
            for side, link in sides
        ]
    )
    with nat_bed(plan, tmp_path, request, LinuxForwardConfig(neighbors=macs)) as bed:
        shown = ["ip", f"-{version}", "neigh", "show"]
        streams = [stream(plan, side, version) for side in Side]
        result = bed.engine.run_trial(TrialRequest(streams=streams, seed=5, **PATIENTLY))
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
        table = bed.lab.transport.run(shown).stdout
        known = set(re.findall(r"^(\S+) dev dut-\S+ lladdr", table, re.MULTILINE))
        played = {str(host) for link in (plan.left, plan.right) for host in link.hosts_on_link}
        # Of 1,000 hosts, 2,000 random frames leave out about 135.
        assert len(known & played) == 2 * HOSTS if macs else len(known & played) > 1.6 * HOSTS
        assert table.count("PERMANENT") == (2 * HOSTS + 2 if macs else 0)
        requests = [port.foreign.get("arp", 0) + port.foreign.get("neighbor_solicitation", 0) for port in result.ports]
        assert (max(requests) == 0) == bool(macs), [port.foreign for port in result.ports]
        bed.gateway.remove()
        assert "PERMANENT" not in bed.lab.transport.run(shown).stdout


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_learning_frames_tell_the_gateway_of_every_neighbour(family: str, tmp_path: Path) -> None:
    written = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
    own = written | {"family": family, "addresses": {"on_link": HOSTS}}
    experiment = resolve(Plan.model_validate({"name": "p", "experiments": [own]})).experiments[0]
    links = experiment.address_plan.pairs[0]
    hosts = {str(host) for link in (links.left, links.right) for host in link.neighbors}
    with nat_bed(
        experiment.address_plan, tmp_path, neighbors_request(experiment), LinuxForwardConfig(neighbors=None)
    ) as bed:

        def known() -> set[str]:
            table = bed.lab.transport.run(["ip", "-4" if family == "ipv4" else "-6", "neigh", "show"]).stdout
            return hosts & set(re.findall(r"^(\S+) dev dut-\S+ lladdr", table, re.MULTILINE))

        assert len(known()) == 2
        bed.engine.resolve_neighbors(learning_request(experiment))
        assert known() == hosts
