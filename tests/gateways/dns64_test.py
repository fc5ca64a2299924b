# SPDX-License-Identifier: Apache-2.0
"""Tests DNS64 servers in a lab, whose messages Scapy dissects: each answer has what the authority has told."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

import pytest
from scapy.layers.dns import DNS
from scapy.packet import Packet

from natxy.dut.drivers.dns64.unbound import UnboundGateway
from natxy.engine.messages.results import Verdict
from natxy.errors import GatewayDiedError
from natxy.plan.experiment import Experiment
from natxy.procedures.common.queries import queries_of, queries_request
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, tuple_of
from tests.support.chains import experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = needs.LAB

QUERIES: Final = 60
RATE_QPS: Final = 100.0
A, AAAA = 1, 28
SERVERS: Final = [
    pytest.param("unbound", marks=needs.programs("unbound")),
    pytest.param("bind9", marks=needs.programs("named")),
    pytest.param("pdns-recursor", marks=needs.programs("pdns_recursor")),
    pytest.param("knot-resolver", marks=needs.programs("kresd")),
]
PREFIXES: Final = {"unbound": "2001:2:64::/64", "bind9": "2001:2:64::/56"}


def server(driver: str) -> Experiment:
    return experiment_of(
        gateway={"driver": driver, "prefix": PREFIXES.get(driver, "2001:2:0:64::/96")},
        # A busy machine may let a server wait for a second.
        procedure={"name": "dns64-rate", "frame_timeout": None},
        family="ipv6",
        search={"max_rate": "10k"},
        timing={"preset": "lab", "drain": "4s"},
    )


def messages(frames: list[Packet], *, answers: bool) -> list[DNS]:
    """Returns the messages of frames, of which all must have right checksums."""
    assert all(has_right_checksums(frame) for frame in frames)
    return [frame[DNS] for frame in frames if DNS in frame and bool(frame[DNS].qr) == answers]


def addresses(found: list[DNS], kind: int) -> dict[str, str]:
    """Returns the address in each answer that has one, by the name that was asked for."""
    return {
        message.qd[0].qname.decode().lower(): str(record.rdata)
        for message in found
        for record in (message.an[i] for i in range(message.ancount))
        if record.type == kind
    }


@pytest.mark.parametrize("driver", SERVERS)
@repeated
def test_answers_have_the_addresses_of_the_authority(driver: str, tmp_path: Path) -> None:
    experiment = server(driver)
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        gateway.wait_ready()
        request = patiently(
            queries_request(experiment, queries_of(experiment, aaaa_percent=50), RATE_QPS, 1, frames=QUERIES)
        )
        left, right = lab.interfaces.left, lab.interfaces.right
        with (
            captured(lab.dut_namespaces[0], left, Direction.IN) as queries,
            captured(lab.dut_namespaces[0], left, Direction.OUT) as replies,
            captured(lab.dut_namespaces[0], right, Direction.IN) as of_authority,
        ):
            result = engine.run_trial(request)
        gateway.check_alive()
    all_arrived(result)
    assert result.verdict == Verdict.PASS, result.reason
    asked = messages(queries, answers=False)
    names = {message.qd[0].qname.decode() for message in asked}
    assert len(names) == len(asked) == QUERIES
    assert {(message.qd[0].qtype, message.rd, message.qdcount) for message in asked} == {(AAAA, 1, 1)}
    assert {len(frame) for frame in queries} == {experiment.frame_size - 4}
    assert {tuple_of(frame)[:2] for frame in queries} == {("2001:2::2", "2001:2::1")}
    told = messages(of_authority, answers=True)
    assert {message.aa for message in told} == {1}
    made = {name: str(embedded(experiment, IPv4Address(address))) for name, address in addresses(told, A).items()}
    own = addresses(told, AAAA)
    assert own
    assert addresses(messages(replies, answers=True), AAAA) == made | own
    assert made.keys() | own.keys() == names


def embedded(experiment: Experiment, host: IPv4Address) -> IPv6Address:
    """Returns the address that Scapy's figures have to be, by RFC 6052 §2.2 written out."""
    prefix = experiment.gateway.dns64_prefix
    assert prefix
    number = int(prefix.network_address)
    if prefix.prefixlen == 96:
        return IPv6Address(number | int(host))
    before = 64 - prefix.prefixlen
    high, low = (int(host) >> (32 - before)) << 64, int(host) & ((1 << (32 - before)) - 1)
    return IPv6Address(number | high | low << (56 - (32 - before)))


@needs.programs("unbound")
def test_a_server_that_was_ended_is_missed(tmp_path: Path) -> None:
    with set_up(server("unbound"), tmp_path) as (lab, gateway, _):
        assert isinstance(gateway, UnboundGateway)
        gateway.wait_ready()
        lab.transport.run(["sh", "-c", f"kill -KILL $(cat {gateway.path}.pid)"])
        with pytest.raises(GatewayDiedError, match="its process unbound"):
            gateway.check_alive()
