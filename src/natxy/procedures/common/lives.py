# SPDX-License-Identifier: Apache-2.0
"""Trials in which each connection has further frames, a fixed time after the frame that opened it.

Connections are opened at a steady rate, so that at any moment some are opened while others are used or closed. Each
frame has its due time, whatever became of the frames before it: a loss says which frame of a connection was lost.
"""

from __future__ import annotations

from collections.abc import Callable

from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.streams import lives_request
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt


def live(
    repetition: Repetition, attempt: Attempt, changed: Callable[[TrialRequest], TrialRequest] = lambda request: request
) -> TrialResult:
    """Opens the experiment's connections at `attempt.rate`, all pairs of interfaces together, and has each live its
    life. Returns the trial, whose request `changed` may change."""
    experiment = repetition.experiment
    repetition.begin(attempt)

    def run(seed: int, on_progress: OnProgress) -> TrialResult:
        request = lives_request(experiment, attempt.rate, seed, *range(experiment.pair_count))
        return repetition.engine.run_trial(changed(request), on_progress)

    return repetition.trial(attempt, TrialKind.LIVES, Purpose.MEASURE, attempt.rate, run)
