# SPDX-License-Identifier: Apache-2.0
"""Verifies a bundle: is it whole, and do its tables and its report follow from what was recorded?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from natxy.bundle.contents import (
    COMPUTED_WITH,
    CONDITIONS_FILE,
    PLAN_FILE,
    SUMS_FILE,
    computed_from,
    computing_versions,
    sums,
)
from natxy.bundle.file import read
from natxy.errors import PlanError
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


@dataclass(frozen=True)
class Verified:
    """Holds the run of a bundle that is whole.

    `computed_with` has the versions that computed its tables and its report. They were computed again, with the same
    result, if `computed_again`, which only the same versions can.
    """

    run: RunRecord
    computed_with: Mapping[str, str]
    file_count: int
    computed_again: bool


def verify(path: Path) -> Verified:
    """Returns what a bundle holds. PlanError, which names each file at fault, when something in it was changed."""
    files = read(path)
    _check_sums(path, files)
    try:
        reader = RunReader.of_bytes(files[RESULTS_FILE])
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error
    computed_with = _computed_with(path, files)
    computed_again = computed_with == computing_versions()
    # The plan is a part of the database, whatever computes the rest.
    expected = computed_from(reader) if computed_again else {PLAN_FILE: reader.run.plan_yaml.encode()}
    if different := [name for name in sorted(expected) if expected[name] != files[name]]:
        raise PlanError(
            f"{path} contradicts itself: {', '.join(different)} {_has(different)} not what follows from "
            f"{RESULTS_FILE}; one of them was changed after the bundle was made"
        )
    return Verified(reader.run, computed_with, len(files), computed_again)


def _check_sums(path: Path, files: Mapping[str, bytes]) -> None:
    expected = sums({name: content for name, content in files.items() if name != SUMS_FILE}).splitlines()
    stated = files[SUMS_FILE].decode(errors="replace").splitlines()
    names = {line.partition("  ")[2] for line in {*expected} ^ {*stated}}
    if names:
        raise PlanError(
            f"{path} is not as it was made: by {SUMS_FILE}, {', '.join(map(repr, sorted(names)))} "
            f"{_has([*names])} another content; take the bundle from its source again"
        )


def _has(names: list[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _computed_with(path: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    try:
        stated = json.loads(files[CONDITIONS_FILE])[COMPUTED_WITH]
        return {str(name): str(version) for name, version in stated.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise PlanError(f"{path}: {CONDITIONS_FILE} does not say `{COMPUTED_WITH}`") from error
