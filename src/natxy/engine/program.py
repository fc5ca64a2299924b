# SPDX-License-Identifier: Apache-2.0
"""Finds natxy's own programs."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from natxy.errors import NatxyError
from natxy.installation import installed_again

ENGINE: Final = "natxy-engine"
REFERENCE: Final = "natxy-reference"
_SOURCE_TREE: Final = Path(__file__).resolve().parents[3]


class ProgramMissingError(NatxyError):
    """Reports that a program of natxy's own is not where it should be."""

    page = "how-to/install.md"


def find_engine() -> Path:
    """Returns $NATXY_ENGINE, or else the program beside the Python in use, on the PATH, or in the build's folder.

    ProgramMissingError when none of these is a program.
    """
    return _find(ENGINE, "NATXY_ENGINE")


def find_reference() -> Path:
    """Returns the path of natxy-reference as `find_engine` does, with $NATXY_REFERENCE."""
    return _find(REFERENCE, "NATXY_REFERENCE")


def _find(name: str, variable: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        candidates = [Path(chosen)]
    else:
        on_path = shutil.which(name)
        candidates = [
            Path(sys.executable).with_name(name),
            *([Path(on_path)] if on_path else []),
            _SOURCE_TREE / "build" / "engine" / name,
        ]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.absolute()
    if chosen:
        raise ProgramMissingError(f"{variable} is {chosen}, which is not a program: correct it or unset it")
    looked = ", ".join(str(candidate) for candidate in candidates)
    raise ProgramMissingError(
        f"{name} was not found (looked at {looked}): {installed_again()}, or set {variable} to it"
    )
