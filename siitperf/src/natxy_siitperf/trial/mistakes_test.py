# SPDX-License-Identifier: Apache-2.0
"""Tests each program with each key and each argument missing, malformed and out of range, one mistake at a time.

The tables state what siitperf's documentation does. What natxy alone refuses stands apart in them, as `added`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from natxy.api.labs import LEFT, RIGHT
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import Conf, parse_conf
from natxy_siitperf.keys import KEYS
from natxy_siitperf.program import Program
from natxy_siitperf.sides import initiator
from natxy_siitperf.trial.ports import find_trial_ports
from natxy_siitperf.trial.programs import UNUSABLE, main
from natxy_siitperf.trial.requests import Limits, establish_request, trial_request
from tests.support.siitperf_confs import CONFS

_STATELESS: Final = {"size": "84", "rate": "1000", "dur": "10", "gto": "200", "n": "2", "m": "2"}
_PHASE1: Final = {"N": "100", "M": "100", "R": "1000", "T": "100", "D": "2000"}
_LAST: Final = {
    Program.THROUGHPUT: {},
    Program.LATENCY: {"delay": "0", "timestamps": "10"},
    Program.PDV: {"frame_timeout": "0"},
}
_STOPPED: Final = f"Error: {LEFT}: no interface 'nothing0' here; "
"""The error of programs that found no mistake: there are no such ports."""

Call = Callable[[Program, list[str], str | None], tuple[int, str, list[str]]]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls a program, with ports that do not exist, after a text was written to siitperf.conf, unless that is None.

    Returns its exit code, stdout and the lines of stderr.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(LEFT, "nothing0")
    monkeypatch.setenv(RIGHT, "nothing1")

    def called(program: Program, arguments: list[str], conf: str | None) -> tuple[int, str, list[str]]:
        if conf is not None:
            Path("siitperf.conf").write_text(conf, encoding="utf-8")
        code = main(program, arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err.splitlines()

    return called


@dataclass(frozen=True)
class Fact:
    """States what siitperf says of a key: a configuration that uses it, values that are malformed and out of its range,
    and the value that counts without it; None if it is needed then.

    `added` are values that siitperf takes without a check, modulo 65536 or as cores that no machine has; natxy refuses
    them.
    """

    keys: dict[str, str]
    malformed: str
    outside: tuple[str, ...]
    default: str | None = None
    added: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        return self.malformed == "x"


def mirrored(keys: dict[str, str]) -> dict[str, str]:
    sides = str.maketrans("LR", "RL")
    other = {"Fwd": "Rev", "Rev": "Fwd", "Forward": "Reverse", "Reverse": "Forward"}

    def exchanged(key: str) -> str:
        first, *rest = key.split("-")
        return "-".join([other.get(first, first), *(part.translate(sides) if part in "LR" else part for part in rest)])

    return {exchanged(key): value for key, value in keys.items()}


_SIIT: Final = CONFS["siit"]
_TO_NAT46: Final = mirrored(_SIIT)
_MANY: Final = CONFS["router-many"]
_MANY_IPV6: Final = CONFS["nat64-many"]


def _facts() -> Iterator[tuple[str, Fact]]:
    for side, family in (("L", "6"), ("R", "4")):
        yield f"IP-{side}-Vers", Fact(_SIIT, "x", ("5", "0", "-4", "46"), family)
        yield f"Num-{side}-Nets", Fact(_SIIT, "x", ("0", "257", "-1"), "1")
        yield f"IP-{side}-var", Fact(_SIIT, "x", ("4", "-1"), "0")
        for end in ("min", "max"):
            yield f"IP-{side}-{end}", Fact(_MANY, "x", (), added=("65536", "0x10000", "-1"))
        yield f"IPv4-{side}-offset", Fact(_MANY, "x", ("0", "3", "-1"))
        many = _MANY_IPV6 if side == "L" else mirrored(_MANY_IPV6) | {"Stateful": "2"}
        yield f"IPv6-{side}-offset", Fact(many, "x", ("5", "15", "-6"))
        for of in ("Tester", "DUT"):
            yield f"MAC-{side}-{of}", Fact(_SIIT, "02-00-00-00-00-01", ("02:00:00:00:00:100", "02:00:00:00:00"))
        for does in ("Send", "Recv"):
            yield f"CPU-{side}-{does}", Fact(_SIIT, "x", ("-1",), added=("1024",))
    ipv4, ipv6 = ("256.1.1.1", "198.18.0"), ("12345::1", "2001::2::1")
    for key, keys in (
        ("IPv4-L-Real", CONFS["nat44"]), ("IPv4-R-Real", _SIIT), ("IPv4-L-Virt", _SIIT), ("IPv4-R-Virt", _TO_NAT46),
    ):  # fmt: skip
        yield key, Fact(keys, "2001:2::2", ipv4)
    for key, keys in (
        ("IPv6-L-Real", _SIIT), ("IPv6-R-Real", CONFS["pdv"]), ("IPv6-L-Virt", _TO_NAT46), ("IPv6-R-Virt", _SIIT),
    ):  # fmt: skip
        yield key, Fact(keys, "198.18.0.2", ipv6)
    for way in ("Fwd", "Rev"):
        for port, least, most in (("sport", "1024", "65535"), ("dport", "1", "49151")):
            yield f"{way}-var-{port}", Fact(_SIIT, "x", ("4", "-1"), "0")
            yield f"{way}-{port}-min", Fact(_SIIT, "x", (), least, added=("65536", "-1"))
            yield f"{way}-{port}-max", Fact(_SIIT, "x", (), most, added=("65536", "-1"))
    for key in ("Forward", "Reverse", "Promisc"):
        yield key, Fact(_SIIT, "x", (), "1")
    yield "MEM-Channels", Fact(_SIIT, "x", ("0", "256", "-1"), "1")
    yield "Stateful", Fact(_SIIT, "x", ("3", "-1"), "0")
    nat64 = CONFS["nat64"]
    # In 2021, 4 was what 3 is today.
    yield "Enumerate-ports", Fact(nat64, "x", ("5", "-1"), "0")
    yield "Enumerate-ips", Fact(nat64, "x", ("4", "-1"), "0")
    yield "Responder-tuples", Fact(nat64, "x", ("4", "-1"), "0")


FACTS: Final = dict(_facts())


def text_of(keys: dict[str, str]) -> str:
    return "".join(f"{key} {value}\n" for key, value in keys.items())


def without(keys: dict[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in keys.items() if name != key}


def suitable(program: Program, *, stateful: bool) -> dict[str, str]:
    return _STATELESS | (_PHASE1 if stateful else {}) | _LAST[program]


def arguments_for(program: Program, keys: dict[str, str]) -> dict[str, str]:
    return suitable(program, stateful=keys.get("Stateful") in {"1", "2"})


def requested(conf: Conf, program: Program) -> tuple[object, ...]:
    """Returns all that a configuration asks of the engine, and what only ports on cards heed."""
    keys = {key: str(value) for key, value in conf.values.items()}
    arguments = parse_arguments(program, [*arguments_for(program, keys).values()], conf)
    first, limits = initiator(conf), Limits(0.0)
    tester = find_trial_ports(conf, 84, {LEFT: "net_null0", RIGHT: "net_null1"})
    phase1 = arguments.phase1 and first and establish_request(conf, arguments, arguments.phase1, first, 0, limits)
    of_cards = conf.flag("Promisc"), conf.number("MEM-Channels")
    return tester.ports, tester.argv, of_cards, phase1, trial_request(conf, arguments, 0, limits)


def test_the_table_has_every_key() -> None:
    assert {*FACTS} == {*KEYS}


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize("key", FACTS)
def test_a_key_that_is_missing(call: Call, key: str, program: Program) -> None:
    fact = FACTS[key]
    missing = without(fact.keys, key)
    if fact.default is not None:
        stated = text_of(missing | {key: fact.default})
        assert requested(parse_conf(text_of(missing)), program) == requested(parse_conf(stated), program)
        return
    code, out, (error,) = call(program, [*arguments_for(program, fact.keys).values()], text_of(missing))
    assert (code, out) == (UNUSABLE, "")
    assert error.startswith(f"Error: siitperf.conf: {key} is missing; ")


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize("key", FACTS)
def test_a_key_that_is_malformed(call: Call, key: str, program: Program) -> None:
    """siitperf reads a number that is none as if its line were not there, unless it is the end of a range."""
    fact = FACTS[key]
    text = text_of(without(fact.keys, key))
    line = text.count("\n") + 1
    keys = without(fact.keys, key) | ({} if fact.default is None else {key: fact.default})
    code, out, said = call(program, [*arguments_for(program, keys).values()], f"{text}{key} {fact.malformed}\n")
    assert (code, out) == (UNUSABLE, "")
    if not fact.is_number or key.endswith(("-min", "-max")):
        (error,) = said
        assert error.startswith(f"Error: siitperf.conf, line {line}: {key}: expected ")
        assert error.endswith(f", got '{fact.malformed}'")
        return
    remark, error = (each for each in said if "line" in each or each.startswith("Error: "))
    assert remark.startswith(f"natxy: siitperf.conf, line {line}: {key}: no number follows, so siitperf keeps ")
    assert error.startswith(_STOPPED if fact.default is not None else f"Error: siitperf.conf: {key} is missing; ")


_REFUSED: Final = [(key, value) for key, fact in FACTS.items() for value in (*fact.outside, *fact.added)]


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize(("key", "value"), _REFUSED)
def test_a_key_that_is_out_of_range(call: Call, key: str, value: str, program: Program) -> None:
    fact = FACTS[key]
    text = text_of(without(fact.keys, key))
    line = text.count("\n") + 1
    code, out, (error,) = call(program, [*arguments_for(program, fact.keys).values()], f"{text}{key} {value}\n")
    assert (code, out) == (UNUSABLE, "")
    assert error.startswith(f"Error: siitperf.conf, line {line}: {key}: expected ")
    assert error.rstrip("'").endswith((f"got {value}", f"got '{value}"))


@pytest.mark.parametrize("program", Program)
@pytest.mark.parametrize("key", ["Forward", "Reverse", "Promisc"])
def test_any_number_but_0_is_on(call: Call, key: str, program: Program) -> None:
    arguments = [*arguments_for(program, _SIIT).values()]
    code, out, (error,) = call(program, arguments, text_of(_SIIT | {key: "-7"}))
    assert (code, out) == (UNUSABLE, "")
    assert error.startswith(_STOPPED)
    assert parse_conf(text_of(_SIIT | {key: "-7"})).flag(key)


@dataclass(frozen=True)
class Bound:
    """States the least and the most that an argument may be, whatever the others are, and values that suit the others.

    `added` is natxy's own most, where siitperf's depends on other arguments.
    """

    least: int
    most: int | None
    suitable: tuple[int, ...]
    added: int = 0

    @property
    def outside(self) -> tuple[str, ...]:
        return str(self.least - 1), str((self.most or self.added) + 1)


_BOUNDS: Final = {
    "size": Bound(84, 1538, (84, 1518)),
    "rate": Bound(1, 14_880_952, (1000, 14_880_952)),
    "dur": Bound(1, 3600, (1, 3600)),
    "gto": Bound(0, 60_000, (0, 60_000)),
    "n": Bound(2, 2**32 - 1, (2,)),
    "m": Bound(0, 2**32 - 1, (2, 2**32 - 1)),
    "N": Bound(1, 2**32 - 1, (100, 1900)),
    "M": Bound(1, 2**32 - 1, (2, 100)),
    "R": Bound(1, 14_880_952, (53, 14_880_952)),
    "T": Bound(1, 2000, (1, 1900)),
    "D": Bound(1, 10**8, (200, 10**8)),
    "delay": Bound(0, 3600, (0, 9)),
    "timestamps": Bound(1, 50_000, (1, 10_000)),
    "frame_timeout": Bound(0, None, (0, 10_199), added=10**8),
}
_CALLS: Final = [
    (program, stateful, name)
    for program, stateful in product(Program, (False, True))
    for name in suitable(program, stateful=stateful)
]


def text_for(*, stateful: bool) -> str:
    return text_of(CONFS["nat64"] if stateful else _SIIT)


@pytest.mark.parametrize(("program", "stateful", "name"), _CALLS)
def test_an_argument_that_is_missing(call: Call, program: Program, stateful: bool, name: str) -> None:
    arguments = suitable(program, stateful=stateful)
    before = [*arguments].index(name)
    code, out, (error,) = call(program, [*arguments.values()][:before], text_for(stateful=stateful))
    assert (code, out) == (UNUSABLE, "")
    assert error == f"Input Error: {before} arguments, expected {len(arguments)}: {program} {' '.join(arguments)}"


@pytest.mark.parametrize(("program", "stateful", "name"), _CALLS)
def test_an_argument_that_is_malformed_or_out_of_range(call: Call, program: Program, stateful: bool, name: str) -> None:
    arguments, bound = suitable(program, stateful=stateful), _BOUNDS[name]
    for value in ("x", "", "-", *bound.outside):
        code, out, (error,) = call(program, [*(arguments | {name: value}).values()], text_for(stateful=stateful))
        assert (code, out) == (UNUSABLE, "")
        assert error.startswith(f"Input Error: {name} is '{value}', expected ")


@pytest.mark.parametrize(("program", "stateful", "name"), _CALLS)
def test_an_argument_that_is_right(call: Call, program: Program, stateful: bool, name: str) -> None:
    for value in _BOUNDS[name].suitable:
        arguments = suitable(program, stateful=stateful) | {name: str(value)}
        code, out, said = call(program, [*arguments.values()], text_for(stateful=stateful))
        assert (code, out) == (UNUSABLE, "")
        assert said[-1].startswith(_STOPPED), (value, said)


@pytest.mark.parametrize(
    ("program", "changed", "error"),
    [
        (Program.THROUGHPUT, {"M": "101"}, "M is 101, more than the 100 foreground frames of phase 1; "),
        (Program.LATENCY, {"M": "1"}, "M is 1, and Responder-tuples is not 0; "),
        (Program.PDV, {"D": "199"}, "D is 199, expected at least 1000·N/R + T, 200"),
        (Program.THROUGHPUT, {"N": "1901"}, "D is 2000, expected at least 1000·N/R + T, 2001"),
        (Program.THROUGHPUT, {"R": "52"}, "D is 2000, expected at least 1000·N/R + T, 2023"),
        (Program.THROUGHPUT, {"T": "1901"}, "D is 2000, expected at least 1000·N/R + T, 2001"),
        (Program.LATENCY, {"delay": "10"}, "delay is 10, expected less than dur, 10"),
        (Program.LATENCY, {"delay": "1", "timestamps": "9001"}, "timestamps is 9001, more than the frames after "),
        (Program.PDV, {"frame_timeout": "10200"}, "frame_timeout is 10200, expected less than 1000·dur + gto"),
        (Program.THROUGHPUT, {"size": "1519"}, "size is 1519; IPv6 frames have at most 1518 bytes"),
        (Program.PDV, {"N": "200", "m": "1", "M": "101"}, "M is 101, more than the 100 foreground frames of phase 1"),
    ],
)
def test_arguments_that_do_not_suit_each_other(
    call: Call, program: Program, changed: dict[str, str], error: str
) -> None:
    arguments = suitable(program, stateful=True) | changed
    code, out, (said,) = call(program, [*arguments.values()], text_for(stateful=True))
    assert (code, out) == (UNUSABLE, "")
    assert said.startswith(f"Input Error: {error}")


def test_a_size_of_ipv4_frames_alone_is_larger(call: Call) -> None:
    arguments = suitable(Program.THROUGHPUT, stateful=False) | {"size": "1538"}
    code, out, said = call(Program.THROUGHPUT, [*arguments.values()], text_of(_MANY))
    assert (code, out) == (UNUSABLE, "")
    assert said[-1].startswith(_STOPPED)


@pytest.mark.parametrize("program", Program)
def test_surplus_arguments(call: Call, program: Program) -> None:
    arguments = [*suitable(program, stateful=False).values(), "7"]
    code, out, said = call(program, arguments, text_for(stateful=False))
    assert (code, out) == (UNUSABLE, "")
    if program is Program.THROUGHPUT:
        remarked, stopped = said
        assert remarked == "natxy: siitperf ignores what comes after m, and so does natxy: '7'"
        assert stopped.startswith(_STOPPED)
    else:
        (error,) = said
        assert error.startswith("Input Error: ")


@pytest.mark.parametrize("program", Program)
def test_a_file_that_is_missing_or_a_folder(call: Call, program: Program) -> None:
    arguments = [*suitable(program, stateful=False).values()]
    for is_folder, reason in ((False, "No such file or directory"), (True, "Is a directory")):
        if is_folder:
            Path("siitperf.conf").mkdir()
        code, out, (error,) = call(program, arguments, None)
        assert (code, out) == (UNUSABLE, "")
        assert error.startswith(f"Error: siitperf.conf cannot be read: {reason}; ")
