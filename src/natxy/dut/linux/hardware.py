# SPDX-License-Identifier: Apache-2.0
"""Describes the machine of a Linux DUT for the report: its processor, memory, kernel, and the cards of both interfaces.

One command prints everything, in parts. The texts are those of a DUT, which natxy does not trust: what is missing or
does not look as expected is left out, and values are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import Transport
from natxy.errors import DutError
from natxy.untrusted.texts import one_line

_TIMEOUT_S: Final = 10.0
_LONGEST: Final = 1000
_MOST_OFFLOADS: Final = 100
# Each part begins with a line of its own. Programs that are missing print nothing.
_SCRIPT: Final = r"""
export LC_ALL=C
part() { printf '\n=natxy= %s\n' "$1"; shift; "$@" 2>/dev/null; }
part lscpu lscpu
part cpuinfo grep -m1 '^model name' /proc/cpuinfo
part meminfo grep '^MemTotal:' /proc/meminfo
part cmdline cat /proc/cmdline
part kernel uname -srvm
part mitigations grep -sH '' /sys/devices/system/cpu/vulnerabilities/*
cd /sys/devices/system/cpu/cpu0/cpufreq 2>/dev/null && part scaling cat scaling_driver scaling_governor
for name in "$@"; do
    part "card $name" ethtool -i "$name"
    part "speed $name" cat "/sys/class/net/$name/speed"
    part "numa $name" cat "/sys/class/net/$name/device/numa_node"
    part "queues $name" ethtool -l "$name"
    part "files $name" ls "/sys/class/net/$name/queues"
    part "rings $name" ethtool -g "$name"
    part "rss $name" ethtool -x "$name"
    part "udp4 $name" ethtool -n "$name" rx-flow-hash udp4
    part "udp6 $name" ethtool -n "$name" rx-flow-hash udp6
    part "offloads $name" ethtool -k "$name"
    case "$name" in */*) ;; *) part "slot $name" sh -c \
        'slot=$(readlink -f "/sys/class/net/$1/device") && lspci -s "${slot##*/}"' sh "$name" ;; esac
done
:
"""
_PART: Final = re.compile(r"^=natxy= (\S.*)$", re.MULTILINE)
_KEYED: Final = re.compile(r"^\s*([^:\n]{1,80}):[ \t]*(.*?)\s*$", re.MULTILINE)
_KEY: Final = re.compile(r"^(?:[0-9a-f]{2}:){7,255}[0-9a-f]{2}$", re.MULTILINE)
_HASH: Final = re.compile(r"^\s*(\w{1,20}): on\s*$", re.MULTILINE)
_ON: Final = re.compile(r"^\s*([a-z0-9-]{1,60}): on(?: \[fixed\])?\s*$", re.MULTILINE)
# ethtool's words for what rx-flow-hash takes as letters.
_FIELDS: Final = {
    "IP SA": "s", "IP DA": "d", "L4 bytes 0 & 1 [TCP/UDP src port]": "f", "L4 bytes 2 & 3 [TCP/UDP dst port]": "n",
}  # fmt: skip


def describe_hardware(transport: Transport, interfaces: DutInterfaces) -> dict[str, str]:
    """Returns the facts that the DUT tells, by their names in the report; none for a DUT that is not Linux."""
    names = [] if interfaces.dpdk else [*interfaces.names]
    text = ""
    with suppress(DutError):
        text = transport.run(["sh", "-c", _SCRIPT, "sh", *names], timeout_s=_TIMEOUT_S, check=False).stdout
    return parse_hardware(text, names)


def parse_hardware(text: str, names: list[str]) -> dict[str, str]:
    """Returns the facts that are in the command's output."""
    parts = _parts(text)
    facts = [*_machine(parts)]
    for name in names:
        facts += [(f"{name} {what}", value) for what, value in _card(parts, name)]
    return {what: one_line(value)[:_LONGEST] for what, value in facts if value.strip()}


def rss_fields(text: str) -> str:
    """Returns the letters of `ethtool -N … rx-flow-hash` for what `ethtool -n … rx-flow-hash` printed."""
    lines = {line.strip() for line in text.splitlines()}
    return "".join(letter for words, letter in _FIELDS.items() if words in lines)


