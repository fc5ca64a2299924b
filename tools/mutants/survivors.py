# SPDX-License-Identifier: Apache-2.0
"""Reports which mutants survived their tests, and for which of them `survivors.toml` gives a reason."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

LIST: Final = Path(__file__).with_name("survivors.toml")
LEAST_KILLED: Final = 0.9


class Outcome(StrEnum):
    KILLED = "killed"
    TOO_LONG = "killed by a time limit"
    SURVIVED = "survived"
    NOT_EXECUTED = "executed by no test"
    UNUSABLE = "unusable"  # the module cannot be imported, the program not built, or the tests' process was ended


@dataclass(frozen=True)
class Judged:
    """Holds the outcome of a mutant. `before` and `after` are the lines that differ, on one line each."""

    file: str
    line: int
    before: str
    after: str
    outcome: Outcome

    @property
    def is_killed(self) -> bool:
        return self.outcome in (Outcome.KILLED, Outcome.TOO_LONG)

    @property
    def room(self) -> str:
        return self.file.removeprefix("src/natxy/").split("/")[0]


Reasons = dict[tuple[str, str, str], str]


def reasons(toml: str) -> Reasons:
    """Returns why mutants survive, by their files and their lines before and after."""
    tables: dict[str, list[dict[str, str]]] = tomllib.loads(toml)
    return {(file, each["before"], each["after"]): each["why"] for file, table in tables.items() for each in table}


def unexplained(judged: Sequence[Judged], why: Reasons) -> list[Judged]:
    """Returns the survivors without a reason in the order of their places."""
    survivors = (each for each in judged if not each.is_killed and each.outcome != Outcome.UNUSABLE)
    unknown = (each for each in survivors if (each.file, each.before, each.after) not in why)
    return sorted(unknown, key=lambda each: (each.file, each.line, each.after))


def finish(judged: Sequence[Judged], title: str = "", figures: Path | None = None) -> int:
    """Prints the survivors without a reason and the counts; returns 1 if there are any, or if too few were killed.

    Mutants that could not be used do not count. The counts are also written into the file `figures`, for `table.py`.
    """
    unknown = unexplained(judged, reasons(LIST.read_text(encoding="utf-8")))
    for each in unknown:
        print(f"{each.file}:{each.line}: {each.outcome}\n  - {each.before}\n  + {each.after}")
    usable = [each for each in judged if each.outcome != Outcome.UNUSABLE]
    all_in = Counter(room for each in usable for room in (each.room, "together"))
    killed_in = Counter(room for each in usable if each.is_killed for room in (each.room, "together"))
    for room, count in all_in.items():
        print(f"{room:10} {killed_in[room]:5} of {count:5} mutants killed ({killed_in[room] / count:.1%})")
    if figures:
        counts = {room: [killed_in[room], count] for room, count in all_in.items()}
        figures.write_text(
            json.dumps({"title": title, "counts": counts, "unexplained": len(unknown)}), encoding="utf-8"
        )
    print(f"without a reason: {len(unknown)} survivors; not counted: {len(judged) - len(usable)} unusable mutants")
    return 1 if unknown or killed_in["together"] < LEAST_KILLED * len(usable) else 0


class Known:
    """Keeps outcomes in a file by a digest of all that they depend on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        self.outcomes = {key: Outcome(outcome) for key, outcome in map(json.loads, lines)}

    def add(self, key: str, outcome: Outcome) -> None:
        self.outcomes[key] = outcome
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, outcome]) + "\n")
