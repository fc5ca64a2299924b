# SPDX-License-Identifier: Apache-2.0
"""The recorded trials of a repetition that was cut short, handed to its procedure again instead of being measured.

The unit is an attempt: its trials share what they did to the gateway, such as connections established. One that was
cut short between its trials is measured anew from its first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from natxy.engine.messages.results import TrialResult
from natxy.results.records import Purpose, TrialKind, TrialRecord
from natxy.search.outcome import Attempt


class AttemptCutShort(Exception):
    """The trial `first_id` and those after it cannot be used: what followed them is not recorded."""

    def __init__(self, first_id: int) -> None:
        super().__init__(f"trials from {first_id} on are of an attempt that was cut short")
        self.first_id = first_id


class Replay:
    """Without trials, everything is measured."""

    def __init__(self, trials: Sequence[TrialRecord] = ()) -> None:
        self._trials = deque(trials)
        self._first: TrialRecord | None = None

    def begin(self, attempt: Attempt) -> bool:
        """Whether this attempt is recorded; if not, nothing after it is either, else AttemptCutShort."""
        self._first = self._trials[0] if self._trials else None
        if self._first and (self._first.number, self._first.attempt) != (attempt.step, attempt.number):
            raise AttemptCutShort(self._first.id)
        return self._first is not None

    def result(self, attempt: Attempt, kind: TrialKind, purpose: Purpose, rate_fps: float) -> TrialResult | None:
        """None: it is to be measured. AttemptCutShort where it cannot be without its attempt's earlier trials."""
        if self._first is None:
            return None
        wanted = (attempt.step, attempt.number, attempt.rate, kind, purpose, rate_fps)
        if not self._trials or _described(self._trials[0]) != wanted:
            raise AttemptCutShort(self._first.id)
        return self._trials.popleft().result

    def waits(self, sleep: Callable[[float], None]) -> Callable[[float], None]:
        """Nothing has to rest after a trial that was not measured."""
        return lambda seconds: None if self._first else sleep(seconds)


def _described(trial: TrialRecord) -> tuple[int, int, float, TrialKind, Purpose, float]:
    return trial.number, trial.attempt, trial.step_rate, trial.kind, trial.purpose, trial.rate_fps
