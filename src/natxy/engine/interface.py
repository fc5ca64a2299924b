# SPDX-License-Identifier: Apache-2.0
"""What a procedure needs of an engine: the real one, or the one in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from natxy.engine.messages.ports import EngineInfo, NeighborsResolve, NeighborsResolved, PortsOpen, PortsOpened
from natxy.engine.messages.requests import EstablishRequest, TrialRequest, ValidateRequest
from natxy.engine.messages.results import Progress, TrialResult

OnProgress = Callable[[Progress], None] | None


class Engine(Protocol):
    """Calls return when the engine has answered. EngineDiedError from any of them when it cannot any more."""

    def info(self) -> EngineInfo: ...

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        """PlanError when a port or the memory for it is not to be had."""
        ...

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        """DutError when the DUT doesn't answer."""
        ...

    def establish(self, request: EstablishRequest, on_progress: OnProgress = None) -> TrialResult:
        """Phase 1. Starts a new state table."""
        ...

    def validate(self, request: ValidateRequest, on_progress: OnProgress = None) -> TrialResult: ...

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult: ...

    def abort(self) -> None:
        """Ends a trial that is under way; harmless when there is none."""
        ...

    def close(self) -> None:
        """Closes the ports and ends the engine, within 2 s. Can be called twice."""
        ...
