# SPDX-License-Identifier: Apache-2.0
"""Writes a file as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Replaces `path` by what the context writes. After an error the old file stays as it was.

    Raises OSError when the file cannot be written.
    """
    if path.exists() and not path.is_file():
        # A pipe or a device is written to, not replaced.
        with path.open("wb") as out:
            yield out
        return
    # Replace the target of a link, not the link.
    file = Path(os.path.realpath(path))
    unfinished = file.with_name(f"{file.name}.partial")
    try:
        with unfinished.open("wb") as out:
            yield out
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
