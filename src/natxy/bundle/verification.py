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
from natxy.bundle.signature import SIGNATURE_FILE, key_of, signer
from natxy.errors import PlanError
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


@dataclass(frozen=True)
class Verified:
    """Holds the run of a bundle that is whole.

    `computed_with` has the versions that computed its tables and its report. They were computed again, with the same
    result, if `computed_again`, which only the same versions can. `signed_with` is the key that signed its hashes,
    empty without a signature, and `signer` the name that a file of allowed signers gives this key.
    """

    run: RunRecord
    computed_with: Mapping[str, str]
    file_count: int
    computed_again: bool
    signed_with: str = ""
    signer: str = ""


def verify(path: Path, allowed_signers: Path | None = None) -> Verified:
    """Returns what a bundle holds.

    PlanError, which names each file at fault, when something in it was changed, and when none of `allowed_signers`, if
    there are any, has signed it.
    """
    files = read(path)
    _check_sums(path, files)
    signed_with, name = _signed(path, files, allowed_signers)
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
    return Verified(reader.run, computed_with, len(files), computed_again, signed_with, name)


def _signed(path: Path, files: Mapping[str, bytes], allowed_signers: Path | None) -> tuple[str, str]:
    """Returns the key that signed the hashes, and the name that the file of allowed signers gives this key."""
    if SIGNATURE_FILE not in files:
        if allowed_signers:
            raise PlanError(f"{path} is not signed; `natxy bundle --sign KEY` signs one")
        return "", ""
    signed = (files[SUMS_FILE], files[SIGNATURE_FILE])
    try:
        return key_of(*signed), signer(*signed, allowed_signers) if allowed_signers else ""
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error


def _check_sums(path: Path, files: Mapping[str, bytes]) -> None:
    own = {SUMS_FILE, SIGNATURE_FILE}
    expected = sums({name: content for name, content in files.items() if name not in own}).splitlines()
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
