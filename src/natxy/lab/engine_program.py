# SPDX-License-Identifier: Apache-2.0
"""Where the natxy-engine program is."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from natxy.errors import NatxyError

_SOURCE_TREE = Path(__file__).resolve().parents[3]


def find_engine() -> Path:
    """$NATXY_ENGINE, else beside the Python in use, else on the PATH, else where the build leaves it.

    NatxyError when none of these is a program.
    """
    chosen = os.environ.get("NATXY_ENGINE")
    if chosen:
        candidates = [Path(chosen)]
    else:
        on_path = shutil.which("natxy-engine")
        candidates = [
            Path(sys.executable).with_name("natxy-engine"),
            *([Path(on_path)] if on_path else []),
            _SOURCE_TREE / "build" / "engine" / "natxy-engine",
        ]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.absolute()
    if chosen:
        raise NatxyError(f"NATXY_ENGINE names {chosen}, which is not a program: correct it or unset it")
    looked = ", ".join(str(candidate) for candidate in candidates)
    raise NatxyError(f"natxy-engine was not found (looked at {looked}): run `make setup`, or set NATXY_ENGINE to it")
