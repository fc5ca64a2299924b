# SPDX-License-Identifier: Apache-2.0
"""Holds what a program has measured, phase 1 and the traffic, and the variables that say what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from natxy.api import PlanError
from natxy.api.engine import TrialResult
from natxy.api.programs import plain
from natxy.api.terms import NAME_EXPECTED, NAME_PATTERN

RUN: Final = "NATXY_SIITPERF_RUN"
"""The variable that names the folder of a run, to which every trial is appended."""

PROCEDURE: Final = "NATXY_SIITPERF_PROCEDURE"
"""The variable that names the procedure, if a script's calls alone are ambiguous."""

SERIES: Final = "NATXY_SIITPERF_NAME"
"""The variable whose value groups calls into one experiment."""

LOSSES: Final = "frame-loss-rate"
"""The procedure whose script makes the same calls as a search for the throughput."""

LEFT_OUT: Final = "left-out"
"""Begins the titles and names of experiments whose calls were left out."""

_LONGEST_SERIES: Final = 64


def check_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns what to say of PROCEDURE and SERIES if nothing is recorded. Raises PlanError if they are malformed."""
    series, procedure = environment.get(SERIES), environment.get(PROCEDURE)
    if series and not (len(series) <= _LONGEST_SERIES and re.fullmatch(NAME_PATTERN, series)):
        text = f"expected at most {_LONGEST_SERIES} {NAME_EXPECTED}, such as nft-4-cores"
        raise PlanError(f"{SERIES} is {plain(series)!r}, {text}")
    if series == LEFT_OUT:
        raise PlanError(f"{SERIES} is {series!r}, which `natxy leave-out` gives to calls; choose another name")
    if procedure and procedure != LOSSES:
        raise PlanError(f"{PROCEDURE} is {plain(procedure)!r}, expected {LOSSES} for frame-loss.sh-scan, or nothing")
    without_effect = [] if environment.get(RUN) else [name for name in (SERIES, PROCEDURE) if environment.get(name)]
    return [f"{name} has no effect: {RUN}, the folder of a run, is missing" for name in without_effect]


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
