# SPDX-License-Identifier: Apache-2.0
"""Turns the answers to thresholds into an exit code."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.errors import ThresholdMissedError
from natxy.results.analysis.gate import Answer, Judged, overall


def gate_code(judged: Sequence[Judged], undecided: int = 0) -> int:
    """Returns the exit code of the answers; `undecided` is the code if none is missed and one is not certain."""
    match overall(judged):
        case Answer.MISSED:
            return ThresholdMissedError.exit_code
        case Answer.UNDECIDED:
            return undecided
        case Answer.MET:
            return 0
