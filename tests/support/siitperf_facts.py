# SPDX-License-Identifier: Apache-2.0
"""States which frames siitperf sends for a configuration, from its documentation alone.

Nothing here is natxy's: the keys are read as text, and the addresses are changed byte by byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import product
from typing import Final

from tests.support.captured_frames import FourTuple

Keys = Mapping[str, str]

_FIXED_PORTS: Final = {"sport": 49_184, "dport": 7}
_DEFAULT_PORTS: Final = {"sport-min": "1024", "sport-max": "65535", "dport-min": "1", "dport-max": "49151"}
_DECREASING: Final = 2
_RANDOM: Final = 3


@dataclass(frozen=True)
class Column:
    """Holds the values of one field, in the order in which siitperf counts; a random field draws from them."""

    values: Sequence[str | int]
    order: int

    @property
    def is_random(self) -> bool:
        return self.order == _RANDOM and len(self.values) > 1


@dataclass(frozen=True)
class Way:
    """Says what each field of the foreground or background frames of one direction takes."""

    source: Column
    destination: Column
    sport: Column
    dport: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.source, self.destination, self.sport, self.dport

    @property
    def every_tuple(self) -> list[FourTuple]:
        """The four-tuples as they are enumerated: destination addresses change most rarely, source ports most often."""
        digits = (self.destination.values, self.source.values, self.dport.values, self.sport.values)
        return [
            (str(source), str(destination), int(sport), int(dport))
            for destination, source, dport, sport in product(*digits)
        ]


def foreground(keys: Keys, forward: bool, size: int) -> tuple[int, int]:
    """Returns the version and the size of a direction's foreground frames: IPv4 frames are 20 bytes shorter."""
    version = int(keys[f"IP-{'L' if forward else 'R'}-Vers"])
    return version, size - (20 if version == 4 else 0)


def traffic(keys: Keys, forward: bool) -> Way:
    """Returns the foreground frames of a direction."""
    sender, far = "LR" if forward else "RL"
    version = int(keys[f"IP-{sender}-Vers"])
    return _traffic(keys, forward, keys[f"IPv{version}-{sender}-Real"], _far_address(keys, far, version))


def enumerates(keys: Keys) -> bool:
    return any(keys.get(f"Enumerate-{what}", "0") != "0" for what in ("ports", "ips"))


def phase1(keys: Keys) -> Way:
    """Returns the frames of phase 1, which enumerates; `traffic` has those of a phase 1 that does not."""
    forward = keys["Stateful"] == "1"
    ports, ips = (int(keys.get(f"Enumerate-{what}", "0")) for what in ("ports", "ips"))
    if not enumerates(keys):
        return traffic(keys, forward)
    sender, far, prefix = ("L", "R", "Fwd") if forward else ("R", "L", "Rev")
    version = int(keys[f"IP-{sender}-Vers"])
    sport, dport = (_ports(keys, prefix, port, ports) for port in _FIXED_PORTS)
    return Way(
        source=_addresses(keys, sender, keys[f"IPv{version}-{sender}-Real"], ips),
        destination=_addresses(keys, far, _far_address(keys, far, version), ips),
        sport=sport,
        dport=dport,
    )


def background(keys: Keys, forward: bool) -> Way:
    """Returns the background frames of a direction, also of the responder's."""
    sender, far = "LR" if forward else "RL"
    return _traffic(keys, forward, keys[f"IPv6-{sender}-Real"], keys[f"IPv6-{far}-Real"])


def reply_indices(keys: Keys, table: int, count: int) -> list[int] | None:
    """Returns the entries of the state table that the first replies use; None if they are drawn."""
    kind = keys.get("Responder-tuples", "0")
    if kind == "3":
        return None
    return {
        "0": [0] * count,
        "1": [number % table for number in range(count)],
        "2": [table - 1 - number % table for number in range(count)],
    }[kind]


def _traffic(keys: Keys, forward: bool, source: str, destination: str) -> Way:
    """Returns frames between two addresses: each of their fields varies on its own."""
    sender, far, prefix = ("L", "R", "Fwd") if forward else ("R", "L", "Rev")
    sport, dport = (_ports(keys, prefix, port, int(keys.get(f"{prefix}-var-{port}", "0"))) for port in _FIXED_PORTS)
    return Way(
        source=_addresses(keys, sender, source), destination=_networks(keys, far, destination), sport=sport, dport=dport
    )


def _far_address(keys: Keys, far: str, version: int) -> str:
    same = int(keys[f"IP-{far}-Vers"]) == version
    return keys[f"IPv{version}-{far}-{'Real' if same else 'Virt'}"]


def _ports(keys: Keys, prefix: str, port: str, order: int) -> Column:
    if not order:
        return Column([_FIXED_PORTS[port]], 0)
    low, high = (int(keys.get(f"{prefix}-{port}-{end}", _DEFAULT_PORTS[f"{port}-{end}"])) for end in ("min", "max"))
    return _column([*range(low, high + 1)], order)


def _addresses(keys: Keys, side: str, address: str, order: int | None = None) -> Column:
    """Returns the addresses that two bytes of one make; `order` replaces that of `IP-*-var`."""
    varies = int(keys.get(f"IP-{side}-var", "0"))
    if not varies:
        return Column([str(ip_address(address))], 0)
    offset = int(keys[f"IPv{ip_address(address).version}-{side}-offset"])
    low, high = (int(keys[f"IP-{side}-{end}"], 0) for end in ("min", "max"))
    found = [_changed(address, offset, value.to_bytes(2, "big")) for value in range(low, high + 1)]
    return _column(found, varies if order is None else order) if order != 0 else Column([str(ip_address(address))], 0)


def _networks(keys: Keys, side: str, address: str) -> Column:
    count = int(keys.get(f"Num-{side}-Nets", "1"))
    if count == 1:
        return _addresses(keys, side, address)
    byte = 2 if ip_address(address).version == 4 else 7
    return Column([_changed(address, byte, bytes([number])) for number in range(count)], _RANDOM)


def _column(values: list[str] | list[int], order: int) -> Column:
    return Column(values[::-1] if order == _DECREASING else values, order)


def _changed(address: str, offset: int, new: bytes) -> str:
    packed = bytearray(ip_address(address).packed)
    packed[offset : offset + len(new)] = new
    return str(ip_address(bytes(packed)))
