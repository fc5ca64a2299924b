# SPDX-License-Identifier: Apache-2.0
"""Reads the arguments of siitperf-tp, siitperf-lat and siitperf-pdv."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.api import PlanError
from natxy.api.terms import Family
from natxy_siitperf.conf import Conf
from natxy_siitperf.program import Program
from natxy_siitperf.rules import check
from natxy_siitperf.sides import (
    Direction,
    Letter,
    active,
    destination_key,
    family,
    hosts,
    initiator,
    port_range,
    real_key,
)

LARGEST_RATE_FPS: Final = 14_880_952
"""siitperf accepts no larger rate: it is that of 64-byte frames at 10 Gbit/s."""

_LONGEST_IPV6: Final = 1518
# The header of IPv6 is so much longer than that of IPv4.
_IPV4_SHORTER: Final = 20
_MOST_32: Final = 2**32 - 1
_MOST_MS: Final = 10**8
_DECIMAL: Final = re.compile(r"\s*([+-]?\d{1,20})")


class ArgumentError(PlanError):
    """Reports the first error in the arguments."""

    page = "how-to/from-siitperf.md#from-siitperfconf-to-a-plan"


@dataclass(frozen=True)
class Argument:
    """States what an argument is, the least and the most that it may be, and what `--help` says besides."""

    what: str
    least: int
    most: int
    means: str


ARGUMENTS: Final = {
    "size": Argument("the size of an IPv6 frame in bytes", 84, 1538, "IPv4 frames are 20 shorter"),
    "rate": Argument("frames per second", 1, LARGEST_RATE_FPS, "in each active direction"),
    "dur": Argument("seconds", 1, 3600, "for which frames are sent"),
    "gto": Argument("milliseconds", 0, 60_000, "for which frames may still arrive"),
    "n": Argument("a number of frames", 2, _MOST_32, "after which the order of foreground and background repeats"),
    "m": Argument(
        "a number of frames", 0, _MOST_32, "the first of each n, that are foreground; others are native IPv6"
    ),
    "N": Argument("a number of frames", 1, _MOST_32, "in phase 1, which makes connections"),
    "M": Argument("a number of entries", 1, _MOST_32, "of the state table, from which replies are made"),
    "R": Argument("frames per second", 1, LARGEST_RATE_FPS, "in phase 1"),
    "T": Argument("milliseconds", 1, 2000, "for which frames of phase 1 may still arrive"),
    "D": Argument("milliseconds", 1, _MOST_MS, "from the start of phase 1 to that of phase 2"),
    "delay": Argument("seconds", 0, 3600, "before the first tagged frame"),
    "timestamps": Argument("a number of frames", 1, 50_000, "that are tagged in each direction"),
    "frame_timeout": Argument("milliseconds", 0, _MOST_MS, "after which a frame is lost; 0 measures the PDV"),
}
"""Has all arguments by name; `names_of` has their order."""


@dataclass(frozen=True)
class Phase1:
    """Holds the arguments N, M, R, T and D; T and D are in milliseconds."""

    frames: int
    table: int
    rate_fps: int
    timeout_ms: int
    start_of_phase2_ms: int


@dataclass(frozen=True)
class Arguments:
    """Holds the arguments of a test. `delay_s`, `timestamps` and `frame_timeout_ms` are 0 where a program has none."""

    program: Program
    size: int
    rate_fps: int
    duration_s: int
    timeout_ms: int
    n: int
    m: int
    phase1: Phase1 | None = None
    delay_s: int = 0
    timestamps: int = 0
    frame_timeout_ms: int = 0

    @property
    def frames(self) -> int:
        """Returns how many frames each active direction sends."""
        return self.duration_s * self.rate_fps

    @property
    def foreground(self) -> int:
        """Returns how many foreground frames each active direction sends: the first m of each n."""
        whole, rest = divmod(self.frames, self.n)
        return whole * min(self.m, self.n) + min(rest, self.m)

    @property
    def foreground_of_phase1(self) -> int:
        """Returns how many connections phase 1 tries to make."""
        if self.phase1 is None:
            return 0
        number = self.phase1.frames
        return number - number * max(0, self.n - self.m) // self.n

    def sent_size(self, of: Family) -> int:
        """Returns the size of foreground frames of a family; `size` is that of IPv6 frames."""
        return self.size - (_IPV4_SHORTER if of == Family.IPV4 else 0)


def parse_arguments(program: Program, given: Sequence[str], conf: Conf) -> Arguments:
    """Reads the arguments of a program. Raises ArgumentError with the first error, or ConfError if the configuration
    contradicts itself."""
    check(conf)
    names = names_of(program, stateful=bool(conf.number("Stateful")))
    if len(given) < len(names):
        raise ArgumentError(f"{len(given)} arguments, expected {len(names)}: {program} {' '.join(names)}")
    # Only siitperf-tp ignores what comes after its last argument.
    if len(given) > len(names) and program is not Program.THROUGHPUT:
        raise ArgumentError(f"{len(given)} arguments, expected {len(names)}: {program} {' '.join(names)}")
    texts = dict(zip(names, given, strict=False))

    def number(name: str) -> int:
        match, of = _DECIMAL.match(texts[name]), ARGUMENTS[name]
        if match is None or not of.least <= int(match[1]) <= of.most:
            raise ArgumentError(f"{name} is {texts[name]!r}, expected {of.what} from {of.least} to {of.most}")
        return int(match[1])

    n = number("n")
    arguments = Arguments(
        program=program,
        size=number("size"),
        rate_fps=number("rate"),
        duration_s=number("dur"),
        timeout_ms=number("gto"),
        n=n,
        m=number("m"),
    )
    if arguments.size > _LONGEST_IPV6:
        has_ipv6 = any(family(conf, direction.sender) == Family.IPV6 for direction in active(conf))
        if has_ipv6 or arguments.m < arguments.n:
            raise ArgumentError(f"size is {arguments.size}; IPv6 frames have at most {_LONGEST_IPV6} bytes")
    extra: dict[str, object] = {}
    if direction := initiator(conf):
        phase1 = Phase1(
            frames=number("N"),
            table=number("M"),
            rate_fps=number("R"),
            timeout_ms=number("T"),
            start_of_phase2_ms=number("D"),
        )
        extra["phase1"] = phase1
        arguments = _replaced(arguments, extra)
        _check_phase1(arguments, phase1, conf, direction)
    if program is Program.LATENCY:
        extra["delay_s"] = delay = number("delay")
        extra["timestamps"] = tags = number("timestamps")
        if delay >= arguments.duration_s:
            raise ArgumentError(f"delay is {delay}, expected less than dur, {arguments.duration_s}")
        if tags > (arguments.duration_s - delay) * arguments.rate_fps:
            raise ArgumentError(f"timestamps is {tags}, more than the frames after the delay; lower it")
    if program is Program.PDV:
        extra["frame_timeout_ms"] = limit = number("frame_timeout")
        if limit >= 1000 * arguments.duration_s + arguments.timeout_ms:
            raise ArgumentError(f"frame_timeout is {limit}, expected less than 1000·dur + gto")
    return _replaced(arguments, extra)


def counts_connections(arguments: Arguments, conf: Conf) -> bool:
    """Returns whether a call is one of a script that measures connection rates: no traffic follows phase 1, or one
    frame of it."""
    ends_there = arguments.phase1 is not None and (arguments.frames == 1 or not active(conf))
    return arguments.program is Program.THROUGHPUT and ends_there


def ignored(program: Program, given: Sequence[str], conf: Conf) -> Iterator[str]:
    """Yields a sentence on each of the arguments, which were read, that is not what it seems to be."""
    names = names_of(program, stateful=bool(conf.number("Stateful")))
    for name, text in zip(names, given, strict=False):
        match = _DECIMAL.match(text)
        if match is not None and (rest := text[match.end() :].strip()):
            yield f"{name} is {text!r}: siitperf reads {match[1]} and ignores {rest!r}, and so does natxy"
    if surplus := given[len(names) :]:
        yield f"siitperf ignores what comes after {names[-1]}, and so does natxy: {' '.join(surplus)!r}"


def names_of(program: Program, *, stateful: bool) -> list[str]:
    """Returns the names of a program's arguments in their order."""
    names = ["size", "rate", "dur", "gto", "n", "m"]
    if stateful:
        names += ["N", "M", "R", "T", "D"]
    return names + {Program.LATENCY: ["delay", "timestamps"], Program.PDV: ["frame_timeout"]}.get(program, [])


