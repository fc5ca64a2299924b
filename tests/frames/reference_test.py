# SPDX-License-Identifier: Apache-2.0
"""Tests natxy-reference on veth pairs with frames of Scapy: each mode, each limit and each fault."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    ICMPv6NDOptSrcLLAddr,
    IPv6,
    IPv6ExtHdrFragment,
)
from scapy.layers.l2 import ARP, Ether

from natxy.engine.pipe import RefusedError
from tests.support import needs
from tests.support.captured_frames import has_right_checksums
from tests.support.raw_reference import (
    ITS,
    MAP,
    NAT44,
    OURS,
    PORTS,
    Bed,
    endpoints,
    number,
    numbered,
    raw_reference_bed,
    udp,
)
from tests.support.timing import takes_at_most
from tests.support.undisturbed import undisturbed

# So low that no pause of the machine is long enough for another frame.
SLOWEST: Final = 0.001

pytestmark = [pytest.mark.lab, needs.NAMESPACES, needs.REFERENCE]


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with raw_reference_bed(tmp_path_factory.mktemp("reference")) as opened:
        yield opened


NAT66: Final = {"pool": "2001:2:0:8000::1/128"}
NAT64: Final = {"pool": "198.19.0.1/32", "prefix": "2001:2:0:64::/96"}
NAT46: Final = {
    "pool": "2001:2:0:8000::1/128",
    "mappings": [{"ipv4": "198.19.0.0/16", "ipv6": "2001:2:0:8001::/112"}],
}
SIIT: Final = {
    "prefix": "2001:2:0:64::/96",
    "mappings": [{"ipv4": "198.18.0.0/24", "ipv6": "2001:2:0:1::/120"}],
}

CLAT: Final = {
    "prefix": "2001:2:0:64::/96",
    "mappings": [{"ipv4": "10.0.0.0/24", "ipv6": "2001:2:0:46::a00:0/120"}],
}

# Mode, translation, source and destination on the left, source and destination on the right.
WAYS: Final = [
    ("forward", None, ("10.0.0.2", "198.19.0.2"), ("10.0.0.2", "198.19.0.2")),
    ("forward", None, ("fd00:2::2", "2001:2:0:8000::2"), ("fd00:2::2", "2001:2:0:8000::2")),
    ("nat44", NAT44, ("10.0.0.2", "198.19.0.2"), ("198.19.0.1", "198.19.0.2")),
    ("nat44", NAT44, ("fd00:2::2", "2001:2:0:8000::2"), ("fd00:2::2", "2001:2:0:8000::2")),
    ("nat66", NAT66, ("fd00:2::2", "2001:2:0:8000::2"), ("2001:2:0:8000::1", "2001:2:0:8000::2")),
    ("nat64", NAT64, ("fd00:2::2", "2001:2:0:64::c613:2"), ("198.19.0.1", "198.19.0.2")),
    ("nat64", NAT64, ("fd00:2::2", "2001:2:0:8000::2"), ("fd00:2::2", "2001:2:0:8000::2")),
    ("nat46", NAT46, ("10.0.0.2", "198.19.3.4"), ("2001:2:0:8000::1", "2001:2:0:8001::304")),
    ("siit", SIIT, ("2001:2:0:1::7", "2001:2:0:64::c613:2"), ("198.18.0.7", "198.19.0.2")),
    ("clat", CLAT, ("10.0.0.7", "198.19.0.2"), ("2001:2:0:46::a00:7", "2001:2:0:64::c613:2")),
]


def settings_of(mode: str, translation: dict[str, Any] | None) -> dict[str, Any]:
    settings: dict[str, Any] = {} if translation is None else {"translation": translation}
    return settings if mode in ("forward", "siit", "clat") else {**settings, "table": {"capacity": 1000}}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]}-{way[2][1]}")
def test_frames_go_there_and_back(bed: Bed, way: tuple[str, dict[str, Any] | None, Any, Any]) -> None:
    mode, translation, (host, remote), (pool, server) = way
    bed.apply(mode, **settings_of(mode, translation))
    sent = [udp(host, remote, 4000 + i, 80, b"x" * length) for i, length in enumerate((0, 1, 18, 1200, 1400))]
    arrived = bed.through("left", *sent)
    assert [endpoints(frame) for frame in arrived] == [(pool, 4000 + i, server, 80) for i in range(len(sent))]
    assert all((frame.src, frame.dst) == (ITS["right"], OURS["right"]) for frame in arrived)

    replies = [udp(server, pool, 80, 4000 + i, bytes(frame[UDP].payload)) for i, frame in enumerate(sent)]
    returned = bed.through("right", *replies)
    assert [endpoints(frame) for frame in returned] == [(remote, 80, host, 4000 + i) for i in range(len(sent))]

    for before, after in zip(sent + replies, arrived + returned, strict=True):
        assert has_right_checksums(after), after.show2(dump=True)
        ip, own = (after[IP], after[IP].ttl) if IP in after else (after[IPv6], after[IPv6].hlim)
        assert own == 63
        assert bytes(after[UDP].payload)[: len(before[UDP].payload)] == bytes(before[UDP].payload)
        total = len(ip) if IPv6 in after else after[IP].len
        assert after[UDP].len == total - (40 if IPv6 in after else 20)
        if IP in after and IPv6 in before:  # RFC 7915 §5.1
            assert after[IP].flags == ("DF" if total > 1260 else 0)
    assert bed.call("table.count")["connections"] == (5 if mode.startswith("nat") and host != pool else 0)


def test_it_answers_for_its_own_addresses_and_its_pool(bed: Bed) -> None:
    bed.apply("nat44", translation={"pool": "198.19.0.8/30"}, table={"capacity": 10})
    for target in ("198.19.0.1", "198.19.0.10"):
        ask = ARP(op="who-has", hwsrc=OURS["right"], psrc="198.19.0.2", pdst=target)
        bed.send("right", Ether(src=OURS["right"], dst="ff:ff:ff:ff:ff:ff") / ask)
        (answer,) = bed.received("right", 1, lambda frame: ARP in frame)
        assert (answer[ARP].hwsrc, answer[ARP].psrc) == (ITS["right"], target)
    bed.send("right", Ether(src=OURS["right"], dst="ff:ff:ff:ff:ff:ff") / ARP(op="who-has", pdst="198.19.0.12"))
    assert bed.received("right", 0) == []
    ask6 = IPv6(src="fd00:2::2", dst="ff02::1:ff00:1") / ICMPv6ND_NS(tgt="fd00:2::1")
    bed.send(
        "left", Ether(src=OURS["left"], dst="33:33:ff:00:00:01") / ask6 / ICMPv6NDOptSrcLLAddr(lladdr=OURS["left"])
    )
    (answer6,) = bed.received("left", 1, lambda frame: ICMPv6ND_NA in frame)
    assert answer6[ICMPv6NDOptDstLLAddr].lladdr == ITS["left"]


def test_it_asks_for_a_neighbor_that_it_has_not_heard_of(bed: Bed) -> None:
    bed.call("ports.close")
    bed.call("ports.open", ports=PORTS)
    links = [
        {"side": "left", "addresses": ["10.0.0.1"], "neighbors": ["10.0.0.2"]},
        {"side": "right", "addresses": ["2001:2:0:8000::1"], "neighbors": ["2001:2:0:8000::2"]},
    ]
    bed.call("gateway.apply", mode="forward", links=links)
    asked = bed.received("left", 1, lambda frame: ARP in frame)
    assert (asked[0][ARP].psrc, asked[0][ARP].pdst) == ("10.0.0.1", "10.0.0.2")
    assert bed.received("right", 1, lambda frame: ICMPv6ND_NS in frame)[0][ICMPv6ND_NS].tgt == "2001:2:0:8000::2"
    # It asks again meanwhile.
    assert not [frame for frame in bed.through("left", udp("10.0.0.2", "198.19.0.2"), count=0) if UDP in frame]
    assert bed.counters("left")["dropped"]["no_neighbor"] == 1


def test_what_it_cannot_forward_is_dropped_and_counted(bed: Bed) -> None:
    bed.apply()
    bad_lengths = udp("10.0.0.2", "198.19.0.2")
    bad_lengths[UDP].len = 500
    packets = [
        IP(src="10.0.0.2", dst="198.19.0.2", ttl=1) / UDP(),
        IP(src="10.0.0.2", dst="198.19.0.2") / ICMP(),
        IPv6(src="fd00:2::2", dst="2001:2::2") / IPv6ExtHdrFragment() / UDP(),
        IP(src="10.0.0.2", dst="198.19.0.2", chksum=1) / UDP(),
        bad_lengths,
    ]
    assert bed.through("left", *packets, count=0) == []
    dropped = bed.counters("left")["dropped"]
    assert (dropped["ttl"], dropped["foreign"], dropped["malformed"]) == (1, 2, 2)


def test_its_longest_pause_is_one_that_frames_waited_in(bed: Bed) -> None:
    bed.apply()
    time.sleep(0.1)
    bed.call("gateway.exactness", reset=True)
    # The gateway sleeps while no frame arrives.
    time.sleep(0.1)
    resting = bed.call("gateway.exactness")
    assert (resting["longest_pause_ns"], resting["pauses_ns"]) == (0, 0)
    bed.through("left", udp("10.0.0.2", "198.19.0.2"))
    assert bed.call("gateway.exactness", reset=True)["longest_pause_ns"] > 0


def test_frames_of_no_connection_stay_outside(bed: Bed) -> None:
    bed.apply("nat44", translation=NAT44, table={"capacity": 10})
    assert bed.through("right", udp("198.19.0.2", "198.19.0.1", 80, 4000), count=0) == []
    assert bed.counters("right")["dropped"]["no_connection"] == 1


@pytest.mark.parametrize(
    ("policy", "answered"),
    [("keep", [0, 1, 2]), ("lru", [2, 3, 4]), ("early-drop", [0, 3, 4]), ("collapse", [])],
)
def test_a_full_table_does_as_it_is_told(bed: Bed, policy: str, answered: list[int]) -> None:
    bed.apply("nat44", translation=NAT44, table={"capacity": 3, "when_full": policy})
    hosts = [udp("10.0.0.2", "198.19.0.2", 5000 + i) for i in range(5)]
    replies = [udp("198.19.0.2", "198.19.0.1", 80, 5000 + i) for i in range(5)]
    assert len(bed.through("left", hosts[0])) == 1
    assert len(bed.through("right", replies[0])) == 1
    bed.through("left", *hosts[1:], count=4 if policy in ("lru", "early-drop") else 2)
    returned = bed.through("right", *replies, count=len(answered))
    assert [frame[UDP].dport - 5000 for frame in returned] == answered
    if policy == "collapse":
        with pytest.raises(RefusedError, match="collapsed"):
            bed.call("table.clear")
        bed.call("gateway.restart", duration_s=0)
        assert len(bed.through("left", *hosts[:3])) == 3


def test_a_connection_without_state_is_forwarded_and_then_missed(bed: Bed) -> None:
    bed.apply("nat44", translation=NAT44, table={"capacity": 100, "without_state_every": 5})
    assert len(bed.through("left", *[udp("10.0.0.2", "198.19.0.2", 5000 + i) for i in range(20)])) == 20
    assert bed.call("table.count") == {"connections": 16}
    replies = [udp("198.19.0.2", "198.19.0.1", 80, 5000 + i) for i in range(20)]
    returned = bed.through("right", *replies, count=16)
    assert [frame[UDP].dport - 5000 for frame in returned] == [i for i in range(20) if i % 5 != 4]


def test_connections_are_made_and_deleted_at_their_rates(bed: Bed) -> None:
    table = {"capacity": 100, "max_connection_rate_cps": SLOWEST, "connection_burst": 10}

    def cleared() -> float:
        bed.apply("nat44", translation=NAT44, table={**table, "tear_down_rate_cps": 50, "clear_s": 0.1})
        assert len(bed.through("left", *[udp("10.0.0.2", "198.19.0.2", 5000 + i) for i in range(20)], count=10)) == 10
        assert bed.counters("left")["dropped"]["connection_rate"] == 10
        started = time.monotonic()
        assert bed.call("table.clear") == {"cleared": 10}
        took_s = time.monotonic() - started
        assert took_s >= 0.3
        assert bed.call("table.count") == {"connections": 0}
        return took_s

    takes_at_most(1, cleared)


def test_the_rate_is_limited(bed: Bed) -> None:
    bed.apply(truth={"max_rate_fps": SLOWEST, "buffer_frames": 7})
    assert [number(frame) for frame in bed.through("left", *numbered(30), count=7)] == list(range(7))
    assert bed.counters("left")["dropped"]["rate"] == 23
    assert len(bed.through("right", *numbered(7))) == 7


def test_losses_have_their_pattern(bed: Bed) -> None:
    bed.apply(truth={"forward": {"loss": {"every": 10, "frames": 3}}})
    lost = {i for i in range(50) if i % 10 >= 7}
    assert [number(frame) for frame in bed.through("left", *numbered(50), count=35)] == sorted({*range(50)} - lost)
    assert len(bed.through("right", *numbered(50))) == 50


def test_random_losses_are_the_seeds(bed: Bed) -> None:
    survivors = []
    for seed in (1, 1, 2):
        bed.apply(truth={"seed": seed, "forward": {"loss_ratio": 0.2}})
        arrived = bed.through("left", *numbered(300), count=0)
        arrived += bed.received("right", bed.counters("left")["sent"] - len(arrived))
        survivors.append([number(frame) for frame in arrived])
        assert 200 < len(arrived) < 280
    assert survivors[0] == survivors[1] != survivors[2]


def test_duplicates_do_not_make_up_for_losses(bed: Bed) -> None:
    bed.apply(truth={"forward": {"loss": {"every": 5}, "duplicate_every": 4}})
    arrived = [number(frame) for frame in bed.through("left", *numbered(20), count=20)]
    assert len(arrived) == 20
    assert len(set(arrived)) == 16
    assert bed.counters("left")["duplicated"] == 4


def test_frames_are_reordered(bed: Bed) -> None:
    def arrived() -> list[int]:
        bed.apply(truth={"forward": {"reorder": {"every": 5, "by": 2}}})
        return [number(frame) for frame in bed.through("left", *numbered(10))]

    # The last frame is held for a short time, in which no further frame arrives. A machine that pauses this test
    # between two frames lets the time of the earlier frame end as well.
    expected = [0, 1, 2, 3, 5, 6, 4, 7, 8, 9]
    undisturbed(arrived, lambda found: "" if found == expected else f"the order was {found}")


def test_checksums_are_spoiled(bed: Bed) -> None:
    bed.apply(truth={"reverse": {"corrupt_checksum_every": 3}})
    arrived = bed.through("right", *numbered(9))
    assert [has_right_checksums(frame) for frame in arrived] == [True, True, False] * 3


def test_ports_are_rewritten_wrongly(bed: Bed) -> None:
    fault = {"wrong_port_every": 2}
    bed.apply(truth={"forward": fault, "reverse": fault})
    assert [frame[UDP].sport for frame in bed.through("left", *numbered(4))] == [4000, 4001, 4000, 4001]
    returned = bed.through("right", *numbered(4))
    assert [frame[UDP].dport for frame in returned] == [80, 81, 80, 81]
    assert all(has_right_checksums(frame) for frame in returned)


def test_frames_are_delayed(bed: Bed) -> None:
    delay = [{"share": 0.5, "min_ns": 0}, {"share": 0.5, "min_ns": 2_000_000_000}]

    def half_arrived() -> float:
        bed.apply(truth={"forward": {"delay": delay}})
        started = time.monotonic()
        bed.send("left", *[Ether(src=OURS["left"], dst=ITS["left"]) / packet for packet in numbered(20)])
        frames = bed.received("right", 9)
        took_s = time.monotonic() - started
        # Those that a busy machine has not let through by then may be the delayed ones.
        assert took_s >= 2 or 9 <= len(frames) <= 11
        frames += bed.received("right", 20 - len(frames))
        assert time.monotonic() - started >= 2
        assert sorted(number(frame) for frame in frames) == list(range(20))
        return took_s

    takes_at_most(2, half_arrived)


def test_a_deaf_gateway_hears_again(bed: Bed) -> None:
    bed.apply("nat44", translation=NAT44, table={"capacity": 10})
    assert len(bed.through("left", udp("10.0.0.2", "198.19.0.2"))) == 1
    bed.call("gateway.deaf", duration_s=600)
    assert bed.through("left", udp("10.0.0.2", "198.19.0.2"), count=0) == []
    assert bed.counters("left")["dropped"]["deaf"] == 1
    bed.call("gateway.deaf", duration_s=0)
    assert len(bed.through("right", udp("198.19.0.2", "198.19.0.1", 80, 4000))) == 1
    bed.call("gateway.restart", duration_s=0)
    assert bed.through("right", udp("198.19.0.2", "198.19.0.1", 80, 4000), count=0) == []


LINKS: Final = [{"side": side, "addresses": ["198.18.0.1"]} for side in OURS]
PLAIN: Final[dict[str, Any]] = {"mode": "forward", "links": LINKS}
NAT: Final[dict[str, Any]] = {**PLAIN, "mode": "nat44", "translation": NAT44, "table": {"capacity": 1}}


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("mode", {**PLAIN, "mode": "nat55"}),
        ("links", {**PLAIN, "links": LINKS[:1]}),
        ("links[2].pair", {**PLAIN, "links": [*LINKS, *({**link, "pair": 1} for link in LINKS)]}),
        ("translation", {**PLAIN, "mode": "nat44"}),
        ("table", {**PLAIN, "mode": "nat44", "translation": NAT44}),
        ("table", {**PLAIN, "table": {"capacity": 1}}),
        ("table.capacity", {**NAT, "table": {"capacity": 0}}),
        ("table.when_full", {**NAT, "table": {"capacity": 1, "when_full": "panic"}}),
        ("translation.pool", {**NAT, "mode": "nat66"}),
        ("translation.ports", {**NAT, "translation": {**NAT44, "ports": {"min": 9, "max": 8}}}),
        ("translation.prefix", {**PLAIN, "mode": "siit", "translation": {**SIIT, "prefix": "2001:2::/72"}}),
        (
            "translation.port_set.psid",
            {**NAT, "translation": {**NAT44, "port_set": {"offset": 6, "psid": 4, "psid_length": 2}}},
        ),
        ("map.prefix", {**PLAIN, "map": {"end": "edge", **MAP, "prefix": "2001:db8::/65"}}),
        ("map", {**PLAIN, "mode": "siit", "translation": SIIT, "map": {"end": "edge", **MAP}}),
        ("truth.max_rate_fps", {**PLAIN, "truth": {"max_rate_fps": 0}}),
        ("truth.forward.loss.frames", {**PLAIN, "truth": {"forward": {"loss": {"every": 2, "frames": 3}}}}),
        ("truth.reverse.delay", {**PLAIN, "truth": {"reverse": {"delay": [{"share": 0.9, "min_ns": 1}]}}}),
        ("truth.forward.jitter", {**PLAIN, "truth": {"forward": {"jitter": 1}}}),
    ],
)
def test_a_wrong_field_is_named(bed: Bed, field: str, params: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refused:
        bed.call("gateway.apply", **params)
    assert refused.value.code == -32602
    assert str(refused.value).startswith(f"{field}: ")


def test_a_gap_in_the_numbers_of_pairs_is_refused(bed: Bed) -> None:
    with pytest.raises(RefusedError, match=r"^ports\[0\]\.pair: expected pairs numbered from 0 on") as refused:
        bed.call("ports.open", ports=[{**port, "pair": 2} for port in PORTS])
    assert refused.value.code == -32602
    bed.apply()
