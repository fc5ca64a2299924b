# SPDX-License-Identifier: Apache-2.0
"""Finds the parts of a guest: Debian's user-mode Linux, and the modules that `make jool` builds for it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.errors import PlanError

_MODULES: Final = Path("/usr/lib/uml/modules")


@dataclass(frozen=True)
class GuestFiles:
    """Names a guest's kernel, the program, with its version, and the folder of its modules and preloaded library."""

    program: Path
    version: str
    folder: Path

    @property
    def preload(self) -> Path:
        return self.folder / "preload.so"


def find_guest() -> GuestFiles:
    """Raises PlanError when something is missing."""
    program = shutil.which("linux.uml")
    versions = sorted(path.name for path in _MODULES.glob("*"))
    if program is None or not versions:
        raise PlanError("user-mode Linux is not installed on this machine: run `make jool`")
    folder = cache_folder() / f"guest-{versions[0]}"
    # `make jool` writes the stamp last.
    if not (folder / "stamp").is_file():
        raise PlanError(f"{folder}, a guest's modules, is missing: run `make jool` as the user that natxy runs as")
    return GuestFiles(Path(program), versions[0], folder)


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "natxy"
