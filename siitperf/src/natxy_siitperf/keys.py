# SPDX-License-Identifier: Apache-2.0
"""Lists the keys of siitperf.conf, what each expects, and its value where the file does not have it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import IPv4Address, IPv6Address
from typing import Final

Value = int | str | IPv4Address | IPv6Address

# A port, and the 16 bits of an address that vary.
_MOST_16: Final = 65_535
_MOST_CORE: Final = 1023
_MAC: Final = re.compile(r"[0-9A-Fa-f]{1,2}(:[0-9A-Fa-f]{1,2}){5}")


class Kind(Enum):
    """The form of a value. `FLAG` is 0 for off and any other number for on; `BASED` may be written as 0x…."""

    NUMBER = auto()
    FLAG = auto()
    BASED = auto()
    IPV4 = auto()
    IPV6 = auto()
    MAC = auto()


@dataclass(frozen=True)
class Key:
    """A key, what errors say that it expects, the numbers that it allows, and its default."""

    name: str
    kind: Kind
    expected: str
    allowed: range = range(0)
    default: Value | None = None


def _number(name: str, expected: str, allowed: range, default: int | None = None) -> Key:
    return Key(name, Kind.NUMBER, expected, allowed, default)


def _side(side: str) -> list[Key]:
    return [
        _number(f"IP-{side}-Vers", "4 or 6", range(4, 7, 2), 6 if side == "L" else 4),
        *(Key(f"IPv4-{side}-{of}", Kind.IPV4, "an IPv4 address such as 198.18.0.2") for of in ("Real", "Virt")),
        *(Key(f"IPv6-{side}-{of}", Kind.IPV6, "an IPv6 address such as 2001:2::2") for of in ("Real", "Virt")),
        *(Key(f"MAC-{side}-{of}", Kind.MAC, "a MAC address such as a0:36:9f:74:73:64") for of in ("Tester", "DUT")),
        _number(f"Num-{side}-Nets", "a number of networks from 1 to 256", range(1, 257), 1),
        *(_number(f"CPU-{side}-{does}", "the number of a core", range(_MOST_CORE + 1)) for does in ("Send", "Recv")),
        _number(f"IP-{side}-var", f"0 ({_VARIES[0]}) to 3 ({_VARIES[3]})", range(4), 0),
        *(
            Key(f"IP-{side}-{end}", Kind.BASED, "a number from 0 to 65535, or 0x0 to 0xffff", range(_MOST_16 + 1))
            for end in ("min", "max")
        ),
        _number(f"IPv4-{side}-offset", "1 or 2, the first of the two bytes that vary", range(1, 3)),
        _number(f"IPv6-{side}-offset", "6 to 14, the first of the two bytes that vary", range(6, 15)),
    ]


def _direction(direction: str) -> list[Key]:
    return [
        *(
            _number(f"{direction}-var-{port}", f"0 ({_VARIES[0]}) to 3 ({_VARIES[3]})", range(4), 0)
            for port in ("sport", "dport")
        ),
        *(
            _number(f"{direction}-{port}-{end}", "a port from 0 to 65535", range(_MOST_16 + 1), default)
            for port, least, most in (("sport", 1024, 65_535), ("dport", 1, 49_151))
            for end, default in (("min", least), ("max", most))
        ),
    ]


_VARIES: Final = {0: "fixed", 1: "increasing", 2: "decreasing", 3: "random"}
_ENUMERATES: Final = "0 (no), 1 (increasing), 2 (decreasing) or 3 (each once, at random)"
_FLAG: Final = "0 (off) or 1 (on)"

KEYS: Final = {
    key.name: key
    for key in (
        *_side("L"),
        *_side("R"),
        *_direction("Fwd"),
        *_direction("Rev"),
        Key("Forward", Kind.FLAG, _FLAG, default=1),
        Key("Reverse", Kind.FLAG, _FLAG, default=1),
        Key("Promisc", Kind.FLAG, _FLAG, default=1),
        _number("MEM-Channels", "a number from 1 to 255", range(1, 256), 1),
        _number("Stateful", "0 (no), 1 (the left is the initiator) or 2 (the right is)", range(3), 0),
        _number("Enumerate-ports", _ENUMERATES, range(4), 0),
        _number("Enumerate-ips", _ENUMERATES, range(4), 0),
        _number("Responder-tuples", "0 (one four-tuple), 1, 2 or 3 (random)", range(4), 0),
    )
}
"""Has all keys by name."""

ALIASES: Final = {"Responder-ports": "Responder-tuples"}
"""Maps the names of keys in the versions of 2021 to 2023 to those of today."""

OLD_VALUES: Final = {("Enumerate-ports", 4): 3}
"""Maps values that mean something else since 2022 to those that mean the same now."""


def mac_in(word: str) -> str | None:
    """Returns a MAC address with two small digits for each byte, as siitperf reads it; None if the word is none."""
    if not _MAC.fullmatch(word):
        return None
    return ":".join(f"{int(part, 16):02x}" for part in word.split(":"))
