# SPDX-License-Identifier: Apache-2.0
"""Handles the signals that ask natxy to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final, NoReturn

INTERRUPTED: Final = 130
INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """Handles SIGINT before and after a verb, when there is nothing to clean up."""
    with suppress(OSError):
        os.write(2, b"natxy: interrupted\n")
    os._exit(INTERRUPTED)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Delays interrupts until the context ends, so that a clean-up in the main thread is never left half done.

    Programs inherit the blocked signals: start none here that outlives the context.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
