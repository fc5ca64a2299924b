# SPDX-License-Identifier: Apache-2.0
"""One natxy at a time measures into a run's folder."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from natxy.errors import PlanError


@contextmanager
def sole_owner(folder: Path) -> Iterator[None]:
    """PlanError when another process is. The kernel ends the ownership with the process, however that ends."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise PlanError(f"{folder} is no run folder: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PlanError(f"another natxy is measuring into {folder}; wait for it to end") from error
        yield
    finally:
        os.close(lock)
