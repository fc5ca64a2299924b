# SPDX-License-Identifier: Apache-2.0
"""Tests that no key is dropped silently: each is in the list of those that change nothing, or changes something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from natxy.errors import PlanError
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import import_plan
from natxy_siitperf.importing.source import OF_CONNECTIONS, Source
from natxy_siitperf.importing.unused import unused
from natxy_siitperf.keys import KEYS, Kind
from natxy_siitperf.program import PROCEDURES
from natxy_siitperf.rules import check
from natxy_siitperf.sides import active, initiator
from natxy_siitperf.trial.requests import Limits, establish_request, trial_request
from tests.support.siitperf_cases import CASES
from tests.support.siitperf_confs import CONFS, conf_text

Keys = dict[str, str]

_CONFS: Final[list[Keys]] = [*CONFS.values(), *(case.keys for case in CASES.values())]
# The plan of a lab has no MAC addresses, and says so; it has cores, or names those that are missing.
_OF_FRAMES: Final = [key for key in KEYS if not key.startswith(("MAC-", "CPU-"))]
_PHASE1: Final = "60 20 1000 500 600"
_LIST: Final = re.compile(r"^# - No frame of the plan uses (.*); it would be the same without\.\n", re.MULTILINE)


def other_values(key: str) -> list[str]:
    """Returns values that suit a key alone, some at the ends of what it allows."""
    kind, allowed = KEYS[key].kind, KEYS[key].allowed
    if kind is Kind.IPV4:
        return ["198.18.0.2", "198.19.7.9"]
    if kind is Kind.IPV6:
        return ["2001:2::2", "2001:2:0:8007::9", "64:ff9b::198.19.0.2"]
    return [str(each) for each in (0, 1, *allowed[:4], *allowed[-1:]) if each in (allowed or range(2))]


@dataclass(frozen=True)
class Imported:
    """Holds what is imported, and arguments of frames that it stands for; `is_said`: the plan is made from these."""

    keys: Keys
    procedure: str
    arguments: str
    is_said: bool

    def source(self, keys: Keys) -> Source:
        """Returns the source with other keys. Raises PlanError if siitperf refuses them."""
        conf = parse_conf("".join(f"{key} {value}\n" for key, value in keys.items()))
        arguments = parse_arguments(PROCEDURES[self.procedure], self.arguments.split(), conf)
        check(conf, background=arguments.m < arguments.n)
        return Source(conf, self.procedure, arguments if self.is_said else None)

    def frames(self, source: Source) -> object:
        """Returns what siitperf sends, as the programs that stand in for its own do, or the error."""
        conf, limits, program = source.conf, Limits(), PROCEDURES[self.procedure]
        first, arguments = initiator(conf), parse_arguments(program, self.arguments.split(), conf)
        try:
            return (
                first and arguments.phase1 and establish_request(conf, arguments, arguments.phase1, first, 0, limits),
                active(conf) and trial_request(conf, arguments, 0, limits),
            )
        except PlanError as error:
            return str(error)


@st.composite
def imported(draw: st.DrawFn) -> Imported:
    """Draws a configuration with keys that it had not, or had otherwise, a procedure, and arguments."""
    keys = dict(draw(st.sampled_from(_CONFS)))
    for key in draw(st.lists(st.sampled_from(_OF_FRAMES), max_size=4)):
        keys[key] = draw(st.sampled_from(other_values(key)))
    stateful = keys.get("Stateful", "0") != "0"
    procedure = draw(st.sampled_from([name for name in PROCEDURES if stateful or name not in OF_CONNECTIONS]))
    is_said = draw(st.booleans())
    m = draw(st.sampled_from([2, 1])) if is_said else 2
    last = {"latency": "2 100", "pdv": "0"}.get(procedure, "")
    return Imported(keys, procedure, f"84 1000 10 500 2 {m} {_PHASE1 if stateful else ''} {last}", is_said)


def plan_of(source: Source) -> str:
    """Returns the plan without its list of keys, or the error."""
    source = replace(source, differences=[])
    try:
        return _LIST.sub("", import_plan(source).replace("\n#   ", " "))
    except PlanError as error:
        return str(error)


def changed(keys: Keys, key: str) -> Iterator[Keys]:
    """Yields the configuration with other values of a key, and with a comment in its place."""
    for value in other_values(key):
        yield keys | {key: value}
    yield {f"# {name}" if name == key else name: value for name, value in keys.items()}


@pytest.mark.parametrize(
    ("name", "changed", "listed"),
    [
        ("router-many", {"Fwd_sport_min": "5", "Rev_dport_max": "9"}, ["Fwd-sport-min", "Rev-dport-max"]),
        ("router-many", {"IP_L_var": "0"}, ["IP-L-min", "IP-L-max", "IPv4-L-offset"]),
        ("nat44", {"Rev_var_sport": "3", "Rev_sport_min": "5"}, ["Num-L-Nets", "Rev-var-sport", "Rev-sport-min"]),
        ("pdv", {"IPv4_L_Virt": "198.18.0.2", "IPv6_R_Virt": "2001:2::9"}, ["IPv4-L-Virt", "IPv6-R-Virt"]),
        ("siit", {}, ["IPv6-R-Real"]),
        ("siit", {"Responder_tuples": "3"}, ["IPv6-R-Real", "Responder-tuples"]),
        ("router-many", {"IP_L_var": "0", "IP_R_var": "0", "Num_L_Nets": "5", "Reverse": "0"},
         ["Num-L-Nets", "IP-L-min", "IP-L-max", "IPv4-L-offset", "IP-R-min", "IP-R-max", "IPv4-R-offset"]),
        ("pdv", {}, []),
    ],
)  # fmt: skip
def test_the_plan_lists_keys_that_no_frame_uses(name: str, changed: Keys, listed: list[str]) -> None:
    text = conf_text(name, **changed)
    plan = import_plan(Source(parse_conf(text), "throughput"))
    found = _LIST.search(plan.replace("\n#   ", " "))
    lines = [line.split()[0] for line in text.splitlines()]
    assert (found[1] if found else "") == ", ".join(f"{key} (line {1 + lines.index(key)})" for key in listed)
    assert "siitperf varies the networks" not in plan


@settings(max_examples=150, deadline=None)
@given(imported(), st.data())
def test_a_key_is_listed_if_it_changes_nothing_and_only_then(drawn: Imported, data: st.DataObject) -> None:
    """Other values change the plan or siitperf's frames, of which the last are not the plan's where it has connections
    alone."""
    try:
        source = drawn.source(drawn.keys)
        import_plan(source)
    except PlanError:
        event("an error")
        return
    listed = unused(source)
    given_keys = [key for key in source.conf.lines if key in _OF_FRAMES]
    key = data.draw(st.sampled_from(given_keys) | st.sampled_from(listed or given_keys))
    plan, frames = plan_of(source), drawn.frames(source)
    differs = []
    for keys in changed(drawn.keys, key):
        try:
            other = drawn.source(keys)
        except PlanError:
            # siitperf refuses other values, whether a frame uses them or not.
            differs.append(key not in listed)
            continue
        same_frames = drawn.frames(other) == frames or (key in listed and drawn.procedure in OF_CONNECTIONS)
        differs.append(plan_of(other) != plan or not same_frames)
    event("listed" if key in listed else "not listed")
    assert any(differs) == (key not in listed)
