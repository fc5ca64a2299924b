# SPDX-License-Identifier: Apache-2.0
"""Sorts the sentences on how a run was measured: departures from RFCs, natxy's own rules, and what limits results.

A run stores them in one list. A sentence that begins with `OWN_RULE` is a rule that natxy has beyond the RFCs; another
one that names what an RFC asks for is a departure from it; the rest are limits of the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from natxy.plan.model.units import counted, enumerated

OWN_RULE: Final = "natxy's own rule: "
# A title may name an RFC too.
_ASKED: Final = re.compile(r"RFC \d+ §|; RFC \d+ asks")


class Kind(StrEnum):
    """Names the kinds by what their lists are titled."""

    DEPARTURE = "Where this run departs from the RFCs"
    OWN_RULE = "Rules of natxy's own"
    LIMITATION = "Limits of the results"


_NOUNS: Final = {Kind.DEPARTURE: "departure", Kind.OWN_RULE: "rule", Kind.LIMITATION: "limitation"}
_OF: Final = {Kind.DEPARTURE: " from the RFCs", Kind.OWN_RULE: " of natxy's own", Kind.LIMITATION: ""}


def by_kind(sentences: Iterable[str]) -> dict[Kind, list[str]]:
    """Returns the sentences of each kind that has any, in the order of `Kind`, without the word that marks a rule."""
    found: dict[Kind, list[str]] = {kind: [] for kind in Kind}
    for sentence in sentences:
        rule = sentence.removeprefix(OWN_RULE)
        found[_kind(sentence)].append(sentence if rule == sentence else rule[:1].upper() + rule[1:])
    return {kind: those for kind, those in found.items() if those}


def counts(sentences: Iterable[str]) -> str:
    """Returns how many sentences there are of each kind, such as `2 departures from the RFCs and 1 limitation`."""
    return enumerated([counted(len(those), _NOUNS[kind]) + _OF[kind] for kind, those in by_kind(sentences).items()])


def _kind(sentence: str) -> Kind:
    if sentence.startswith(OWN_RULE):
        return Kind.OWN_RULE
    return Kind.DEPARTURE if _ASKED.search(sentence) else Kind.LIMITATION
