# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from natxy.procedures.common.replay import AttemptCutShort, Replay
from natxy.results.trials import Purpose, TrialKind, TrialRecord
from natxy.search.outcome import Attempt


def stored(number: int, step: int, attempt: int, kind: TrialKind = TrialKind.TRAFFIC) -> TrialRecord:
    """Returns the stored trial `number`, whose result is a text with that number."""
    trial = SimpleNamespace(
        id=number, number=step, attempt=attempt, step_rate=1000.0, kind=kind, purpose=Purpose.MEASURE, rate_fps=500.0,
        result=f"result {number}",
    )  # fmt: skip
    return cast("TrialRecord", trial)


def result(replay: Replay, attempt: Attempt, kind: TrialKind = TrialKind.TRAFFIC) -> object:
    trial = replay.trial(attempt, kind, Purpose.MEASURE, 500.0)
    return trial.result if trial else None


FIRST, AGAIN, SECOND = Attempt(1, 1, 1000.0), Attempt(1, 2, 1000.0), Attempt(2, 1, 1000.0)


def test_stored_trials_are_handed_out_in_their_order_and_then_measured() -> None:
    replay = Replay([stored(7, 1, 1, TrialKind.PHASE1), stored(8, 1, 1), stored(9, 1, 2)])
    slept: list[float] = []
    sleep = replay.waits(slept.append)
    assert replay.begin(FIRST)
    assert result(replay, FIRST, TrialKind.PHASE1) == "result 7"
    assert result(replay, FIRST) == "result 8"
    sleep(1.0)
    assert replay.begin(AGAIN)
    assert result(replay, AGAIN) == "result 9"
    sleep(2.0)
    assert slept == []
    assert not replay.begin(SECOND)
    assert result(replay, SECOND) is None
    sleep(3.0)
    assert slept == [3.0]


@pytest.mark.parametrize("attempt", [AGAIN, SECOND])
def test_another_attempt_than_the_stored_one_was_cut_short(attempt: Attempt) -> None:
    replay = Replay([stored(7, 1, 1), stored(8, 1, 1)])
    with pytest.raises(AttemptCutShort, match="begins with trial 7 was cut short") as caught:
        replay.begin(attempt)
    assert caught.value.first_id == 7


def test_an_attempt_that_lacks_a_trial_was_cut_short() -> None:
    replay = Replay([stored(7, 1, 1, TrialKind.PHASE1)])
    assert replay.begin(FIRST)
    assert result(replay, FIRST, TrialKind.PHASE1) == "result 7"
    with pytest.raises(AttemptCutShort) as caught:
        result(replay, FIRST)
    assert caught.value.first_id == 7


def test_an_attempt_with_another_trial_was_cut_short() -> None:
    replay = Replay([stored(7, 1, 1, TrialKind.PHASE1), stored(8, 1, 1, TrialKind.PHASE1)])
    assert replay.begin(FIRST)
    assert result(replay, FIRST, TrialKind.PHASE1) == "result 7"
    with pytest.raises(AttemptCutShort) as caught:
        result(replay, FIRST)
    assert caught.value.first_id == 7
