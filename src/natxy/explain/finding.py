# SPDX-License-Identifier: Apache-2.0
"""Finds what explains a word that a person typed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from natxy.errors import PlanError
from natxy.explain.entries import Entry, entries
from natxy.untrusted.validation import guess

_SECTION: Final = re.compile(r"rfc \d+ §\d+(?:\.\d+)*")
_STANDARD: Final = re.compile(r"(?:rfc ?)?(\d{4,5})(?: ?§? ?(\d[\d.]*))?")


def explaining(words: Iterable[str], others: Iterable[str] = ()) -> list[Entry]:
    """Returns the entries of a word, or of the words that begin with it: `RFC 2544`, or `2544`, has one for each
    section. A sentence of a report has those of the sections that it names.

    Raises PlanError with the nearest word, or the nearest of `others` that may have been meant, when nothing explains
    it.
    """
    given = " ".join(words).strip().replace("`", "")
    wanted = given.casefold()
    if standard := _STANDARD.fullmatch(wanted):
        wanted = f"rfc {standard[1]}" + (f" §{standard[2]}" if standard[2] else "")
    known: dict[str, list[Entry]] = {}
    for entry in entries():
        for name in entry.names:
            known.setdefault(name.casefold(), []).append(entry)
    singular = wanted.removesuffix("s")
    if found := known.get(wanted) or known.get(singular) or known.get(wanted.replace(" ", "_")):
        return found
    # A procedure has `-` where a sentence has a space.
    if found := [entry for name, of_name in known.items() if _spaced(name) == _spaced(wanted) for entry in of_name]:
        return found
    opening = (f"{wanted} ", f"{singular} ", f"{wanted}.")
    if begun := [entry for name, of_name in known.items() if name.startswith(opening) for entry in of_name]:
        return [*dict.fromkeys(begun)]
    if named := [entry for section in _SECTION.findall(wanted) for entry in known.get(section, ())]:
        return [*dict.fromkeys(named)]
    if given.isdecimal():
        raise PlanError(f"{given} is no exit code of natxy, but may be one of a script around it")
    near = guess(wanted, [*known, *others]) or ";"
    raise PlanError(f"{given!r} is not a word that natxy explains{near} `natxy explain` lists all words")


def _spaced(name: str) -> str:
    return name.replace("-", " ")
