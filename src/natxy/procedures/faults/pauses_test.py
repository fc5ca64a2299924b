# SPDX-License-Identifier: Apache-2.0
"""Tests which losses pauses of the tester explain over several attempts, with queues of known size."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.results import Cause, Pacing, StreamResult, TrialResult, Verdict
from natxy.procedures.faults.pauses import PausedAttempts
from natxy.results.trials import TrialKind
from natxy.search.outcome import Attempt

RATE_FPS = 20_000


def paused(lost: int, pause_s: float, *, refused: int = 0, cause: Cause = Cause.PAUSED) -> TrialResult:
    """Returns an invalid trial of one stream which lost frames and had a pause."""
    own: dict[str, Any] = {"max_pause_ns": round(pause_s * 1e9), "refused": refused}
    pacing = Pacing.model_construct(**own)
    counts: dict[str, Any] = {"planned": 40_000, "lost": lost, "intended_rate_fps": RATE_FPS, "pacing": pacing}
    stream = StreamResult.model_construct(**counts, name="forward")
    trial: dict[str, Any] = {"verdict": Verdict.INVALID, "cause": cause, "reason": "the tester paused"}
    return TrialResult.model_construct(**trial, streams=[stream])


def weighed(*results: TrialResult, step: int = 1, kind: TrialKind = TrialKind.TRAFFIC) -> list[Verdict]:
    attempts = PausedAttempts()
    return [attempts.weigh(Attempt(step, i, 5e3), kind, each).verdict for i, each in enumerate(results, 1)]


def test_a_loss_that_stays_the_same_through_pauses_of_every_length_is_the_gateways() -> None:
    attempts = PausedAttempts()
    attempts.weigh(Attempt(1, 1, 5e3), TrialKind.PHASE1, paused(49, 0.003))
    result = attempts.weigh(Attempt(1, 2, 5e3), TrialKind.PHASE1, paused(31, 0.35))
    assert (result.verdict, result.cause) == (Verdict.FAIL, Cause.LOSS)
    assert result.reason == (
        "31 frames lost with pauses of the tester of up to 350 ms, and 49 in another attempt with pauses of up to "
        "3 ms: the loss does not follow the pauses"
    )
    assert weighed(paused(31, 0.35), paused(49, 0.003))[1] == Verdict.FAIL
    assert weighed(paused(31, 0.35), paused(40, 0.1), paused(49, 0.003))[2] == Verdict.FAIL


def test_attempts_that_do_not_contradict_each_other_stay_invalid() -> None:
    invalid = [Verdict.INVALID] * 2
    assert weighed(paused(40, 0.02), paused(40, 0.1)) == invalid  # not tenfold
    assert weighed(paused(20, 0.003), paused(41, 0.35)) == invalid  # not the same loss
    assert weighed(paused(40, 0.003), paused(40, 0.35, refused=1)) == invalid
    assert weighed(paused(40, 0.003), paused(40, 0.35, cause=Cause.TESTER_DROPS)) == invalid
    # The longer burst had 220 frames.
    assert weighed(paused(50, 0.001), paused(60, 0.011)) == invalid
    assert weighed(paused(50, 0.001), paused(50, 0.011))[1] == Verdict.FAIL


def test_only_attempts_at_the_same_step_and_of_the_same_kind_are_compared() -> None:
    attempts = PausedAttempts()
    attempts.weigh(Attempt(1, 1, 5e3), TrialKind.PHASE1, paused(40, 0.003))
    for attempt, kind in ((Attempt(2, 1, 5e3), TrialKind.PHASE1), (Attempt(2, 2, 5e3), TrialKind.TRAFFIC)):
        assert attempts.weigh(attempt, kind, paused(40, 0.35)).verdict == Verdict.INVALID


@given(
    queue=st.integers(1, 2000),
    pauses=st.lists(st.floats(0.001, 1), min_size=2, max_size=5),
    faster=st.floats(1.5, 1000),
)
def test_a_queue_that_overflows_is_never_the_gateways(queue: int, pauses: list[float], faster: float) -> None:
    """`faster`: how much faster a burst arrives than the gateway forwards, of which the queue holds the rest."""
    results = []
    for pause_s in pauses:
        burst = pause_s * RATE_FPS
        lost = int(burst * (1 - 1 / faster) - queue)
        if lost > 0:
            results.append(paused(lost, pause_s))
    assert Verdict.FAIL not in weighed(*results)


@given(
    lost=st.integers(1, 100),
    short_s=st.floats(0.001, 0.01),
    times=st.floats(10.1, 100),
    further=st.lists(st.floats(0.001, 1), max_size=3),
)
def test_a_constant_loss_is_told_once_the_pauses_differ_enough(
    lost: int, short_s: float, times: float, further: list[float]
) -> None:
    long_s = short_s * times
    told = lost <= 0.25 * RATE_FPS * (long_s - short_s) * (1 - 1e-6)
    verdicts = weighed(*(paused(lost, pause_s) for pause_s in (short_s, *further, long_s)))
    assert not told or Verdict.FAIL in verdicts
