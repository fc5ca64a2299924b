# SPDX-License-Identifier: Apache-2.0
"""Files that are there as a whole or not at all, whatever ends the writing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """What is written within replaces the file when it ends well; else the file stays as it was. OSError where it
    cannot be written."""
    if path.exists() and not path.is_file():
        # A pipe or a device is written to, not replaced.
        with path.open("wb") as out:
            yield out
        return
    # A link stays one.
    file = Path(os.path.realpath(path))
    unfinished = file.with_name(f"{file.name}.partial")
    try:
        with unfinished.open("wb") as out:
            yield out
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