def _replaced(arguments: Arguments, fields: dict[str, object]) -> Arguments:
    return Arguments(**{**vars(arguments), **fields})


def _check_phase1(arguments: Arguments, phase1: Phase1, conf: Conf, direction: Direction) -> None:
    made = arguments.foreground_of_phase1
    if phase1.table > made:
        raise ArgumentError(f"M is {phase1.table}, more than the {made} foreground frames of phase 1; lower it")
    if phase1.table == 1 and conf.number("Responder-tuples"):
        raise ArgumentError("M is 1, and Responder-tuples is not 0; set that to 0, or raise M")
    least_ms = 1000 * phase1.frames // phase1.rate_fps + phase1.timeout_ms
    if phase1.start_of_phase2_ms < least_ms:
        raise ArgumentError(f"D is {phase1.start_of_phase2_ms}, expected at least 1000·N/R + T, {least_ms}")
    space = flow_space(conf, direction)
    if 3 in (conf.number("Enumerate-ports"), conf.number("Enumerate-ips")) and space < made:
        raise ArgumentError(f"N makes {made} connections, and the ranges have {space} four-tuples; widen them")


def flow_space(conf: Conf, direction: Direction) -> int:
    """Returns how many four-tuples phase 1 enumerates."""
    of, far = family(conf, direction.sender), Letter(direction.sender.opposite)
    ports = bool(conf.number("Enumerate-ports"))
    size = 1
    for port in ("sport", "dport"):
        size *= port_range(conf, direction, port, varies=ports).size
    if conf.number("Enumerate-ips"):
        size *= hosts(conf, direction.sender, real_key(direction.sender, of)).size
        size *= hosts(conf, far, destination_key(conf, far, of)).size
    return size
