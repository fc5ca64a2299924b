# SPDX-License-Identifier: Apache-2.0
"""The interface of engines, which the real engine and the one in virtual time implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from natxy.engine.messages.ports import EngineInfo, NeighborsResolve, NeighborsResolved, PortsOpen, PortsOpened
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, TrialResult

OnProgress = Callable[[Progress], None] | None


class Engine(Protocol):
    """Runs trials. Calls return when the engine has answered, and raise EngineDiedError when it has died."""

    def info(self) -> EngineInfo:
        """Returns the engine's version, cores and clock."""

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        """Opens the tester's ports. PlanError when a port or its memory is not available."""

    def resolve_neighbors(self, request: NeighborsResolve) -> NeighborsResolved:
        """Resolves the DUT's MAC addresses. DutError when the DUT does not answer."""

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        """Runs one trial."""

    def abort(self) -> None:
        """Ends a running trial; no error when there is none."""

    def close(self) -> None:
        """Closes the ports and ends the engine within 2 s. A second call does nothing."""
