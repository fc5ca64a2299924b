# SPDX-License-Identifier: Apache-2.0
"""Runs commands in a guest over its serial line, from the host's end.

A request is JSON cut into lines, each acknowledged with `{}`, and ended by an empty line; the reply is one line:

    {"argv": ["uname", "-r"], "input": null, "timeout_s": 30}
    {"returncode": 0, "stdout": "6.1.176\\n", "stderr": ""}

or `{"error": "missing"}` when the program does not exist, `{"error": "timeout"}` when it took longer.
"""

from __future__ import annotations

import json
import shlex
import socket
import time
from collections.abc import Sequence
from typing import Any, Final

from natxy.dut.transport.base import CompletedCommand
from natxy.errors import DutError

# Bytes. A guest stops reading for good once its terminal's buffer of 4096 bytes has been full.
_LINE_LENGTH: Final = 1000
# Time for request and reply, besides the command's own, in a guest that forwards at its limit.
_GRACE_S: Final = 5.0


class LineBrokenError(Exception):
    """The guest has ended, or sent nothing for too long; the line is closed and cannot be used again."""


class GuestLine:
    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._unread = b""

    def close(self) -> None:
        self._end.close()

    def wait_ready(self, timeout_s: float) -> None:
        self._receive(time.monotonic() + timeout_s)

    def run(self, argv: Sequence[str], input: str | None, timeout_s: float) -> CompletedCommand:
        """Runs `argv` in the guest.

        Raises DutError when the program does not exist or was stopped after `timeout_s`, and LineBrokenError.
        """
        deadline = time.monotonic() + timeout_s + _GRACE_S
        request = json.dumps({"argv": list(argv), "input": input, "timeout_s": timeout_s})
        for start in range(0, len(request), _LINE_LENGTH):
            self._send(request[start : start + _LINE_LENGTH])
            self._receive(deadline)
        self._send("")
        reply = self._receive(deadline)
        match reply.get("error"):
            case "missing":
                raise DutError(f"{argv[0]} is not installed; `natxy doctor` names the package")
            case "timeout":
                raise DutError(f"`{shlex.join(argv)}` was stopped after {timeout_s:g} s without an end")
        return CompletedCommand(tuple(argv), **reply)

    def _send(self, line: str) -> None:
        try:
            self._end.sendall(line.encode() + b"\n")
        except OSError as error:
            raise LineBrokenError from error

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._unread:
            try:
                self._end.settimeout(max(0.001, deadline - time.monotonic()))
                received = self._end.recv(1 << 16)
            except OSError as error:
                # A late reply would be taken for the reply to the next request.
                self.close()
                raise LineBrokenError from error
            if not received:
                raise LineBrokenError
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply
