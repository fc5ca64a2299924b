# SPDX-License-Identifier: Apache-2.0
"""Finds what explains a word that a person typed."""

from __future__ import annotations

from collections.abc import Iterable

from natxy.errors import PlanError
from natxy.explain.entries import Entry, entries
from natxy.untrusted.validation import guess


def explaining(words: Iterable[str], others: Iterable[str] = ()) -> list[Entry]:
    """Returns the entries of a word, or of the words that begin with it: `RFC 2544` has one for each section.

    Raises PlanError with the nearest word, or the nearest of `others` that may have been meant, when nothing explains
    it.
    """
    given = " ".join(words).strip().replace("`", "")
    wanted = given.casefold()
    known: dict[str, list[Entry]] = {}
    for entry in entries():
        for name in entry.names:
            known.setdefault(name.casefold(), []).append(entry)
    singular = wanted.removesuffix("s")
    if found := known.get(wanted) or known.get(singular):
        return found
    opening = (f"{wanted} ", f"{singular} ")
    if begun := [entry for name, of_name in known.items() if name.startswith(opening) for entry in of_name]:
        return [*dict.fromkeys(begun)]
    near = guess(wanted, [*known, *others]) or ";"
    raise PlanError(f"{given!r} is not a word that natxy explains{near} `natxy explain` lists all words")
