# SPDX-License-Identifier: Apache-2.0
"""Completes arguments that only natxy knows, for shells: plans, runs, experiments, gateways and words.

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
    """Returns the names of the gateway drivers, each with its summary."""
    from natxy.dut.registry import GATEWAYS

    return [(driver.name, driver.summary) for driver in GATEWAYS.values()]


def words() -> list[str]:
    """Returns the words that `natxy explain` knows and that are one word for a shell."""
    return sorted({name for entry in entries() for name in entry.names if _PLAIN.fullmatch(name)})


def verbs_and_words(context: typer.Context) -> list[str]:
    """Returns what `natxy help` describes: natxy's verbs, and the words that `natxy explain` knows."""
    program: Any = context.parent
    return [*program.command.commands, *words()] if program else words()


def _paths(incomplete: str, pattern: str) -> list[str]:
    """Returns the files that match the pattern in the folder of the incomplete path and in those below it."""
    folder = incomplete.rpartition("/")[0] + "/" if "/" in incomplete else ""
    try:
        found: Iterator[Path] = chain(Path(folder or ".").glob(pattern), Path(folder or ".").glob(f"*/{pattern}"))
        paths = [folder + str(file.relative_to(folder or ".")) for file in found]
    except OSError:
        return []
    return sorted(path for path in paths if _PLAIN.fullmatch(path))
