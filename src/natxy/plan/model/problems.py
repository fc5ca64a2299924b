# SPDX-License-Identifier: Apache-2.0
"""Errors in a plan, with the fields that have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# Characters of a message: more than one without a quotation has.
_LONGEST: Final = 500

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One error. `location` is a path of keys and list indices, e.g. ("experiments", 1, "search", "max_rate")."""

    location: Location
    message: str

    def __str__(self) -> str:
        return f"{field_path(self.location)}: {self.message}"


class PlanProblems(Exception):
    """Reports all errors that a step of loading found.

    It is not `complete` if there may be more, which can be found only when these are mended.
    """

    def __init__(self, problems: Sequence[Problem], *, complete: bool = True) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = tuple(problems)
        self.complete = complete


def field_path(location: Location) -> str:
    """Returns the location as text: `experiments[1].search.max_rate`."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.lstrip(".")


def shortened(text: str) -> str:
    """Returns a text for an error, without the end of a very long one: it may quote keys and values of any length."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
