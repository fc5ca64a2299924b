# SPDX-License-Identifier: Apache-2.0
"""Tests both phases of the programs that stand in for siitperf's through a NAT in a lab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scapy.layers.inet import IP, UDP

from natxy.engine.messages.common import Side
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.model.terms import Family
from tests.support import needs
from tests.support.captured_frames import judge, tuple_of
from tests.support.siitperf_bed import LINKS, Sent, SiitperfBed, siitperf_bed
from tests.support.siitperf_confs import conf_text
from tests.support.undisturbed import undisturbed

pytestmark = needs.LAB

FRAMES = 400
# Two seconds for the stragglers of a gateway that was paused.
STATELESS = "400 1 2000 2 2"
CONNECTIONS = 300
PHASE1 = f"{CONNECTIONS} {CONNECTIONS} 1000 2000 2500"
FEW = 100
FEW_OF_PHASE1 = f"{CONNECTIONS} {FEW} 1000 1000 1300"
ENUMERATED = conf_text(
    "nat44", Enumerate_ports="1", Responder_tuples="1",
    Fwd_sport_min="10000", Fwd_sport_max="10029", Fwd_dport_min="80", Fwd_dport_max="89",
)  # fmt: skip


def ports_of(number: int) -> tuple[int, int]:
    """Returns the source and the destination port of a connection of phase 1 that is enumerated."""
    return 10_000 + number % 30, 80 + number // 30


# More than a busy machine pauses for: natxy takes as many frames as it pauses for as lost by the tester.
LOST = 30
_LOST_DPORT = 86
_IPV4_LENGTH = 46


def losing_some_of_phase1(nat: SiitperfBed, conf: str) -> Sent:
    """Runs phase 1 for fewer connections than it makes, of which the gateway loses 30, and then the traffic."""
    hook = f"type filter hook ingress device {nat.lab.interfaces.left} priority 0"
    # Phase 2 has the same ports: the quota ends within its first frame.
    rule = f"udp dport {_LOST_DPORT} quota until {LOST * _IPV4_LENGTH} bytes drop"
    run = nat.lab.transport.run

    def measured() -> Sent:
        run(["nft", f"table netdev losing {{ chain one {{ {hook}; {rule}; }}; }}"])
        try:
            return nat.send("tp", f"84 {STATELESS} {FEW_OF_PHASE1}", conf)
        finally:
            run(["nft", "delete", "table", "netdev", "losing"])

    return undisturbed(measured, lambda sent: sent.ended.disturbance(Preliminary=LOST))


@pytest.fixture(scope="module")
def nat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiitperfBed]:
    with siitperf_bed(LINKS, NftablesConfig(), tmp_path_factory.mktemp("nat")) as bed:
        yield bed


def test_a_nat_in_both_phases(nat: SiitperfBed) -> None:
    """Phase 1 enumerates every port once, and the replies of phase 2 reach the connections."""
    ended, left, right = nat.measure("tp", f"84 {STATELESS} {PHASE1}", ENUMERATED)
    assert ended.code == 0, ended.errors
    assert ended.number("Preliminary frames sent") == ended.number("Preliminary frames received") == CONNECTIONS
    for direction in ("Forward", "Reverse"):
        assert ended.number(f"{direction} frames received") == FRAMES
    assert "Info: Preliminary phase finished." in ended.lines
    first, second = left[:CONNECTIONS], left[CONNECTIONS:]
    assert [tuple_of(frame) for frame in first] == [
        ("198.18.0.2", "198.19.0.2", *ports_of(number)) for number in range(CONNECTIONS)
    ]
    assert len(second) == len(right) == FRAMES
    assert {tuple_of(frame) for frame in second} <= {tuple_of(frame) for frame in first}
    # Replies go to the NAT's own address, from the ports that phase 1 sent to, in the order of the state table.
    assert {frame[IP].dst for frame in right} == {"198.19.0.1"}
    assert [frame[UDP].sport for frame in right[:CONNECTIONS]] == [ports_of(each)[1] for each in range(CONNECTIONS)]
    for frame in left:
        judge(frame, Family.IPV4, 64, Side.LEFT, ttl=10)
    for frame in right:
        judge(frame, Family.IPV4, 64, Side.RIGHT, ttl=10)


def test_replies_go_to_the_first_connections_if_m_is_less_than_n(nat: SiitperfBed) -> None:
    """Phase 1 makes all N connections, the responder goes through M of them again and again, the initiator has all."""
    ended, left, right = nat.measure("tp", f"84 {STATELESS} {FEW_OF_PHASE1}", ENUMERATED)
    assert ended.code == 0, ended.errors
    assert ended.number("Preliminary frames sent") == ended.number("Preliminary frames received") == CONNECTIONS
    assert "Info: Preliminary phase finished." in ended.lines
    for direction in ("Forward", "Reverse"):
        assert ended.number(f"{direction} frames sent") == ended.number(f"{direction} frames received") == FRAMES
    first, second = left[:CONNECTIONS], left[CONNECTIONS:]
    assert [(frame[UDP].sport, frame[UDP].dport) for frame in first] == [*map(ports_of, range(CONNECTIONS))]
    assert len({tuple_of(frame) for frame in second}) > FEW
    # nftables keeps the ports.
    replies = [(frame[UDP].dport, frame[UDP].sport) for frame in right]
    assert replies == [ports_of(number % FEW) for number in range(FRAMES)]


def test_m_connections_do_not_suffice_for_replies_if_others_are_missing(nat: SiitperfBed) -> None:
    """Phase 2 is not sent, and standard error says why: siitperf would have sent it."""
    ended, left, right = losing_some_of_phase1(nat, ENUMERATED)
    assert ended.code == 0, ended.errors
    assert ended.number("Preliminary frames received") == CONNECTIONS - LOST
    filled = f"valid entries: {CONNECTIONS - LOST}, table size: {CONNECTIONS}"
    assert f"Error: Failed to fill state table, {filled}" in ended.lines
    assert f"natxy: M is {FEW}, but natxy's responder needs all {CONNECTIONS} connections" in "\n".join(ended.errors)
    assert (len(left), len(right)) == (CONNECTIONS, 0)


def test_m_connections_suffice_without_replies(nat: SiitperfBed) -> None:
    ended, left, right = losing_some_of_phase1(nat, f"{ENUMERATED}Reverse 0\n")
    assert ended.code == 0, ended.errors
    assert "Info: Preliminary phase finished." in ended.lines
    assert ended.number("Preliminary frames received") == CONNECTIONS - LOST
    assert ended.number("Forward frames sent") == ended.number("Forward frames received") == FRAMES
    assert (len(left), len(right)) == (CONNECTIONS + FRAMES, 0)


def test_a_state_table_that_is_not_filled(nat: SiitperfBed) -> None:
    """Nothing arrives, and the exit code is 0 all the same, as scripts expect."""
    conf = conf_text("nat44", MAC_L_DUT="02:00:00:00:00:99")
    ended, _, _ = nat.send_in_time("tp", f"84 {STATELESS} 100 100 1000 100 2000", conf)
    assert ended.code == 0
    assert ended.number("Preliminary frames received") == 0
    assert "Error: Failed to fill state table, valid entries: 0, table size: 100" in ended.lines


def test_drawn_connections_and_replies_of_one_of_them(nat: SiitperfBed) -> None:
    conf = conf_text("nat44", Enumerate_ports="0", Responder_tuples="0")
    ended, left, right = nat.measure("tp", f"84 {STATELESS} {PHASE1}", conf)
    assert ended.code == 0, ended.errors
    assert ended.number("Preliminary frames received") == CONNECTIONS
    assert ended.number("Reverse frames received") == FRAMES
    sports = [frame[UDP].sport for frame in left[:CONNECTIONS]]
    assert len({*sports}) > CONNECTIONS - 20
    assert sports != sorted(sports)
    assert {*sports} <= {*range(10_000, 50_000)}
    (reply,) = {tuple_of(frame) for frame in right}
    assert reply[1] == "198.19.0.1"
