# SPDX-License-Identifier: Apache-2.0
"""Reads siitperf.conf.

The order of the keys does not matter, and of several lines with the same key the last one counts. What siitperf reads
in a way that its author hardly meant is read in the same way, and remarked upon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from natxy.api import PlanError
from natxy.api.programs import guess, opened_regular
from natxy_siitperf.keys import ALIASES, KEYS, OLD_VALUES, Key, Kind, Value, mac_in

FILE: Final = "siitperf.conf"
# The file is written by hand: a longer one is another file.
_LONGEST_BYTES: Final = 1 << 20
_DECIMAL: Final = re.compile(r"[+-]?\d{1,20}")
# Keys that siitperf does not skip when no number follows.
_ENDS_OF_RANGES: Final = ("-min", "-max")
# A leading 0 is octal, as in C.
_BASED: Final = re.compile(r"0[xX][0-9A-Fa-f]{1,16}|[+-]?\d{1,20}")


class ConfError(PlanError):
    """Reports the first error in siitperf.conf."""

    page = "how-to/from-siitperf.md#from-siitperfconf-to-a-plan"


class Remark(NamedTuple):
    """Warns of a line. `harmless`: the result is the same."""

    line: int
    text: str
    harmless: bool = False


class _Read(NamedTuple):
    """Holds a value, or None for a number that siitperf would not find, and what there is to remark upon."""

    value: Value | None
    remark: str = ""
    harmless: bool = False


@dataclass(frozen=True)
class Conf:
    """A configuration: the values of the keys that the file has, and the lines that they are from."""

    path: str
    values: Mapping[str, Value]
    lines: Mapping[str, int]
    remarks: Sequence[Remark] = ()

    def number(self, key: str) -> int:
        """Returns a key's number or default. Raises ConfError if it has neither."""
        value = self.optional(key)
        if value is None:
            raise self.missing(key)
        return value

    def optional(self, key: str) -> int | None:
        value = self.values.get(key, KEYS[key].default)
        assert value is None or isinstance(value, int)
        return value

    def flag(self, key: str) -> bool:
        return self.number(key) != 0

    def address(self, key: str) -> IPv4Address | IPv6Address:
        """Returns a key's address. Raises ConfError if the file does not have it."""
        value = self.values.get(key)
        if value is None:
            raise self.missing(key)
        assert isinstance(value, IPv4Address | IPv6Address)
        return value

    def mac(self, key: str) -> str:
        """Returns a key's MAC address. Raises ConfError if the file does not have it."""
        value = self.values.get(key)
        if value is None:
            raise self.missing(key)
        assert isinstance(value, str)
        return value

    def has(self, key: str) -> bool:
        return key in self.values

    def missing(self, key: str, why: str = "") -> ConfError:
        return ConfError(f"{self.path}: {key} is missing{why}; expected {KEYS[key].expected}")

    def wrong(self, key: str, text: str) -> ConfError:
        """Returns the error for a key whose value does not suit the others."""
        where = f", line {self.lines[key]}" if key in self.lines else ""
        return ConfError(f"{self.path}{where}: {key}: {text}")


def read_conf(path: Path) -> Conf:
    """Reads a file. Raises ConfError with its first error."""
    try:
        with opened_regular(path) as file:
            content = file.read(_LONGEST_BYTES + 1)
    except OSError as error:
        hint = "; siitperf's programs read it from the current directory" if path.name == FILE else ""
        raise ConfError(f"{path} cannot be read: {error.strerror}{hint}") from error
    if len(content) > _LONGEST_BYTES:
        raise ConfError(f"{path} cannot be read: it is longer than {_LONGEST_BYTES >> 20} MiB")
    # A comment may be in any encoding.
    return parse_conf(content.decode("utf-8", "replace"), str(path))


