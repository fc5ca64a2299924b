# SPDX-License-Identifier: Apache-2.0
"""natxy-engine as a child process: JSON-RPC 2.0, a line a message, over its stdin and stdout."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from natxy.engine.interface import OnProgress
from natxy.engine.messages import (
    EngineInfo,
    ErrorCode,
    EstablishRequest,
    Log,
    NeighborsResolve,
    NeighborsResolved,
    PortsOpen,
    PortsOpened,
    Progress,
    TrialRequest,
    TrialResult,
    ValidateRequest,
)
from natxy.errors import DutError, EngineDiedError, NatxyError, PlanError, TesterLimitError

# A trial tells its progress five times a second; opening ports on slow NICs takes some seconds without a word.
SILENCE_S: Final = 20.0
CLOSE_S: Final = 2.0
LAST_LINES: Final = 8
# What these libraries grumble about the engine mostly does another way.
_GRUMBLERS: Final = ("libbpf:", "libxdp:")

_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_log = logging.getLogger("natxy.engine")

Reply = TypeVar("Reply", bound=BaseModel)


class EngineClient:
    """Starts the engine with `argv`; its stderr goes to `log_path`.

    `silence_s`: an engine that says nothing for so long, besides a trial's drain, counts as dead.
    """

    def __init__(self, argv: Sequence[str], log_path: Path, silence_s: float = SILENCE_S) -> None:
        self._log_path = log_path
        self._log_start = log_path.stat().st_size if log_path.exists() else 0
        self._silence_s = silence_s
        self._next_id = 1
        self._unread = b""
        try:
            with log_path.open("ab") as log:
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    bufsize=0,
                    # The terminal's Ctrl-C is for natxy, which then ends the trial and the engine in order.
                    start_new_session=True,
                )
        except OSError as error:
            raise PlanError(
                f"{argv[0]} cannot be started: {error.strerror}; `natxy doctor` says what is missing"
            ) from error

    def info(self) -> EngineInfo:
        return self._call("engine.info", None, EngineInfo)

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        return self._call("ports.open", request, PortsOpened)

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        return self._call("neighbors.resolve", request, NeighborsResolved, quiet_s=request.timeout_s)

    def establish(self, request: EstablishRequest, on_progress: OnProgress = None) -> TrialResult:
        return self._trial("connections.establish", request, request.drain_s, on_progress)

    def validate(self, request: ValidateRequest, on_progress: OnProgress = None) -> TrialResult:
        return self._trial("connections.validate", request, request.drain_s, on_progress)

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        return self._trial("trial.run", request, request.drain_s, on_progress)

    def abort(self) -> None:
        with contextlib.suppress(EngineDiedError):
            self._send("trial.abort", None)

    def close(self) -> None:
        if self._process.stdin is None or self._process.stdin.closed:
            return
        deadline = time.monotonic() + CLOSE_S
        with contextlib.suppress(EngineDiedError):
            self._send("trial.abort", None)
            self._send("ports.close", None)
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    # --- calls

    def _trial(self, method: str, request: BaseModel, drain_s: float, on_progress: OnProgress) -> TrialResult:
        try:
            return self._call(method, request, TrialResult, quiet_s=drain_s, on_progress=on_progress)
        except BaseException:
            # Ctrl-C, or whoever hears of the progress has failed.
            self.abort()
            raise

    def _call(
        self,
        method: str,
        params: BaseModel | None,
        reply: type[Reply],
        *,
        quiet_s: float = 0.0,
        on_progress: OnProgress = None,
    ) -> Reply:
        call_id = self._send(method, params)
        silence_s = self._silence_s + quiet_s
        while True:
            line = self._next_line(method, silence_s)
            message = self._decoded(line)
            if message.get("id") == call_id:
                if "error" in message:
                    raise self._refusal(method, message["error"])
                try:
                    return reply.model_validate(message.get("result"))
                except ValidationError as error:
                    raise self._died(f"sent a reply to {method} that doesn't fit: {error}") from error
            self._notice(message, on_progress)

    def _send(self, method: str, params: BaseModel | None) -> int:
        call_id, self._next_id = self._next_id, self._next_id + 1
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": call_id, "method": method}
        request["params"] = params.model_dump(mode="json", exclude_none=True) if params else {}
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        except (OSError, ValueError) as error:
            raise self._died(f"takes no more requests, {method} among them") from error
        return call_id

    def _notice(self, message: dict[str, Any], on_progress: OnProgress) -> None:
        try:
            if message.get("method") == "progress" and on_progress:
                on_progress(Progress.model_validate(message["params"]))
            elif message.get("method") == "log":
                log = Log.model_validate(message["params"])
                _log.log(_LEVELS[log.level], "%s", log.text)
        except (ValidationError, KeyError) as error:
            raise self._died(f"sent a notification that doesn't fit: {error}") from error

    def _decoded(self, line: bytes) -> dict[str, Any]:
        try:
            message = json.loads(line)
        except ValueError as error:
            raise self._died(f"wrote something else than JSON: {line[:200]!r}") from error
        if not isinstance(message, dict):
            raise self._died(f"wrote something else than a JSON object: {line[:200]!r}")
        return message

    # --- the process

    def _next_line(self, method: str, silence_s: float) -> bytes:
        """Read by the caller's own thread: another one would take its time from a core that measures."""
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], silence_s)
            if not ready:
                self._process.kill()
                raise self._died(f"said nothing for {silence_s:g} s during {method}")
            read = os.read(self._process.stdout.fileno(), 1 << 20)
            if not read:
                raise self._died(f"ended during {method}")
            self._unread += read
        line, self._unread = self._unread.split(b"\n", 1)
        return line

    def _died(self, what: str) -> EngineDiedError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        code = self._process.returncode
        ending = "" if code is None else f" (signal {-code})" if code < 0 else f" (exit code {code})"
        return EngineDiedError(f"natxy-engine {what}{ending}. {self._last_words()}")

    def _refusal(self, method: str, error: object) -> NatxyError:
        """An error reply, as the exception that its code stands for."""
        fields = error if isinstance(error, dict) else {}
        code, text = fields.get("code"), str(fields.get("message", error))
        if detail := fields.get("data"):
            text += f" ({detail if isinstance(detail, str) else json.dumps(detail)})"
        match code:
            case ErrorCode.UNREACHABLE:
                return DutError(text)
            case ErrorCode.RESOURCE if method != "ports.open":
                return TesterLimitError(f"the tester says: {text}")
            case ErrorCode.PORT | ErrorCode.RESOURCE:
                # DPDK tells its reasons to the log alone.
                return PlanError(f"{text}. {self._last_words()}")
        return NatxyError(f"natxy-engine refused {method}: {text}. This is an error in natxy; please report it.")

    def _last_words(self) -> str:
        with self._log_path.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode("utf-8", "replace").splitlines()
        last = ([line for line in lines if not line.startswith(_GRUMBLERS)] or lines)[-LAST_LINES:]
        said = "\n".join(f"  {line}" for line in last) or "  nothing"
        return f"The last it said (all of it is in {self._log_path}):\n{said}"
