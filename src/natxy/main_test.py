# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_COMMANDS = {
    "module": [sys.executable, "-X", "importtime", "-m", "natxy"],
    "script": [sys.executable, "-X", "importtime", str(Path(sys.executable).with_name("natxy"))],
}


@contextmanager
def full_pipe() -> Iterator[int]:
    """Yields the writing end of a pipe that takes nothing more, so that natxy can't end before it is interrupted."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, bytes(1))
    os.set_blocking(writing, True)
    try:
        yield writing
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("imported", ["typer", "pydantic", "natxy.plan.model.units", "natxy.cli.report", "natxy.cli"])
def test_ctrl_c_while_natxy_starts_is_told_in_a_line(imported: str, command: str) -> None:
    with (
        full_pipe() as stdout,
        subprocess.Popen(
            [*_COMMANDS[command], "list", "procedures"], stdout=stdout, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        for line in process.stderr:
            if line.rstrip().endswith(f" {imported}"):
                process.send_signal(signal.SIGINT)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]
    assert (said, process.returncode) == (["natxy: interrupted\n"], 130)
