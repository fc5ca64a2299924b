# SPDX-License-Identifier: Apache-2.0
"""Reads what a Linux DUT, or PF of a BSD, counts about frames that it loses, by one command before and after a trial.

The texts are those of a DUT, which natxy does not trust: lines that are not as its programs write them are ignored, and
a program that is missing leaves its part empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.drop_rules import iptables_drops, nft_drops
from natxy.dut.transport.base import Transport
from natxy.errors import DutError
from natxy.results.dut_counts import CONNTRACK, CONNTRACK_LOSSES, FORWARDED, KERNEL, RECEIVED, SENT, DutCounts, together

_TIMEOUT_S: Final = 2.0
_MOST_RULES: Final = 20
_SIZES: Final = {"connections": "count", "table_size": "max", "buckets": "buckets"}
_SIZE_PATH: Final = "/proc/sys/net/netfilter/nf_conntrack_"
_TABLE: Final = "/proc/net/stat/nf_conntrack"
_NEIGHBORS: Final = {f"/proc/net/stat/{name}": f"lnstat -f {name}" for name in ("arp_cache", "ndisc_cache")}
_PAIRED: Final = ("/proc/net/snmp", "/proc/net/netstat")
_SINGLE: Final = "/proc/net/snmp6"
# /proc needs no program, and has the table's counters unless the kernel was built without them. A card says more than
# the counters of every interface; `iptables-legacy-save` would load modules where nothing uses them.
_SCRIPT: Final = f"""exec 2>/dev/null
echo '== proc'; grep -sH '' {_TABLE} {" ".join((*_NEIGHBORS, *_PAIRED, _SINGLE))} \
{" ".join(_SIZE_PATH + name for name in _SIZES.values())}
[ -r {_TABLE} ] || {{ echo '== conntrack'; conntrack -S; }}
echo '== nft'; nft -t list ruleset
for version in ip ip6; do
  [ -s "/proc/net/${{version}}_tables_names" ] && {{ echo "== ${{version}}tables-legacy-save"; \
"${{version}}tables-legacy-save" -c; }}
done
echo '== tc'; tc -s qdisc show
for each; do
  [ -e "/sys/class/net/$each/device" ] && {{ echo "== ethtool-$each"; ethtool -S "$each"; }}
