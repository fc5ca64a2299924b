# SPDX-License-Identifier: Apache-2.0
"""How a verb ends when something is wrong: one paragraph on stderr and the error's exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Final

import typer
from rich.console import Console

from natxy.errors import NatxyError
from natxy.interrupts import INTERRUPTS

INTERRUPTED: Final = 130

_stderr = Console(stderr=True, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def reported_errors() -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        # `natxy export … | head`: whoever read has enough. What is left is not flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from error
    except NatxyError as error:
        _stderr.print("natxy:", style="bold red", end=" ")
        _stderr.print(str(error), markup=False)
        raise typer.Exit(error.exit_code) from error
    except KeyboardInterrupt as error:
        _stderr.print("natxy: interrupted", style="yellow")
        raise typer.Exit(INTERRUPTED) from error


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
