# SPDX-License-Identifier: Apache-2.0
"""Replays the stored trials of a repetition that was cut short, so that a resumed run does not repeat them.

Whole attempts are replayed, because the trials of an attempt depend on each other, for example on the connections that
they establish. An attempt that was cut short between its trials is measured again from its first trial.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from natxy.results.trials import Purpose, TrialKind, TrialRecord
from natxy.search.outcome import Attempt


class AttemptCutShort(Exception):
    """Reports that the attempt beginning with trial `first_id` is incomplete; it and later trials cannot be used."""

    def __init__(self, first_id: int) -> None:
        super().__init__(f"the attempt that begins with trial {first_id} was cut short")
        self.first_id = first_id


class Replay:
    """Hands out stored trials in their order; without trials, everything is measured."""

    def __init__(self, trials: Sequence[TrialRecord] = ()) -> None:
        self._trials = deque(trials)
        self._first: TrialRecord | None = None

    def begin(self, attempt: Attempt) -> bool:
        """Returns True if this attempt is stored. Raises AttemptCutShort if another attempt is stored instead."""
        self._first = self._trials[0] if self._trials else None
        if self._first and (self._first.number, self._first.attempt) != (attempt.step, attempt.number):
            raise AttemptCutShort(self._first.id)
        return self._first is not None

    def trial(self, attempt: Attempt, kind: TrialKind, purpose: Purpose, rate_fps: float) -> TrialRecord | None:
        """Returns the stored trial, or None if the attempt has to be measured.

        Raises AttemptCutShort if the attempt is stored without this trial.
        """
        if self._first is None:
            return None
        wanted = (attempt.step, attempt.number, attempt.rate, kind, purpose, rate_fps)
        if not self._trials or _described(self._trials[0]) != wanted:
            raise AttemptCutShort(self._first.id)
        return self._trials.popleft()

    def waits(self, sleep: Callable[[float], None]) -> Callable[[float], None]:
        """Returns a `sleep` that does not wait while trials are replayed."""
        return lambda seconds: None if self._first else sleep(seconds)


def _described(trial: TrialRecord) -> tuple[int, int, float, TrialKind, Purpose, float]:
    return trial.number, trial.attempt, trial.step_rate, trial.kind, trial.purpose, trial.rate_fps
