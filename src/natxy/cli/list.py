# SPDX-License-Identifier: Apache-2.0
"""`natxy list`: lists the names that a plan can use, and the plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.errors import PlanError
from natxy.shipped import PLANS
from natxy.terminal.console import Console, beside, echo
from natxy.terminal.errors import reported_errors
from natxy.untrusted.texts import json_text

Entry = dict[str, str]
"""Has `name` and `summary`; the entry of a plan also has `path`."""


class Kind(StrEnum):
    """Enumerates what `natxy list` lists."""

    PROCEDURES = "procedures"
    SEARCHES = "searches"
    GATEWAYS = "gateways"
    PLANS = "plans"


def list_names(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What to list.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """List procedures, searches, gateways or plans.

    The plans are those in and below the folder `plans` of the current directory; without it, those that natxy comes
    with.
    """
    with reported_errors():
        entries = ENTRIES[kind]()
        if as_json:
            echo(json_text(entries) + "\n")
        elif (console := Console()).is_terminal:
            # What a plan or a command takes: of a plan its file.
            named = {entry.get("path", entry["name"]): entry["summary"] for entry in entries}
            for line in beside(named, console.width):
                echo(line + "\n")
        else:
            for line in _lines(entries):
                echo(line + "\n")


def _procedures() -> list[Entry]:
    from natxy.plan.procedures import DECLARATIONS

    return [_entry(name, declaration.summary) for name, declaration in DECLARATIONS.items()]


def _searches() -> list[Entry]:
    from natxy.plan.model.search import SEARCHES

    return [_entry(name, summary) for name, summary in SEARCHES.items()]


def _gateways() -> list[Entry]:
    from natxy.dut.registry import GATEWAYS

    return [_entry(driver.name, driver.summary) for driver in GATEWAYS.values()]


def _plans() -> list[Entry]:
    here = Path("plans")
    folder = here if here.is_dir() else PLANS
    return [_plan(file) for file in sorted(folder.rglob("*.yaml"), key=lambda file: (len(file.parts), file))]


def _plan(file: Path) -> Entry:
    from natxy.plan.yaml.loading import load_plan

    try:
        plan = load_plan(file)
    except PlanError:
        return _entry(file.stem, f"has errors; see `natxy check {file}`") | {"path": str(file)}
    return _entry(plan.name, plan.description) | {"path": str(file)}


def _entry(name: str, summary: str) -> Entry:
    return {"name": name, "summary": summary}


def _lines(entries: list[Entry]) -> Iterator[str]:
    """Yields a line for each entry, whose fields are in columns."""
    widths = [max(len(entry[field]) for entry in entries) for field in entries[0]] if entries else []
    for entry in entries:
        yield "  ".join(text.ljust(width) for text, width in zip(entry.values(), widths, strict=True)).rstrip()


ENTRIES: Final[dict[Kind, Callable[[], list[Entry]]]] = {
    Kind.PROCEDURES: _procedures,
    Kind.SEARCHES: _searches,
    Kind.GATEWAYS: _gateways,
    Kind.PLANS: _plans,
}