done
for each in jool jool_siit jool_mapt; do
  [ -d "/sys/module/$each" ] && {{ echo "== $each"; \
for own in $($each instance display --csv --no-headers | grep -o 'natxy[^,]*' | sort -u); do \
$each -i "$own" stats display --csv --no-headers; done; }}
done
[ -e /dev/pf ] && {{ echo '== pfctl'; pfctl -si; }}
exit 0
"""

_NUMBER: Final = r"\d{1,18}"
_HEX: Final = re.compile(r"[0-9a-f]{8,16}")
# The kernel's names of /proc differ from those of `conntrack -S`.
_OF_TABLE: Final = {"clashres": "clash_resolve", "chainlength": "chaintoolong"} | {
    name: name for name in (*CONNTRACK_LOSSES, "early_drop", "search_restart", "clash_resolve")
}
_OF_NEIGHBORS: Final = {"unresolved_discards", "table_fulls"}
_OF_KERNEL: Final = re.compile(
    r"(?:Ip|Ip6|IpExt)(?:\w*Discards|\w*NoRoutes|InHdrErrors|InAddrErrors|InUnknownProtos|InTruncatedPkts|"
    r"InTooBigErrors|\w*Fails|InCsumErrors)|(?:Icmp|Icmp6)Out(?:DestUnreachs|TimeExcds|PktTooBigs)|"
    r"TcpExtIPReversePathFilter|(?:Udp|Udp6)(?:Rcvbuf|Sndbuf)Errors"
)
_OF_PASSAGE: Final = {*RECEIVED, *FORWARDED, *SENT}
_OF_CARD: Final = re.compile(r"drop|discard|miss|err|fail|no_?buf|nombuf|full|csum|crc|overflow|overrun|no_desc", re.I)
_JOOL_NO_LOSS: Final = {"RECEIVED6", "RECEIVED4", "SUCCESS", "BIB_ENTRIES", "SESSIONS"}


@dataclass(frozen=True)
class Reading:
    """Holds one reading: the counters by command and name, and the sizes of the connection table by their fields."""

    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    silent_rules: tuple[str, ...] = ()


class CountWatch:
    """Reads the counters of a DUT between `begin` and `end`. A DUT that does not answer, or has neither, has none."""

    def __init__(self, transport: Transport, interfaces: DutInterfaces) -> None:
        self._transport = transport
        self._argv = ["sh", "-c", _SCRIPT, "sh", *(() if interfaces.dpdk else interfaces.names)]
        self._before: Reading | None = None

    def begin(self) -> None:
        self._before = self._read()

    def end(self) -> DutCounts | None:
        """Returns what rose since `begin`; None if that is unknown."""
        after = self._read()
        return rose(self._before, after) if self._before and after else None

    def _read(self) -> Reading | None:
        with suppress(DutError):
            return parse_reading(self._transport.run(self._argv, timeout_s=_TIMEOUT_S, check=False).stdout)
        return None


class CountWatches:
    """Reads the counters of a DUT: those of a gateway, or of several, one behind the other."""

    def __init__(self, watches: Sequence[CountWatch]) -> None:
        self._watches = tuple(watches)

    def begin(self) -> None:
        for each in self._watches:
            each.begin()

    def end(self) -> DutCounts | None:
        """Returns what rose since `begin` in all of them together; None if it is unknown of one."""
        found = [each.end() for each in self._watches]
        known = [each for each in found if each]
        return together(known) if len(known) == len(found) else None


def rose(before: Reading, after: Reading) -> DutCounts:
    """Returns how far each counter rose; those that did not, or were reset, are left out."""
    found = {
        shown_by: {name: by for name, count in counters.items() if (by := count - old.get(name, 0)) > 0}
        for shown_by, counters in after.counters.items()
        # A part that was not told before does not begin at zero.
        if (old := before.counters.get(shown_by)) is not None
    }
    return DutCounts(
        rose={shown_by: counters for shown_by, counters in found.items() if counters},
        silent_rules=after.silent_rules,
        **after.sizes,
    )


def parse_reading(text: str) -> Reading | None:
    """Returns what the command printed; None if it did not run to its first part."""
    parts = dict(re.findall(r"^== (\S+)\n((?:(?!== ).*\n?)*)", text, re.MULTILINE))
    if not parts.get("proc") and not parts.get("pfctl"):
        return None
    files: dict[str, list[str]] = {}
    for line in parts.get("proc", "").splitlines():
        file, found, rest = line.partition(":")
        if found:
            files.setdefault(file, []).append(rest)
    rules = dict(
        [*nft_drops(parts.get("nft", ""))]
        + [drop for name, saved in parts.items() if name.endswith("-save") for drop in iptables_drops(name, saved)]
    )
    counters: dict[str, dict[str, int]] = {
        CONNTRACK: _table(files.get(_TABLE, [])) or _conntrack(parts.get("conntrack", "")),
        KERNEL: dict([*_kernel(files)]),
        "nft list ruleset": {rule: frames for rule, frames in rules.items() if frames is not None},
        "tc -s qdisc": dict(_queues(parts.get("tc", ""))),
        "pfctl -si": _filter(parts.get("pfctl", "")),
    }
    counters |= {shown_by: _neighbors(files[file]) for file, shown_by in _NEIGHBORS.items() if file in files}
    for name, printed in parts.items():
        if name.startswith("ethtool-"):
            counters[name.replace("-", " -S ", 1)] = _card(printed)
        elif name.startswith("jool"):
            counters[f"{name} stats display"] = _jool(printed)
    return Reading(
        {shown_by: each for shown_by, each in counters.items() if each},
        {
            size: int(lines[0])
            for size, name in _SIZES.items()
            if (lines := files.get(_SIZE_PATH + name)) and re.fullmatch(_NUMBER, lines[0])
        },
        tuple(rule for rule, frames in rules.items() if frames is None)[:_MOST_RULES],
    )


def _columns(lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yields the columns of a table of /proc/net/stat, summed over its lines, one a core."""
    rows = [line.split() for line in lines]
    header = rows[0] if rows else []
    known = [row for row in rows[1:] if len(row) == len(header) and all(map(_HEX.fullmatch, row))]
    for index, name in enumerate(header):
        if known:
            yield name, sum(int(row[index], 16) for row in known)


