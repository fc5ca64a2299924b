# SPDX-License-Identifier: Apache-2.0
"""Asks a Linux DUT for its interfaces, routes, filters and offloads, by one command and without changing anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Final

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.drop_rules import cut, iptables_drops, nft_drops
from natxy.dut.transport.base import Transport
from natxy.engine.messages.common import IPAddress, Side
from natxy.errors import DutError
from natxy.probe.observed import DutState, Interface, Route

# A program that is missing leaves its part empty.
_DEFAULTS: Final = "ip -4 route show default; ip -6 route show default"
_QUESTIONS: Final = f"""
left=$1 right=$2 version=$3 left_host=$4 right_host=$5
part() {{ echo "== $1"; }}
part system; uname -s
part counters; cat /proc/net/dev
part links
for each in /sys/class/net/*; do
  read -r mac < "$each/address"; carrier=; read -r carrier < "$each/carrier"; echo "${{each##*/}} $mac $carrier"
done
part defaults; {_DEFAULTS}
part forwards-4; cat /proc/sys/net/ipv4/ip_forward
part forwards-6; cat /proc/sys/net/ipv6/conf/all/forwarding
part netstat; cat /proc/net/netstat
part strict
for each in all "$left" "$right"; do read -r mode < "/proc/sys/net/ipv4/conf/$each/rp_filter"; echo "$each $mode"; done
asked() {{ {{ ip "-$version" route get fibmatch "$@" || ip "-$version" route get "$@"; }} 2>&1; }}
part route-left; asked "$right_host" from "$left_host" iif "$left"
part route-right; asked "$left_host" from "$right_host" iif "$right"
part back-left; asked "$left_host"
part back-right; asked "$right_host"
part nft; nft list ruleset
for save in iptables-save iptables-legacy-save ip6tables-save ip6tables-legacy-save; do part $save; $save -c; done
for each in "$left" "$right"; do part "features-$each"; ethtool --show-features "$each"; done
exit 0
"""
_SHORT_TIMEOUT_S: Final = 5.0

# Offloads that merge UDP, as ethtool prints them and as it takes them.
_MERGING: Final = {"rx-udp-gro-forwarding": "rx-udp-gro-forwarding", "rx-gro-list": "rx-gro-list"} | {
    "large-receive-offload": "lro"
}
# Numbers of 64 bits, and names that Linux allows: Python's integers end at some thousands of digits.
_NUMBER: Final = r"\d{1,20}"
_NAME: Final = r"\S{1,15}(?!\S)"


def read_dut(
    transport: Transport, interfaces: DutInterfaces, left_host: IPAddress, right_host: IPAddress
) -> DutState | None:
    """Returns the DUT's state; None if it is not Linux, or does not answer.

    The routes are those of frames between the two hosts, if both are of one family.
    """
    words = [str(left_host.version), str(left_host), str(right_host)]
    argv = ["sh", "-c", f"exec 2>/dev/null\n{_QUESTIONS}", "sh", interfaces.left, interfaces.right, *words]
    try:
        return parse_state(transport.run(argv, check=False).stdout)
    except DutError:
        return None


def read_default_routes(transport: Transport) -> DutState:
    """Returns a state that has only the interfaces of the default routes; none if the DUT does not tell."""
    try:
        shown = transport.run(["sh", "-c", _DEFAULTS], check=False, timeout_s=_SHORT_TIMEOUT_S).stdout
    except DutError:
        return DutState({})
    return DutState({}, default_routes=_devices(shown))


def read_seen_as(transport: Transport, sender: IPAddress, receiver: IPAddress) -> IPAddress | None:
    """Returns the address that a connection between two hosts has as its source behind a Linux gateway.

    None if the DUT does not tell, for example because it tracks no connections.
    """
    listing = f"conntrack -L -f ipv{sender.version} -p udp --orig-src {sender} --orig-dst {receiver} || :"
    try:
        shown = transport.run(["sh", "-c", listing], check=False, timeout_s=_SHORT_TIMEOUT_S).stdout
    except DutError:
        return None
    # Each line has the connection's own addresses, and those of its replies.
    replies = re.search(r"src=\S+ dst=\S+ .*?src=\S+ dst=([0-9a-f.:]+) ", shown)
    try:
        return ip_address(replies[1]) if replies else None
    except ValueError:
        return None


def parse_state(answers: str) -> DutState | None:
    """Returns the state that the answers to the questions above describe; None for a system other than Linux."""
    parts = dict(re.findall(r"^== (\S+)\n((?:(?!== ).*\n?)*)", answers, re.MULTILINE))
    if parts.get("system", "").strip() != "Linux":
        return None
    return DutState(
        interfaces=dict(_interfaces(parts.get("links", ""), parts.get("counters", ""))),
        default_routes=_devices(parts.get("defaults", "")),
        forwards={version: text.strip() != "0" for version in (4, 6) if (text := parts.get(f"forwards-{version}"))},
        strict=_strict(parts.get("strict", "")),
        path_filter_drops=_path_filter_drops(parts.get("netstat", "")),
        routes=_routes(parts, "route"),
        routes_back=_routes(parts, "back"),
        drops=dict(
            [*nft_drops(parts.get("nft", ""))]
            + [drop for name, text in parts.items() if name.endswith("-save") for drop in iptables_drops(name, text)]
        ),
        merging={
            name.removeprefix("features-"): tuple(
                taken for printed, taken in _MERGING.items() if re.search(rf"^\s*{printed}: on", text, re.MULTILINE)
            )
            for name, text in parts.items()
            if name.startswith("features-")
        },
    )


def _interfaces(links: str, counters: str) -> Iterator[tuple[str, Interface]]:
    frames = {
        name: (int(received), int(sent))
        for name, received, sent in re.findall(
            rf"^\s*(\S{{1,15}}):\s*\d+\s+({_NUMBER})(?:\s+\d+){{7}}\s+({_NUMBER})\s", counters, re.MULTILINE
        )
    }
    for name, mac, carrier in re.findall(r"^(\S{1,15}) ([0-9a-f:]{17}) ?([01]?)$", links, re.MULTILINE):
        received, sent = frames.get(name, (0, 0))
        yield name, Interface(mac, carrier == "1", received, sent)


def _devices(routes: str) -> tuple[str, ...]:
    return tuple(re.findall(rf"^default .*?\bdev ({_NAME})", routes, re.MULTILINE))


def _path_filter_drops(netstat: str) -> int:
    rows = [line.split() for line in netstat.splitlines() if line.startswith("TcpExt:")]
    if len(rows) != 2 or len(rows[0]) != len(rows[1]):
        return 0
    count = dict(zip(*rows, strict=True)).get("IPReversePathFilter", "")
    return int(count) if re.fullmatch(_NUMBER, count) else 0


def _strict(modes: str) -> tuple[str, ...]:
    """Returns the interfaces with a strict filter: the higher of the modes of all and of the interface holds."""
    found = dict(re.findall(r"^(\S{1,15}) ([012])$", modes, re.MULTILINE))
    of_all = found.pop("all", "0")
    return tuple(name for name, mode in found.items() if max(of_all, mode) == "1")


def _routes(parts: Mapping[str, str], kind: str) -> dict[Side, Route]:
    return {side: route for side in Side if (route := _route(parts.get(f"{kind}-{side}", "")))}


def _route(answer: str) -> Route | None:
    lines = answer.strip().splitlines()
    if errors := re.findall(r"^RTNETLINK answers: (.*)$", answer, re.MULTILINE):
        return Route(error=cut(errors[-1]))
    if not lines or not (device := re.search(rf"\bdev ({_NAME})", lines[0])):
        return None
    return Route(device[1], by_default=lines[0].startswith("default "))
