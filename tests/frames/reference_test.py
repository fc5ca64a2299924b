# SPDX-License-Identifier: Apache-2.0
"""Tests natxy-reference on veth pairs with frames of Scapy: each mode, each limit and each fault."""

from __future__ import annotations

import errno
import os
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from pydantic import RootModel
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
from scapy.packet import Packet, Raw
from scapy.utils import checksum

from natxy.engine.pipe import RefusedError, RpcPipe
from natxy.engine.program import find_reference
from natxy.errors import DutError
from tests.support import needs
from tests.support.capture import inside
from tests.support.captured_frames import has_right_checksums
from tests.support.timing import takes_at_most, wait_until
from tests.support.undisturbed import undisturbed

NAMESPACE: Final = f"natxy-reference-{os.getpid()}"
OURS: Final = {"left": "02:00:00:00:00:01", "right": "02:00:00:00:01:01"}
ITS: Final = {"left": "02:00:00:00:00:11", "right": "02:00:00:00:01:11"}
PORTS: Final = [
    {"side": side, "device": f"net_af_packet{i},iface=gw-{side}", "medium": "veth", "mac": ITS[side]}
    for i, side in enumerate(OURS)
]
# Only ends a test that hangs.
PATIENCE_S: Final = 60.0
# So low that no pause of the machine is long enough for another frame.
SLOWEST: Final = 0.001

Params = RootModel[dict[str, Any]]


pytestmark = [pytest.mark.lab, needs.NAMESPACES, needs.REFERENCE]


class Bed:
    """Holds the gateway and a raw socket at each outer end of its two veth pairs."""

    def __init__(self, gateway: RpcPipe, sockets: dict[str, socket.socket]) -> None:
        self.gateway = gateway
        self._sockets = sockets

    def call(self, method: str, **params: Any) -> Any:
        return self.gateway.call(method, Params(params))

    def apply(self, mode: str = "forward", **settings: Any) -> None:
        links = [
            {"side": "left", "addresses": ["10.0.0.1", "fd00:2::1"]},
            {"side": "right", "addresses": ["198.19.0.1", "2001:2:0:8000::1"]},
        ]
        self.call("gateway.apply", **{"mode": mode, "links": links, **settings})
        # The gateway learns its neighbor from any frame.
        for side in OURS:
            self.send(side, Ether(src=OURS[side], dst=ITS[side]) / IP(src="10.9.9.9", dst="10.9.9.8", ttl=1) / UDP())
        wait_until(lambda: sum(sum(self.counters(side)["dropped"].values()) for side in OURS) == 2, every_s=0.001)
        self.call("gateway.counters", reset=True)
        self.received("left", 0)
        self.received("right", 0)

    def counters(self, side: str) -> dict[str, Any]:
        """Returns the counters of the direction that begins at `side`."""
        return dict(self.call("gateway.counters")["forward" if side == "left" else "reverse"])

    def send(self, side: str, *frames: Packet) -> None:
        for frame in frames:
            self._send(side, bytes(frame))

    def _send(self, side: str, frame: bytes) -> None:
        """Sends again when the kernel's backlog queue, which all veths of a core share, is full."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._sockets[side].send(frame)
            except OSError as error:
                if error.errno != errno.ENOBUFS or time.monotonic() > deadline:
                    raise
                time.sleep(0.001)
            else:
                return

    def received(self, side: str, count: int, wanted: Callable[[Packet], bool] = lambda frame: True) -> list[Packet]:
        """Returns the frames that arrive until there are `count`, or for long none, and those that follow at once."""
        frames: list[Packet] = []
        deadline = time.monotonic() + PATIENCE_S
        while (len(frames) < count and time.monotonic() < deadline) or self._waits(side):
            if self._waits(side, 0.05):
                frame = Ether(self._sockets[side].recv(65535))
                if frame.src == ITS[side] and wanted(frame):
                    frames.append(frame)
        return frames

    def _waits(self, side: str, timeout_s: float = 0.02) -> bool:
        return bool(select.select([self._sockets[side]], [], [], timeout_s)[0])

    def through(self, side: str, *packets: Packet, count: int | None = None) -> list[Packet]:
        """Sends packets into `side`; returns what leaves the other side: `count` frames, or as many as were sent."""
        taken = self.counters(side)["received"] + len(packets)
        self.send(side, *[Ether(src=OURS[side], dst=ITS[side]) / packet for packet in packets])
        wait_until(lambda: self.counters(side)["received"] >= taken, every_s=0.001)
        return self.received(opposite(side), len(packets) if count is None else count)


def opposite(side: str) -> str:
    return "right" if side == "left" else "left"


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    def run(*words: str) -> None:
        subprocess.run(["ip", "netns", "exec", NAMESPACE, *words], check=True)

    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        run("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.conf.all.arp_ignore=8")
        for side in OURS:
            run("ip", "link", "add", side, "type", "veth", "peer", "name", f"gw-{side}")
            for end in (side, f"gw-{side}"):
                run("ip", "link", "set", end, "up")
        with inside(NAMESPACE):
            sockets = {side: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) for side in OURS}
            for side, raw in sockets.items():
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
                raw.bind((side, 0))
        program = [str(find_reference()), "--worker-cores", "1", "--main-core", "0"]
        log = tmp_path_factory.mktemp("reference") / "reference.log"
        argv = ["ip", "netns", "exec", NAMESPACE, *program]
        gateway = RpcPipe(argv, log, name="natxy-reference", silence_s=20, died=DutError)
        try:
            gateway.call("ports.open", Params({"ports": PORTS}))
            yield Bed(gateway, sockets)
        finally:
            gateway.close("ports.close")
            for raw in sockets.values():
                raw.close()
    finally:
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


def udp(source: str, destination: str, sport: int = 4000, dport: int = 80, payload: bytes = b"natxy" * 8) -> Packet:
    layer = IPv6(src=source, dst=destination) if ":" in source else IP(src=source, dst=destination, flags="DF")
    return layer / UDP(sport=sport, dport=dport) / Raw(payload)


def numbered(count: int, source: str = "10.0.0.2", destination: str = "198.19.0.2") -> list[Packet]:
    return [udp(source, destination, payload=b"%06d" % i + bytes(20)) for i in range(count)]


def number(frame: Packet) -> int:
    return int(bytes(frame[UDP].payload)[:6])


def endpoints(frame: Packet) -> tuple[str, int, str, int]:
    ip = frame[IPv6] if IPv6 in frame else frame[IP]
    return ip.src, frame[UDP].sport, ip.dst, frame[UDP].dport


NAT44: Final = {"pool": "198.19.0.1/32"}
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


# RFC 7599, Appendix A, Examples 1 and 2: the subscriber 192.0.2.18 with PSID 0x34, and a host that is none.
SUBSCRIBER: Final = ("192.0.2.18", 1232, "2001:db8:12:3400:0:c000:212:34")
FAR: Final = ("10.2.3.4", 80, "2001:db8:ffff:0:a:203:400:0")
RULE: Final = {
    "address": "2001:db8::", "address_mask": 0xFF, "address_shift": 16, "psid_mask": 0xFF, "psid_drop": 2,
    "psid_shift": 8, "identifier": True,
}  # fmt: skip
MAP: Final = {"subscribers": RULE, "ipv4": "192.0.2.0/24", "prefix": "2001:db8:ffff::/64"}


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
