# SPDX-License-Identifier: Apache-2.0
"""Patience with a machine that has other work: what that disturbs is measured again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

# What is wrong is wrong each time.
ATTEMPTS: Final = 3

Found = TypeVar("Found")


def undisturbed(measure: Callable[[Path], Found], folder: Path, holds: Callable[[Found], bool]) -> Found:
    """What `measure` finds in a folder of its own, the first time that it `holds`, or else the last time."""
    for attempt in range(ATTEMPTS):
        own = folder / str(attempt)
        own.mkdir()
        found = measure(own)
        if holds(found):
            break
    return found