def _parts(text: str) -> dict[str, str]:
    pieces = _PART.split(text)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _keyed(text: str) -> dict[str, str]:
    """Returns the values of lines such as `Model name: X`; of several with one key the last one, as ethtool prints
    what is in force after what is possible."""
    return dict(_KEYED.findall(text))


def _machine(parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    cpu = _keyed(parts.get("lscpu", ""))
    yield "processor", cpu.get("Model name") or _keyed(parts.get("cpuinfo", "")).get("model name", "")
    counts = {"Socket(s)": "socket", "Core(s) per socket": "core a socket", "Thread(s) per core": "thread a core"}
    known = [f"{cpu[key]} {words}" for key, words in counts.items() if key in cpu]
    yield "cores", "; ".join(filter(None, (cpu.get("CPU(s)", ""), " × ".join(known))))
    nodes = [f"{key.removeprefix('NUMA ').removesuffix(' CPU(s)')}: {cpus}" for key, cpus in cpu.items()
             if re.fullmatch(r"NUMA node\d+ CPU\(s\)", key)]  # fmt: skip
    yield "NUMA", "; ".join(filter(None, (cpu.get("NUMA node(s)", ""), *nodes)))
    yield "virtualization", cpu.get("Hypervisor vendor", "")
    yield "L3 cache", cpu.get("L3 cache", "") or cpu.get("L3", "")
    yield "memory", _keyed(parts.get("meminfo", "")).get("MemTotal", "")
    yield "kernel", parts.get("kernel", "")
    yield "kernel command line", parts.get("cmdline", "")
    yield "mitigations", _mitigations(parts.get("mitigations", ""))
    yield "clock frequency driver and governor", ", ".join(parts.get("scaling", "").split())


def _mitigations(text: str) -> str:
    """Returns the processor's vulnerabilities with what the kernel does about them; it names those that it has not only
    by their number."""
    found, absent = [], 0
    for line in text.splitlines():
        file, colon, state = line.partition(":")
        if not colon:
            continue
        if state.strip() == "Not affected":
            absent += 1
        else:
            found.append(f"{file.rpartition('/')[2]}: {state.strip()}")
    return "; ".join([*found, *([f"{absent} others not affected"] if absent else [])])


def _card(parts: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    def part(what: str) -> str:
        return parts.get(f"{what} {name}", "")

    card = _keyed(part("card"))
    yield "card", part("slot")
    yield "driver", " ".join(filter(None, (card.get("driver", ""), card.get("version", ""))))
    yield "firmware", "" if card.get("firmware-version") in (None, "N/A") else card["firmware-version"]
    yield "bus", card.get("bus-info", "")
    speed = part("speed").strip()
    yield "speed", f"{speed} Mbit/s" if re.fullmatch(r"[1-9]\d{0,8}", speed, re.ASCII) else ""
    yield "NUMA node", "" if part("numa").strip() == "-1" else part("numa")
    yield "queues", _queues(part("queues"), part("files"))
    rings = _keyed(part("rings"))
    yield "rings", ", ".join(f"{key} {rings[key]}" for key in ("RX", "TX") if rings.get(key, "n/a") != "n/a")
    key = _KEY.search(part("rss"))
    yield "RSS key", key[0] if key else ""
    yield "RSS hash", ", ".join(_HASH.findall(part("rss")))
    for kind, title in (("udp4", "UDP over IPv4"), ("udp6", "UDP over IPv6")):
        yield f"RSS fields, {title}", rss_fields(part(kind))
    yield "offloads", ", ".join(_ON.findall(part("offloads"))[:_MOST_OFFLOADS])


def _queues(channels: str, files: str) -> str:
    told = _keyed(channels)
    kinds = [f"{told[key]} {key.lower()}" for key in ("RX", "TX", "Combined")
             if re.fullmatch(r"[1-9]\d{0,4}", told.get(key, ""), re.ASCII)]  # fmt: skip
    if kinds:
        return ", ".join(kinds)
    counts = {way: len(re.findall(rf"^{way}-\d+$", files, re.MULTILINE)) for way in ("rx", "tx")}
    return ", ".join(f"{count} {way}" for way, count in counts.items() if count)
