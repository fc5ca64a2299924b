# SPDX-License-Identifier: Apache-2.0
"""Ends a verb on an error, with a message on stderr and an exit code, and on a signal."""

from __future__ import annotations

import contextlib
import errno
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final, NoReturn

import typer

from natxy.errors import NatxyError, PlanError
from natxy.shipped import page
from natxy.system.interrupts import INTERRUPTED, end_at_once, forget, forget_the_interrupt, interrupt
from natxy.terminal.console import LastingConsole

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_TOO_MANY: Final = {errno.EMFILE, errno.ENFILE}

_stderr = LastingConsole(stderr=True)
_page: Final = ContextVar("page", default=PlanError.page)


@contextlib.contextmanager
def errors_name(page: str) -> Iterator[None]:
    """Lets errors about a plan or about usage name a page, unless they have one of their own."""
    before = _page.set(page)
    try:
        yield
    finally:
        _page.reset(before)


@contextlib.contextmanager
def reported_errors() -> Iterator[None]:
    """Turns errors that a user can mend into a message and an exit code. Other exceptions are bugs and pass."""
    try:
        with _interrupts_as_exceptions():
            yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        # `natxy export … | head`: the reader has enough.
        forget(sys.stdout)
        raise typer.Exit from error
    except sqlite3.OperationalError as error:
        _end(f"the results could not be written: {error}; make room, then `natxy resume`", PlanError, error)
    except MemoryError as error:
        _end("the memory is not enough for this: use a machine with more, or a smaller file", PlanError, error)
    except OSError as error:
        if error.errno in _TOO_MANY:
            _end(f"{error.strerror}: allow more, by `ulimit -n 65536`", PlanError, error)
        if error.errno not in _FULL:
            raise
        forget(sys.stdout)
        what = error.filename or "the output"
        _end(f"{what} could not be written: {error.strerror}; make room, then try again", PlanError, error)
    except NatxyError as error:
        _end(str(error), type(error), error)
    except KeyboardInterrupt as error:
        forget_the_interrupt()
        _stderr.print("natxy: interrupted", style="yellow")
        raise typer.Exit(INTERRUPTED) from error


@contextlib.contextmanager
def _interrupts_as_exceptions() -> Iterator[None]:
    """Replaces the handler that ends natxy at once while it starts."""
    if signal.getsignal(signal.SIGINT) is not end_at_once:
        yield
        return
    try:
        signal.signal(signal.SIGINT, interrupt)
        yield
    finally:
        signal.signal(signal.SIGINT, end_at_once)


def _end(text: str, kind: type[NatxyError], error: Exception) -> NoReturn:
    _stderr.say(text, opening="natxy: ", style="bold red")
    about_the_verb = issubclass(kind, PlanError) and kind.page == PlanError.page
    _stderr.say(f"  → {page(_page.get() if about_the_verb else kind.page)}")
    raise typer.Exit(kind.exit_code) from error


def warn(text: str) -> None:
    """Prints a warning on stderr."""
    _stderr.say(text, opening="natxy: warning: ", style="yellow")