def parse_conf(text: str, path: str = FILE) -> Conf:
    """Reads the text of a configuration. Raises ConfError with its first error."""
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    remarks: list[Remark] = []
    for number, whole in enumerate(text.split("\n"), start=1):
        line = whole.split("#", 1)[0].strip(" \t\r\v\f\0")
        if not line:
            continue
        found = _key_in(line)
        if found is None:
            near = guess(re.split(r"[\s=:]", line)[0], [*KEYS])
            raise ConfError(f"{path}, line {number}: {_short(line)!r} has no key of siitperf{near}")
        key, start, end = found
        if start:
            remarks.append(Remark(number, f"siitperf skips {_short(line[:start])!r} before {key.name}; remove it"))
        value, remark, harmless = _value(key, line[end:], f"{path}, line {number}: {key.name}")
        if remark:
            remarks.append(Remark(number, f"{key.name}: {remark}", harmless))
        if isinstance(value, IPv4Address | IPv6Address) and value.is_unspecified:
            # Samples write 0.0.0.0 and :: for addresses that a test does not use.
            values.pop(key.name, None)
        elif value is not None:
            values[key.name], lines[key.name] = value, number
    return Conf(path, MappingProxyType(values), MappingProxyType(lines), tuple(remarks))


def _key_in(line: str) -> tuple[Key, int, int] | None:
    """Returns the first key in a line, and where it begins and ends."""
    names = {name: name for name in KEYS} | ALIASES
    found = [(start, -len(name), name) for name in names if (start := line.find(name)) >= 0]
    if not found:
        return None
    start, length, name = min(found)
    return KEYS[names[name]], start, start - length


def _value(key: Key, text: str, where: str) -> _Read:
    given = text.lstrip(" \t")
    if key.kind in {Kind.IPV4, Kind.IPV6, Kind.MAC}:
        return _written_address(key, given, where)
    match = (_BASED if key.kind is Kind.BASED else _DECIMAL).match(given)
    if match is None:
        if key.name.endswith(_ENDS_OF_RANGES):
            raise ConfError(f"{where}: expected {key.expected}, got {_short(given)!r}")
        return _Read(None, f"no number follows, so siitperf keeps {_kept(key)}; expected {key.expected}")
    written, rest = match[0], given[match.end() :]
    number, remark = _number(key, written, where)
    current = OLD_VALUES.get((key.name, number), number)
    if key.kind is Kind.FLAG:
        current = int(number != 0)
    elif current not in key.allowed:
        raise ConfError(f"{where}: expected {key.expected}, got {written}")
    if rest.strip() and rest[0] not in " \t\r":
        return _Read(current, f"siitperf reads {written} and ignores {_short(rest)!r} after it; remove that")
    if remark:
        return _Read(current, remark)
    if key.kind is not Kind.FLAG and current != number:
        return _Read(current, f"{number} is what versions of 2021 had for {current}", harmless=True)
    return _Read(current, *_ignored(rest))


def _number(key: Key, written: str, where: str) -> tuple[int, str]:
    """Returns a number, and a remark if it is octal."""
    if key.kind is not Kind.BASED:
        return int(written), ""
    if re.fullmatch(r"0[0-7]+", written):
        number = int(written, 8)
        return number, f"a leading 0 makes {written} octal, which is {number}; write that"
    if re.fullmatch(r"[+-]?0\d+", written):
        raise ConfError(f"{where}: expected {key.expected}, got {written!r}, which is not octal")
    return int(written, 16 if written[:2] in {"0x", "0X"} else 10), ""


def _written_address(key: Key, given: str, where: str) -> _Read:
    word, *rest = given.split(maxsplit=1) or [""]
    ignored = _ignored("".join(rest))
    try:
        if key.kind is Kind.IPV4:
            return _Read(IPv4Address(word), *ignored)
        if key.kind is Kind.IPV6 and "%" not in word:
            return _Read(IPv6Address(word), *ignored)
    except ValueError:
        pass
    if key.kind is Kind.MAC and (mac := mac_in(word)):
        return _Read(mac, *ignored)
    raise ConfError(f"{where}: expected {key.expected}, got {_short(word)!r}")


def _ignored(rest: str) -> tuple[str, bool]:
    """Returns a harmless remark on the text behind a value, if there is any."""
    if not (text := rest.strip()):
        return "", False
    return f"siitperf ignores {_short(text)!r} after the value, and so does natxy; # begins a comment", True


def _kept(key: Key) -> str:
    return "what it had before" if key.default is None else f"{key.default} or what an earlier line says"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
