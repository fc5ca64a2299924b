# SPDX-License-Identifier: Apache-2.0
"""Holds what a program has measured: phase 1, and the traffic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from natxy.engine.messages.results import TrialResult

RUN: Final = "NATXY_SIITPERF_RUN"
"""The variable that names the folder of a run, to which every trial is appended."""

PROCEDURE: Final = "NATXY_SIITPERF_PROCEDURE"
"""The variable that says what a script measures, where its calls are also those of another one."""

SERIES: Final = "NATXY_SIITPERF_NAME"
"""The variable that names what a script measures: experiments of another name are others."""


@dataclass(frozen=True)
class Phase:
    """A trial of the engine that has ended; `preliminary` is phase 1."""

    preliminary: bool
    rate_fps: float
    started_at: datetime
    result: TrialResult

    @property
    def began(self) -> str:
        return self.started_at.isoformat(timespec="milliseconds")
