# SPDX-License-Identifier: Apache-2.0
"""How a verb ends when something is wrong: one paragraph on stderr and the error's exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sqlite3
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Final, NoReturn

import typer
from rich.console import Console

from natxy.errors import NatxyError, PlanError
from natxy.interrupts import INTERRUPTS

INTERRUPTED: Final = 130
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

_stderr = Console(stderr=True, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def reported_errors() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        # `natxy export … | head`: whoever read has enough.
        _forget_output()
        raise typer.Exit from error
    except sqlite3.OperationalError as error:
        _end(f"the results could not be written: {error}; make room, then `natxy resume`", PlanError.exit_code, error)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _forget_output()
        what = error.filename or "the output"
        _end(f"{what} could not be written: {error.strerror}; make room, then try again", PlanError.exit_code, error)
    except NatxyError as error:
        _end(str(error), error.exit_code, error)
    except KeyboardInterrupt as error:
        _stderr.print("natxy: interrupted", style="yellow")
        raise typer.Exit(INTERRUPTED) from error


def _end(text: str, exit_code: int, error: Exception) -> NoReturn:
    _stderr.print("natxy:", style="bold red", end=" ")
    _stderr.print(text, markup=False)
    raise typer.Exit(exit_code) from error


def _forget_output() -> None:
    """What is left of it is not flushed at the end, when nobody would catch the error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(text: str) -> None:
    _stderr.print("natxy: warning:", style="yellow", end=" ")
    _stderr.print(text, markup=False)


@contextlib.contextmanager
def one_interrupt() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP end what is done here with KeyboardInterrupt; the cleaning up that follows is not
    interrupted again."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in INTERRUPTS:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in INTERRUPTS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
