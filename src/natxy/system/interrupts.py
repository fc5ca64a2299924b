# SPDX-License-Identifier: Apache-2.0
"""Handles the signals that ask natxy to end, and output that nobody reads, for which Python ignores SIGPIPE."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, Any, Final, NoReturn

INTERRUPTED: Final = 130
INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """Handles SIGINT before and after a verb, when there is nothing to clean up."""
    with suppress(OSError):
        os.write(2, b"natxy: interrupted\n")
    os._exit(INTERRUPTED)


def forget(output: IO[str]) -> None:
    """Discards all further output, so that no write or flush at exit raises."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raises KeyboardInterrupt on the first SIGINT, SIGTERM or SIGHUP, and ignores further ones during the clean-up."""
    # `nohup natxy run …` ignores SIGHUP from the start.
    survives_hangup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    heeded = [each for each in INTERRUPTS if each != signal.SIGHUP or not survives_hangup]

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in heeded}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Delays interrupts until the context ends, so that a clean-up in the main thread is never left half done.

    Programs inherit the blocked signals: start none here that outlives the context.
    """
    came: list[int] = []
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        # A signal that this thread blocks goes to any other one, such as ssh's, and its handler runs in the main one.
        if threading.current_thread() is threading.main_thread():
            for each in INTERRUPTS:
                if callable(handler := signal.getsignal(each)):
                    handlers[each] = handler
                    signal.signal(each, lambda number, _: came.append(number))
        yield
    finally:
        try:
            for each, handler in handlers.items():
                signal.signal(each, handler)
            for number in came[:1]:
                # This thread's mask holds it until the next line.
                signal.raise_signal(number)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
