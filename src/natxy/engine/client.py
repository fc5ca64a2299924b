# SPDX-License-Identifier: Apache-2.0
"""The client of natxy-engine, which runs as a child process."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from natxy.engine.interface import OnProgress
from natxy.engine.messages.common import ErrorCode, Log
from natxy.engine.messages.ports import (
    EngineClock,
    EngineInfo,
    NeighborsResolve,
    NeighborsResolved,
    PortsOpen,
    PortsOpened,
)
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, TrialResult
from natxy.engine.pipe import RefusedError, RpcPipe
from natxy.errors import DutError, EngineDiedError, NatxyError, PlanError, TesterLimitError
from natxy.untrusted.values import problems

# A trial reports progress five times per second; opening the ports of slow NICs takes some silent seconds.
SILENCE_S: Final = 20.0

_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_log = logging.getLogger("natxy.engine")

Reply = TypeVar("Reply", bound=BaseModel)


class EngineClient:
    """Starts the engine by `argv` and sends it requests. Implements `natxy.engine.interface.Engine`.

    Its stderr goes to `log_path`, or into memory. An engine that is silent for `silence_s`, plus a trial's drain, is
    dead.
    """

    def __init__(self, argv: Sequence[str], log_path: Path | None = None, silence_s: float = SILENCE_S) -> None:
        self._pipe = RpcPipe(argv, log_path, name="natxy-engine", silence_s=silence_s, died=EngineDiedError)

    @property
    def pid(self) -> int:
        return self._pipe.pid

    def info(self) -> EngineInfo:
        return self._call("engine.info", None, EngineInfo)

    def read_clock(self) -> EngineClock:
        """Reads the engine's clock beside the kernel's."""
        return self._call("engine.clock", None, EngineClock)

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        return self._call("ports.open", request, PortsOpened)

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        return self._call("neighbors.resolve", request, NeighborsResolved, quiet_s=request.timeout_s)

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        try:
            return self._call("trial.run", request, TrialResult, quiet_s=request.drain_s, on_progress=on_progress)
        except BaseException:
            # Ctrl-C, or an error of the progress callback.
            self.abort()
            raise

    def abort(self) -> None:
        with contextlib.suppress(EngineDiedError):
            self._pipe.send("trial.abort")

    def close(self) -> None:
        self._pipe.close("trial.abort", "ports.close")

    def _call(
        self,
        method: str,
        params: BaseModel | None,
        reply: type[Reply],
        *,
        quiet_s: float = 0.0,
        on_progress: OnProgress = None,
    ) -> Reply:
        def on_notice(notification: str, params: Any) -> None:
            if notification == "progress" and on_progress:
                on_progress(Progress.model_validate(params))
            elif notification == "log":
                log = Log.model_validate(params)
                _log.log(_LEVELS[log.level], "%s", log.text)

        try:
            result = self._pipe.call(method, params, quiet_s=quiet_s, on_notice=on_notice)
        except RefusedError as refused:
            raise self._refusal(method, refused) from refused
        try:
            return reply.model_validate(result)
        except ValidationError as error:
            raise self._pipe.death(f"sent an invalid reply to {method}: {problems(error, '')}") from error

    def _refusal(self, method: str, refused: RefusedError) -> NatxyError:
        """Returns the exception for the code of an error reply."""
        match refused.code:
            case ErrorCode.UNREACHABLE:
                return DutError(refused.text)
            case ErrorCode.RESOURCE if method != "ports.open":
                return TesterLimitError(f"the tester reports: {refused.text}")
            case ErrorCode.PORT | ErrorCode.RESOURCE:
                # DPDK writes its reasons to the log only.
                return PlanError(f"{refused.text}. {self._pipe.last_words()}")
            case ErrorCode.WORKER_STUCK:
                return EngineDiedError(f"natxy-engine has ended: {refused.text}")
        return NatxyError(
            f"natxy-engine refused {method}: {refused.text}. This is an error in natxy; please report it."
        )
