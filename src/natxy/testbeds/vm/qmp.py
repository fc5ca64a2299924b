# SPDX-License-Identifier: Apache-2.0
"""Controls QEMU by its machine protocol (QMP): JSON messages, one per line, over a socket."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any, Final

from natxy.errors import DutError

_ANSWER_S: Final = 10.0


class QemuMonitor:
    """Executes commands, one after the other. Every method raises DutError when QEMU does not answer or refuses."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_ANSWER_S)
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise _failure(error) from error
        self._lines = self._socket.makefile("rb")
        try:
            # The greeting.
            self._read()
            self.execute("qmp_capabilities")
        except BaseException:
            self.close()
            raise

    def execute(self, command: str, **arguments: Any) -> Any:
        """Returns what the command returns."""
        try:
            self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        except OSError as error:
            raise _failure(error) from error
        while True:
            answer = self._read()
            if "error" in answer:
                raise DutError(f"QEMU refused {command}: {answer['error'].get('desc')}")
            # Events come between answers.
            if "return" in answer:
                return answer["return"]

    def execute_for_people(self, line: str, *, timeout_s: float) -> str:
        """Executes a line of the monitor for people, which may take so long. Returns what it prints."""
        self._socket.settimeout(timeout_s)
        try:
            printed: str = self.execute("human-monitor-command", **{"command-line": line})
            return printed
        finally:
            self._socket.settimeout(_ANSWER_S)

    def vcpu_threads(self) -> list[int]:
        """Returns the thread of each virtual CPU by its process id."""
        return [cpu["thread-id"] for cpu in self.execute("query-cpus-fast")]

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def _read(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except OSError as error:
            raise _failure(error) from error
        if not line:
            raise DutError("QEMU has closed the connection that controls it")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _failure(error: OSError) -> DutError:
    return DutError(f"QEMU does not answer: {error}")
