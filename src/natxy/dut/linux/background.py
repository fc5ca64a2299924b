# SPDX-License-Identifier: Apache-2.0
"""Runs a program of the user's own build in the background of a Linux DUT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from natxy.dut.transport.base import Transport
from natxy.errors import GatewayMissingError

_SHOWN_LINES: Final = 5
_NAME_LENGTH: Final = 15


@dataclass(frozen=True)
class BackgroundProgram:
    """A program that stays in the foreground, which would block the transport.

    `program` is its path on the DUT or its name on the PATH, `remedy` says how to get it. The names of its files begin
    with `path`. `process` is the name that the process gives itself, if it does not keep that of its program.
    """

    transport: Transport
    program: str
    remedy: str
    path: str
    process: str = ""

    @property
    def name(self) -> str:
        """The name of the process as the kernel has it."""
        return self.process or self.program.rpartition("/")[2][:_NAME_LENGTH]

    @property
    def pid_file(self) -> str:
        return f"{self.path}.pid"

    @property
    def log_file(self) -> str:
        return f"{self.path}.log"

    def check_installed(self) -> str:
        """Returns the program's path. GatewayMissingError when the DUT does not have it."""
        found = self.transport.run(["which", self.program], check=False)
        if found.returncode != 0:
            raise GatewayMissingError(f"{self.program} not found ({self.transport.describe()}); {self.remedy}")
        return found.stdout.strip()

    def start(self, arguments: Sequence[str]) -> None:
        """Starts the program, whose output goes to the log file."""
        found = self.check_installed()
        background = ["start-stop-daemon", "--start", "--background", "--make-pidfile", "--pidfile", self.pid_file]
        self.transport.run([*background, "--output", self.log_file, "--startas", found, "--", *arguments])

    def stop(self, *files: str) -> None:
        """Ends the program and removes its files and others. No error if there are none."""
        stop = ["start-stop-daemon", "--stop", "--oknodo", "--retry", "2", "--remove-pidfile"]
        self.transport.run([*stop, "--pidfile", self.pid_file, "--name", self.name], check=False)
        self.transport.run(["rm", "-f", self.pid_file, self.log_file, *files])

    def last_words(self) -> str:
        """Returns the end of what the program has printed."""
        shown = self.transport.run(["tail", "-n", str(_SHOWN_LINES), self.log_file], check=False).stdout.strip()
        return shown or "nothing"
