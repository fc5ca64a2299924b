# SPDX-License-Identifier: Apache-2.0
"""Tests the ends of softwires and of MAP-T that natxy-reference plays, on veth pairs with frames of Scapy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrFragment,
)
from scapy.utils import checksum

from tests.support import needs
from tests.support.captured_frames import has_right_checksums
from tests.support.raw_reference import (
    MAP,
    NAT44,
    Bed,
    endpoints,
    raw_reference_bed,
    udp,
)

pytestmark = [pytest.mark.lab, needs.NAMESPACES, needs.REFERENCE]


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with raw_reference_bed(tmp_path_factory.mktemp("reference")) as opened:
        yield opened


# RFC 7599, Appendix A, Examples 1 and 2: the subscriber 192.0.2.18 with PSID 0x34, and a host that is none.
SUBSCRIBER: Final = ("192.0.2.18", 1232, "2001:db8:12:3400:0:c000:212:34")
FAR: Final = ("10.2.3.4", 80, "2001:db8:ffff:0:a:203:400:0")


@pytest.mark.parametrize("end", ["edge", "core"])
def test_an_end_of_map_t_has_the_addresses_of_rfc_7599(bed: Bed, end: str) -> None:
    bed.apply(map={"end": end, **MAP})
    plain, mapped = ("left", "right") if end == "edge" else ("right", "left")
    source, destination = (SUBSCRIBER, FAR) if end == "edge" else (FAR, SUBSCRIBER)
    sent = [udp(source[0], destination[0], source[1], destination[1], b"x" * size) for size in (0, 1, 18, 1400)]
    arrived = bed.through(plain, *sent)
    assert {endpoints(frame) for frame in arrived} == {(source[2], source[1], destination[2], destination[1])}
    replies = [udp(destination[2], source[2], destination[1], source[1], b"x" * size) for size in (0, 1, 18, 1400)]
    returned = bed.through(mapped, *replies)
    assert {endpoints(frame) for frame in returned} == {(destination[0], destination[1], source[0], source[1])}
    assert len(arrived) == len(returned) == 4
    assert all(has_right_checksums(frame) for frame in arrived + returned)
    # A neighbour's PSID is not that of the port.
    spoofed = "2001:db8:12:3500:0:c000:212:35"
    ends = (FAR[2], spoofed, 80, 1232) if end == "edge" else (spoofed, FAR[2], 1232, 80)
    assert bed.through(mapped, udp(*ends), count=0) == []
    assert bed.counters(mapped)["dropped"]["wrong_softwire"] == 1


def test_a_whole_ce_of_map_t_gives_its_hosts_the_address_and_the_ports_of_its_subscriber(bed: Bed) -> None:
    port_set = {"psid": 0x34, "psid_length": 8, "offset": 6}
    translation = {"pool": f"{SUBSCRIBER[0]}/32", "port_set": port_set}
    bed.apply("nat44", translation=translation, table={"capacity": 1000}, map={"end": "edge", **MAP})
    sent = [udp("10.0.0.2", FAR[0], 4000 + number, FAR[1]) for number in range(252)]
    arrived = bed.through("left", *sent)
    # RFC 7599, Appendix A, Example 2: 1232 to 1235, 2256 to 2259, ..., 63696 to 63699, and 64720 to 64723.
    owned = {first + further for first in range(1232, 64721, 1024) for further in range(4)}
    assert {frame[UDP].sport for frame in arrived} == owned
    assert {(frame[IPv6].src, frame[IPv6].dst) for frame in arrived} == {(SUBSCRIBER[2], FAR[2])}
    # The subscriber has no port for another connection to this host.
    assert bed.through("left", udp("10.0.0.2", FAR[0], 5000, FAR[1]), count=0) == []
    returned = bed.through("right", *[udp(FAR[2], SUBSCRIBER[2], FAR[1], frame[UDP].sport) for frame in arrived])
    assert [endpoints(frame) for frame in returned] == [
        endpoints(packet)[2:] + endpoints(packet)[:2] for packet in sent
    ]
    assert all(has_right_checksums(frame) for frame in arrived + returned)


def test_an_aftr_keeps_homes_with_the_same_address_apart(bed: Bed) -> None:
    """Each home has a softwire of its own (RFC 6333 §6.6)."""
    homes = [f"2001:db8:7::{number:x}" for number in range(1, 20)]
    core = "2001:db8:ffff::1"
    softwire = {"end": "core", "addresses": {"core": core, "subscribers": {"address": "::"}}}
    table = {"capacity": 100}
    bed.apply("nat44", translation=NAT44, table=table, softwire={**softwire, "accepts_any_subscriber": True})
    sent = [IPv6(src=home, dst=core, hlim=64) / udp("192.168.1.2", "198.19.0.2") for home in homes]
    arrived = bed.through("left", *sent)
    assert {(frame[IP].src, frame[IP].dst) for frame in arrived} == {("198.19.0.1", "198.19.0.2")}
    ports = [frame[UDP].sport for frame in arrived]
    assert len({*ports}) == len(homes)
    returned = bed.through("right", *(udp("198.19.0.2", "198.19.0.1", 80, port) for port in ports))
    assert [(frame[IPv6].src, frame[IPv6].dst) for frame in returned] == [(core, home) for home in homes]
    assert {(frame[IP].src, frame[IP].dst, frame[UDP].dport) for frame in returned} == {
        ("198.19.0.2", "192.168.1.2", 4000)
    }
    assert all(has_right_checksums(frame) for frame in arrived + returned)


def test_a_fragment_of_an_end_of_softwires_is_followed_by_the_other_one(bed: Bed) -> None:
    ends = {"core": "2001:db8:ffff::1", "subscribers": {"address": "2001:db8:7::1"}}
    packet = udp("192.168.1.2", "198.19.0.2", payload=bytes(range(200)))
    for fault in ("inner_fragments_every", "outer_fragments_every"):
        bed.apply(softwire={"end": "edge", "addresses": ends, fault: 2})
        whole, first, second = bed.through("left", packet, packet, count=3)
        carried = bytes(whole[IP])
        if fault == "inner_fragments_every":
            assert [(part[IP].flags, part[IP].frag * 8) for part in (first, second)] == [
                ("MF", 0), ("", len(first[IP].payload))
            ]  # fmt: skip
            assert bytes(first[IP].payload) + bytes(second[IP].payload) == carried[20:]
            assert [checksum(bytes(part[IP])[:20]) for part in (first, second)] == [0, 0]
        else:
            parts = [part[IPv6ExtHdrFragment] for part in (first, second)]
            assert [(part.m, part.offset * 8, part.nh) for part in parts] == [
                (1, 0, 4), (0, len(parts[0].payload), 4)
            ]  # fmt: skip
            assert bytes(parts[0].payload) + bytes(parts[1].payload) == carried
        for part in (first, second):
            assert (part[IPv6].src, part[IPv6].dst) == ("2001:db8:7::1", "2001:db8:ffff::1")
            assert part[IPv6].plen == len(part) - 54
