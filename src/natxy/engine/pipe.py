# SPDX-License-Identifier: Apache-2.0
"""A child process that speaks JSON-RPC 2.0 over its stdin and stdout, one message per line."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

from pydantic import BaseModel, ValidationError

from natxy.errors import NatxyError, PlanError
from natxy.system.interrupts import dumped
from natxy.system.programs import end_session
from natxy.system.whole_file import appended_file
from natxy.untrusted.values import problems

CLOSE_S: Final = 2.0
LAST_LINES: Final = 8
# The most that Linux allows a user. The program ends if nobody reads from its pipe, and while a callback waits for a
# DUT to boot, it writes for minutes.
_PIPE_BYTES: Final = 1 << 20
# Libraries whose warnings mostly concern methods for which natxy's programs have a fallback.
_NOISY_LIBRARIES: Final = ("libbpf:", "libxdp:")

OnNotice = Callable[[str, Any], None]
"""Receives a notification's method and params. It raises ValidationError for invalid params."""


class RefusedError(Exception):
    """An error reply of the program."""

    def __init__(self, code: int | None, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class RpcPipe:
    """Starts `argv` and exchanges messages with it.

    Its stderr goes to the file `log_path`, or into memory, which the kernel frees however this process ends. Errors
    quote it, name the file, and call the program `name`.

    Raises `died` when the program ends, neither reads nor writes for `silence_s`, or writes an invalid message.
    """

    def __init__(
        self,
        argv: Sequence[str],
        log_path: Path | None = None,
        *,
        name: str,
        silence_s: float,
        died: type[NatxyError],
    ) -> None:
        self._log_path = log_path
        self._log = appended_file(log_path) if log_path else _memory()
        self._log_start = os.fstat(self._log.fileno()).st_size
        self._name = name
        self._silence_s = silence_s
        self._died = died
        self._next_id = 1
        # A trial can be aborted by another thread than the one that waits for its result.
        self._sending = threading.Lock()
        self._unread = b""
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                bufsize=0,
                # The terminal's Ctrl-C is for natxy alone, which then ends its programs in order.
                start_new_session=True,
            )
        except OSError as error:
            self._log.close()
            raise PlanError(
                f"{argv[0]} cannot be started: {error.strerror}; `natxy doctor` reports what is missing"
            ) from error
        assert self._process.stdout is not None
        # A user's pipes may have to be smaller: then a DUT that takes many minutes to boot is too slow.
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(
        self, method: str, params: BaseModel | None = None, *, quiet_s: float = 0.0, on_notice: OnNotice | None = None
    ) -> Any:
        """Sends a request and returns the result. RefusedError for an error reply.

        The program may be silent for `quiet_s` longer than usual.
        """
        call_id = self.send(method, params)
        silence_s = self._silence_s + quiet_s
        while True:
            message = self._decoded(self._next_line(method, silence_s))
            if message.get("id") != call_id:
                self._notice(message, on_notice)
            elif "error" in message:
                raise _refused(message["error"])
            else:
                return message.get("result")

    def send(self, method: str, params: BaseModel | None = None, *, patience_s: float | None = None) -> int:
        """Sends a request without waiting for the reply, and returns its id.

        The program has `patience_s` to read it, by default as long as it may be silent.
        """
        with self._sending:
            call_id, self._next_id = self._next_id, self._next_id + 1
            request: dict[str, Any] = {"jsonrpc": "2.0", "id": call_id, "method": method}
            request["params"] = dumped(params, exclude_none=True) if params else {}
            line = json.dumps(request).encode() + b"\n"
            self._write(method, line, self._silence_s if patience_s is None else patience_s)
        return call_id

    def death(self, what: str) -> NatxyError:
        """Returns the error for a failed program; `what` is the predicate, such as "ended during trial.run"."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.returncode
        ending = "" if code is None else f" (signal {-code})" if code < 0 else f" (exit code {code})"
        return self._died(f"{self._name} {what}{ending}. {self.last_words()}")

    def last_words(self) -> str:
        """Returns the last lines of the program's log, for errors."""
        lines = self._logged().decode("utf-8", "replace").splitlines()
        last = ([line for line in lines if not line.startswith(_NOISY_LIBRARIES)] or lines)[-LAST_LINES:]
        text = "\n".join(f"  {line}" for line in last) or "  nothing"
        where = f" (all are in {self._log_path})" if self._log_path else ""
        return f"Its last lines{where}:\n{text}"

    def close(self, *farewell: str) -> None:
        """Sends the requests of `farewell` and ends the program within 2 s. A second call does nothing."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        deadline = time.monotonic() + CLOSE_S
        with contextlib.suppress(self._died):
            for method in farewell:
                self.send(method, patience_s=max(0.0, deadline - time.monotonic()))
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            end_session(self._process.pid)
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._log.close()

    def _logged(self) -> bytes:
        """Returns what the program has written to its log; nothing after `close`."""
        if self._log.closed:
            return b""
        # The program writes where this file is read to.
        log = self._log.fileno()
        return os.pread(log, os.fstat(log).st_size - self._log_start, self._log_start)

    def _notice(self, message: dict[str, Any], on_notice: OnNotice | None) -> None:
        if on_notice is None or "method" not in message:
            return
        try:
            on_notice(message["method"], message["params"])
        except KeyError as error:
            raise self.death(f"sent a notification without {error}") from error
        except ValidationError as error:
            method = message["method"]
            raise self.death(f"sent an invalid notification {method}: {problems(error, '')}") from error

    def _decoded(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except ValueError as error:
            raise self.death(f"wrote a line that is not JSON: {line[:200]!r}") from error
        if not isinstance(message, dict):
            raise self.death(f"wrote a line that is not a JSON object: {line[:200]!r}")
        return message

    def _write(self, method: str, line: bytes, patience_s: float) -> None:
        """Writes a line. A pipe holds some unread requests, but not a long one."""
        assert self._process.stdin is not None
        try:
            pipe = self._process.stdin.fileno()
            os.set_blocking(pipe, False)
            while line:
                if not select.select([], [pipe], [], patience_s)[1]:
                    end_session(self._process.pid)
                    raise self.death(f"did not read {method} within {patience_s:g} s")
                line = line[os.write(pipe, line) :]
        except (OSError, ValueError) as error:
            raise self.death(f"no longer accepts requests ({method})") from error

    def _next_line(self, method: str, silence_s: float) -> bytes:
        """Reads a line in the caller's thread, because another thread would take time from a core that measures."""
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], silence_s)
            if not ready:
                end_session(self._process.pid)
                raise self.death(f"was silent for {silence_s:g} s during {method}")
            read = os.read(self._process.stdout.fileno(), 1 << 20)
            if not read:
                raise self.death(f"ended during {method}")
            self._unread += read
        line, self._unread = self._unread.split(b"\n", 1)
        return line


def _memory() -> BinaryIO:
    return open(os.memfd_create("log"), "r+b", buffering=0)


def _refused(error: object) -> RefusedError:
    fields = error if isinstance(error, dict) else {}
    text = str(fields.get("message", error))
    if detail := fields.get("data"):
        text += f" ({detail if isinstance(detail, str) else json.dumps(detail)})"
    return RefusedError(fields.get("code"), text)
