# SPDX-License-Identifier: Apache-2.0
"""Where verbs print. rich itself would end natxy with exit code 1 when nobody reads on."""

from __future__ import annotations

import os
from typing import IO

import rich.console


class Console(rich.console.Console):
    """Leaves it to `reported_errors` that nobody reads on: it ends the verb."""

    def on_broken_pipe(self) -> None:
        raise


class LastingConsole(rich.console.Console):
    """Of what measures, and of errors: where nobody reads on, the rest is not printed, and all else goes on."""

    def on_broken_pipe(self) -> None:
        forget(self.file)


def forget(output: IO[str]) -> None:
    """Nothing more of it is written, nor flushed at the end, when nobody would catch the error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)
