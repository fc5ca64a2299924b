# SPDX-License-Identifier: Apache-2.0
"""Judges by several attempts at a step whether the tester's pauses explain a loss.

After a pause the tester sends what was due meanwhile as a burst, and a burst that is longer than the gateway's queue
loses frames. So the engine calls a trial invalid if it lost no more frames than its bursts had. Two such trials may
contradict that together. If a burst of b frames was too long, one of 10 b frames loses at least 9 b of them, less what
the gateway forwards meanwhile. A loss is the gateway's if, in two attempts,

- the longest pauses differ tenfold,
- about the same number of frames is lost, and
- that is at most a quarter of what the longer burst would have lost.

A port that refused frames made no burst of them, so that an attempt with refused frames says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from natxy.engine.messages.results import Cause, TrialResult, Verdict
from natxy.plan.model.units import format_duration
from natxy.results.trials import TrialKind
from natxy.search.outcome import Attempt

_TIMES: Final = 10
_SAME: Final = 2
_SHARE: Final = 0.25


@dataclass
class PausedAttempts:
    """Remembers the attempts at the step that is being measured which lost frames and may owe it to pauses."""

    _step: tuple[int, float, TrialKind] | None = None
    _results: list[TrialResult] = field(default_factory=list)

    def weigh(self, attempt: Attempt, kind: TrialKind, result: TrialResult) -> TrialResult:
        """Returns the result, as a failure of the gateway if an earlier attempt shows that pauses do not explain it."""
        step = (attempt.step, attempt.rate, kind)
        if step != self._step:
            self._step, self._results = step, []
        if result.verdict != Verdict.INVALID or result.cause != Cause.PAUSED:
            return result
        other = next((earlier for earlier in self._results if _contradict(earlier, result)), None)
        self._results.append(result)
        if other is None:
            return result
        reason = (
            f"{_lost(result):,} frames lost with pauses of the tester of up to {_longest(result)}, and "
            f"{_lost(other):,} in another attempt with pauses of up to {_longest(other)}: the loss does not follow the "
            "pauses"
        )
        return result.model_copy(update={"verdict": Verdict.FAIL, "cause": Cause.LOSS, "reason": reason})


def _contradict(one: TrialResult, other: TrialResult) -> bool:
    short, long = sorted((one, other), key=_longest_s)
    if _longest_s(long) < _TIMES * _longest_s(short) or any(stream.pacing.refused for stream in long.streams):
        return False
    few, many = sorted((_lost(one), _lost(other)))
    if many > _SAME * few:
        return False
    # All streams may have paused together in the short attempt, and only one of them in the long one.
    short_burst = sum(stream.pacing.max_pause_ns / 1e9 * stream.intended_rate_fps for stream in short.streams)
    long_burst = max(stream.pacing.max_pause_ns / 1e9 * stream.intended_rate_fps for stream in long.streams)
    return _lost(long) <= _SHARE * (long_burst - short_burst)


def _longest_s(result: TrialResult) -> float:
    return max(stream.pacing.max_pause_ns for stream in result.streams) / 1e9


def _longest(result: TrialResult) -> str:
    return format_duration(_longest_s(result))


def _lost(result: TrialResult) -> int:
    return sum(stream.lost for stream in result.streams)
