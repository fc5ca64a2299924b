# SPDX-License-Identifier: Apache-2.0
"""Completes other arguments that only natxy knows, for shells: experiments, campaigns, answers of `init`, and words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from natxy.campaign import LOG_FILE
from natxy.errors import NatxyError
from natxy.explain.entries import entries
from natxy.terminal.names import PLAIN, drivers, paths, runs


def runs_and_campaigns(incomplete: str) -> list[str]:
    """Returns the folders of runs and of campaigns in the folder of the incomplete path and in those below it."""
    return sorted([*runs(incomplete), *(str(Path(file).parent) for file in paths(incomplete, f"*/{LOG_FILE}"))])


def experiments(context: typer.Context) -> list[str]:
    """Returns the names of the experiments of the plan on the command line; none if that has errors."""
    from natxy.plan.yaml.loading import load_plan

    # While an option lacks its value, which is what is completed, no argument has been given its place.
    given = [context.params.get("plan"), *context.args]
    try:
        plan = load_plan(Path(next(str(each) for each in given if each)))
    except (StopIteration, NatxyError):
        return []
    return [name for name in dict.fromkeys(each.name for each in plan.experiments) if PLAIN.fullmatch(name)]


def drivers_of_first_plans(context: typer.Context) -> list[tuple[str, str]]:
    """Returns the drivers that `natxy init` takes on the testbed of the command line, each with its summary."""
    from natxy.cli.guide.first_plan import Place, gateways_at

    place = context.params.get("testbed") or Place.LAB
    possible = gateways_at(Place(place)) if place in list(Place) else []
    return [(name, summary) for name, summary in drivers() if name in possible]


def places() -> list[str]:
    """Returns the testbeds that `natxy init` writes plans for."""
    from natxy.cli.guide.first_plan import Place

    return [*Place]


def translations(context: typer.Context) -> list[str]:
    """Returns the translations that `natxy init` takes for the gateway of the command line, or for any."""
    from natxy.cli.guide.first_plan import Place, gateways_at, translations_of

    every = gateways_at(Place.HARDWARE)
    gateway = context.params.get("gateway")
    chosen = [gateway] if gateway in every else every
    return sorted({kind for name in chosen for kind in translations_of(name)})


def protocols() -> list[str]:
    """Returns the protocols of frames that `natxy init` takes."""
    from natxy.plan.frames.forms import Protocol

    return [each.value for each in Protocol]


def aspects(incomplete: str) -> list[str]:
    """Returns what can matter about a gateway, after those before the last comma."""
    from natxy.cli.guide.first_plan import Aspect

    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{each}" for each in Aspect if each not in before.split(",")]


def words() -> list[str]:
    """Returns the words that `natxy explain` knows and that are one word for a shell."""
    return sorted({name for entry in entries() for name in entry.names if PLAIN.fullmatch(name)})


def verbs_and_words(context: typer.Context) -> list[str]:
    """Returns what `natxy help` describes: natxy's verbs, and the words that `natxy explain` knows.

    After a verb that has others below it, such as `lab`, it returns those.
    """
    program: Any = context.parent
    verbs = program.command.commands if program else {}
    if given := context.params.get("words"):
        return list(getattr(verbs.get(given[0]), "commands", {}))
    return [*(name for name, verb in verbs.items() if not verb.hidden), *words()]
