# SPDX-License-Identifier: Apache-2.0
"""Finds what `make jool` and `make vm` have built, and refuses what other versions of their recipes built."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.installation import by_make
from natxy.system.cache import cache_folder

# Only a source tree has it; where natxy is installed without one, nothing can be out of date.
_SOURCES: Final = Path(__file__).resolve().parents[4] / "guest"
_STAMP: Final = "stamp"


@dataclass(frozen=True)
class Recipe:
    """Names the `make` target that builds `what`, and its source files in the order in which the target reads them."""

    target: str
    what: str
    sources: tuple[str, ...]

    def check(self, folder: Path) -> None:
        """Raises PlanError unless the folder was built, by the same recipe as that of this source tree."""
        remedy = f"{by_make(self.target)} as the user that natxy runs as"
        # The target writes the stamp last. Its first word is a checksum of the recipe.
        stamp = folder / _STAMP
        if not stamp.is_file():
            raise PlanError(f"{folder}, {self.what}, is missing: {remedy}")
        if _SOURCES.is_dir() and stamp.read_text().split()[:1] != [self._checksum()]:
            raise PlanError(f"{folder}, {self.what}, was built by another version of natxy: {remedy}")

    def _checksum(self) -> str:
        return hashlib.sha256(b"".join((_SOURCES / name).read_bytes() for name in self.sources)).hexdigest()


def built_folder(name: str) -> Path:
    """Returns the folder of what was built for this user."""
    return cache_folder() / name
