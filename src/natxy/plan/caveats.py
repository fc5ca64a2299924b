# SPDX-License-Identifier: Apache-2.0
"""The sentences that qualify the results of a run. Each has its kind from where it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from natxy.plan.model.units import counted, enumerated


class CaveatKind(StrEnum):
    """Distinguishes what natxy cannot check, what an RFC asks for and the run does not do, rules that no RFC has, and
    all other limits."""

    GAP = "gap"
    DEPARTURE = "departure"
    OWN_RULE = "own_rule"
    LIMITATION = "limitation"


TITLES: Final = {
    CaveatKind.GAP: "What natxy cannot check",
    CaveatKind.DEPARTURE: "Where this run departs from the RFCs",
    CaveatKind.OWN_RULE: "Rules of natxy's own",
    CaveatKind.LIMITATION: "Limits of the results",
}
"""The title of a list of caveats of each kind."""
_NOUNS: Final = {
    CaveatKind.GAP: ("gap", " in what is checked"),
    CaveatKind.DEPARTURE: ("departure", " from the RFCs"),
    CaveatKind.OWN_RULE: ("rule", " of natxy's own"),
    CaveatKind.LIMITATION: ("limitation", ""),
}


@dataclass(frozen=True)
class Caveat:
    """Qualifies the results of a run by a sentence."""

    kind: CaveatKind
    text: str


def gap(text: str) -> Caveat:
    """Returns a caveat that says what natxy cannot check, so that the results rely on what others say."""
    return Caveat(CaveatKind.GAP, text)


def departure(text: str) -> Caveat:
    """Returns a caveat that says what an RFC asks for and what is done instead."""
    return Caveat(CaveatKind.DEPARTURE, text)


def own_rule(text: str) -> Caveat:
    """Returns a caveat that states a rule of natxy's own, which no RFC has."""
    return Caveat(CaveatKind.OWN_RULE, text)


def limitation(text: str) -> Caveat:
    """Returns a caveat that states for what else the results do not hold."""
    return Caveat(CaveatKind.LIMITATION, text)


def by_kind(caveats: Iterable[Caveat]) -> dict[CaveatKind, list[str]]:
    """Returns the sentences of each kind that has any, in the order of the kinds."""
    given = [*caveats]
    found = {kind: [caveat.text for caveat in given if caveat.kind == kind] for kind in CaveatKind}
    return {kind: sentences for kind, sentences in found.items() if sentences}


def counts(caveats: Iterable[Caveat]) -> str:
    """Returns how many caveats there are of each kind, such as `2 departures from the RFCs and 1 limitation`."""
    found = {kind: len(sentences) for kind, sentences in by_kind(caveats).items()}
    return enumerated([counted(count, noun) + rest for kind, count in found.items() for noun, rest in [_NOUNS[kind]]])
