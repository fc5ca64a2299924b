# SPDX-License-Identifier: Apache-2.0
"""Consoles for output whose reader may close the pipe, on which rich itself would exit with code 1."""

from __future__ import annotations

import os
from typing import IO

import rich.console


class Console(rich.console.Console):
    """A console whose broken pipe ends the verb, by the exception that `reported_errors` handles."""

    def on_broken_pipe(self) -> None:
        raise


class LastingConsole(rich.console.Console):
    """A console whose broken pipe ends the output alone, for errors and for verbs that measure."""

    def on_broken_pipe(self) -> None:
        forget(self.file)


def forget(output: IO[str]) -> None:
    """Discards all further output, so that no write or flush at exit raises."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
