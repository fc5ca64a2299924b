# SPDX-License-Identifier: Apache-2.0
"""Frames that arrived and were no intact test frames of their trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from natxy.report.tables.table import Column, Table
from natxy.results.records import RunRecord

# The engine's names of kinds; its others are told as they are.
_KINDS: Final = {
    "corrupt_test": "test frame with a wrong checksum or length",
    "arp": "ARP",
    "mld": "MLD (IPv6 multicast listeners)",
    "igmp": "IGMP (IPv4 multicast listeners)",
    "lldp": "LLDP",
    "icmp_fragmentation_needed": "ICMP fragmentation needed",
    "icmpv6_packet_too_big": "ICMPv6 packet too big",
    "icmp_other": "other ICMP",
    "icmpv6_other": "other ICMPv6",
    "udp": "UDP without natxy's signature",
    "tcp": "TCP",
    "other_ipv4": "IPv4 of another protocol",
    "other_ipv6": "IPv6 of another protocol",
    "other_ethertype": "neither IPv4, IPv6 nor ARP",
    "malformed": "too short, or with lengths that contradict each other",
}
_WORDS: Final = {
    "icmp": "ICMP", "icmpv6": "ICMPv6", "ipv4": "IPv4", "ipv6": "IPv6", "neighbor": "IPv6 neighbour",
    "router": "IPv6 router",
}  # fmt: skip


def foreign_frames(run: RunRecord) -> Table:
    total: Counter[tuple[str, str]] = Counter()
    for _, _, trial in run.all_trials:
        for port in trial.result.ports:
            for kind, frames in port.foreign.items():
                total[port.side.value, kind] += frames
    rows = tuple((side, _words(kind), f"{frames:,}") for (side, kind), frames in sorted(total.items()) if frames)
    return Table("Foreign frames", (Column("Port"), Column("Kind"), Column("Frames", numeric=True)), rows)


def corrupt_frames(run: RunRecord) -> Mapping[str, int]:
    """Test frames that arrived with a wrong checksum or length, by the titles of the experiments that met any."""
    total: Counter[str] = Counter()
    for experiment, _, trial in run.all_trials:
        total[experiment.title] += trial.corrupt
    return +total


def _words(kind: str) -> str:
    return _KINDS.get(kind) or " ".join(_WORDS.get(word, word) for word in kind.split("_"))
