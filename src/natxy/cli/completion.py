# SPDX-License-Identifier: Apache-2.0
"""Completes arguments that only natxy knows, for shells: plans, runs, experiments, gateways, answers and words.

Shells interpret what they are given, and file names can be others'. So names with other characters than `_PLAIN` allows
are left to the shell's own completion of files, which follows whenever natxy knows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import typer

from natxy.campaign import LOG_FILE
from natxy.errors import NatxyError
from natxy.explain.entries import entries
from natxy.results import RESULTS_FILE

_PLAIN: Final = re.compile(r"[\w./+,@%~-]+", re.ASCII)


def plans(incomplete: str) -> list[str]:
    """Returns the YAML files in the folder of the incomplete path, and in the folders below it."""
    return _paths(incomplete, "*.yaml")


def runs(incomplete: str) -> list[str]:
    """Returns the folders of runs in the folder of the incomplete path, and in the folders below it."""
    return [str(Path(file).parent) for file in _paths(incomplete, f"*/{RESULTS_FILE}")]


def runs_and_campaigns(incomplete: str) -> list[str]:
    """Returns the folders of runs and of campaigns in the folder of the incomplete path and in those below it."""
    return sorted([*runs(incomplete), *(str(Path(file).parent) for file in _paths(incomplete, f"*/{LOG_FILE}"))])


def experiments(context: typer.Context) -> list[str]:
    """Returns the names of the experiments of the plan on the command line; none if that has errors."""
    from natxy.plan.yaml.loading import load_plan

    # While an option lacks its value, which is what is completed, no argument has been given its place.
    given = [context.params.get("plan"), *context.args]
    try:
        plan = load_plan(Path(next(str(each) for each in given if each)))
    except (StopIteration, NatxyError):
        return []
    return [name for name in dict.fromkeys(each.name for each in plan.experiments) if _PLAIN.fullmatch(name)]


def drivers() -> list[tuple[str, str]]:
    """Returns the names of the drivers of a single gateway, each with its summary."""
    from natxy.dut.registry import SINGLE_GATEWAYS

    return [(driver.name, driver.summary) for driver in SINGLE_GATEWAYS.values()]


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


def aspects(incomplete: str) -> list[str]:
    """Returns what can matter about a gateway, after those before the last comma."""
    from natxy.cli.guide.first_plan import Aspect

    before, comma, _ = incomplete.rpartition(",")
    return [f"{before}{comma}{each}" for each in Aspect if each not in before.split(",")]


def words() -> list[str]:
    """Returns the words that `natxy explain` knows and that are one word for a shell."""
    return sorted({name for entry in entries() for name in entry.names if _PLAIN.fullmatch(name)})


def verbs_and_words(context: typer.Context) -> list[str]:
    """Returns what `natxy help` describes: natxy's verbs, and the words that `natxy explain` knows.

    After a verb that has others below it, such as `lab`, it returns those.
    """
    program: Any = context.parent
    verbs = program.command.commands if program else {}
    if given := context.params.get("words"):
        return list(getattr(verbs.get(given[0]), "commands", {}))
    return [*(name for name, verb in verbs.items() if not verb.hidden), *words()]


def _paths(incomplete: str, pattern: str) -> list[str]:
    """Returns the files that match the pattern in the folder of the incomplete path and in those below it."""
    folder = incomplete.rpartition("/")[0] + "/" if "/" in incomplete else ""
    try:
        found: Iterator[Path] = chain(Path(folder or ".").glob(pattern), Path(folder or ".").glob(f"*/{pattern}"))
        paths = [folder + str(file.relative_to(folder or ".")) for file in found]
    except OSError:
        return []
    return sorted(path for path in paths if _PLAIN.fullmatch(path))