def _table(lines: list[str]) -> dict[str, int]:
    return {_OF_TABLE[name]: count for name, count in _columns(lines) if name in _OF_TABLE}


def _conntrack(printed: str) -> dict[str, int]:
    """Returns the counters of `conntrack -S`, which prints a line for each core."""
    found: dict[str, int] = {}
    for name, count in re.findall(rf"\b(\w+)=({_NUMBER})\b", printed):
        if name in _OF_TABLE:
            found[name] = found.get(name, 0) + int(count)
    return found


def _neighbors(lines: list[str]) -> dict[str, int]:
    return {name: count for name, count in _columns(lines) if name in _OF_NEIGHBORS}


def _kernel(files: Mapping[str, list[str]]) -> Iterator[tuple[str, int]]:
    """Yields the kernel's counters by the names that `nstat` gives them."""
    for name, count in _named(files):
        if (_OF_KERNEL.fullmatch(name) or name in _OF_PASSAGE) and re.fullmatch(_NUMBER, count):
            yield name, int(count)


def _named(files: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    for file in _PAIRED:
        rows = [line.split() for line in files.get(file, [])]
        for names, counts in pairwise(rows):
            if len(names) == len(counts) > 1 and names[0] == counts[0] and not names[1][:1].isdigit():
                group = names[0].removesuffix(":")
                yield from ((group + name, count) for name, count in zip(names[1:], counts[1:], strict=True))
    for line in files.get(_SINGLE, []):
        match line.split():
            case [name, count]:
                yield name, count


def _queues(printed: str) -> Iterable[tuple[str, int]]:
    found: dict[str, int] = {}
    queue = ""
    for line in printed.splitlines():
        if opened := re.match(r"qdisc (\S+) \S+ dev (\S{1,15})(?!\S)", line):
            queue = f"dropped of {opened[1]} on {opened[2]}"
        elif queue and (counted := re.search(rf"\(dropped ({_NUMBER}),", line)):
            found[queue] = found.get(queue, 0) + int(counted[1])
    return found.items()


def _card(printed: str) -> dict[str, int]:
    lines = re.findall(rf"^ +(\S[^:\n]{{0,60}}): ({_NUMBER})$", printed, re.MULTILINE)
    return {name: int(count) for name, count in lines if _OF_CARD.search(name)}


def _filter(printed: str) -> dict[str, int]:
    """Returns the part `Counters` of `pfctl -si`: for each reason, how many frames PF dropped."""
    reasons = printed.partition("\nCounters")[2]
    lines = re.findall(rf"^  ([a-z][a-z-]{{0,60}}) +({_NUMBER}) +\S+/s$", reasons, re.MULTILINE)
    # `match` counts the frames that a rule was found for.
    return {name: int(count) for name, count in lines if name != "match"}


def _jool(printed: str) -> dict[str, int]:
    """Returns the counters of all of natxy's instances together; those of other network namespaces say nothing."""
    found: dict[str, int] = {}
    for name, count in re.findall(rf"^(?:JSTAT_?)(\w{{1,60}})[,:] *({_NUMBER})$", printed, re.MULTILINE):
        if name not in _JOOL_NO_LOSS:
            found[name] = found.get(name, 0) + int(count)
    return found
