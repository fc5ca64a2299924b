# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest

from natxy.causes.causes import explain
from natxy.causes.causes_test import experiment, record, stream
from natxy.causes.facts import Facts
from natxy.causes.periodic import period
from natxy.engine.messages.results import LostBurst
from natxy.results.trials import TrialRecord

SECONDS = 5


def trial(rate: float, *firsts: list[int], lost: int = 1) -> TrialRecord:
    """Returns a trial of as many streams as there are lists of the bursts' first frames."""
    streams = [
        stream(
            f"forward {n}", round(SECONDS * rate), lost * len(each), rate, (each[0] / rate, each[-1] / rate)
        ).model_copy(
            update={
                "lost_bursts": [
                    LostBurst(sequence=first, due_s=first / rate, frames=lost, lost=lost) for first in each[:64]
                ]
            }
        )
        for n, each in enumerate(firsts)
    ]
    return record(rate, *streams)


def every_s(rate: float, period_s: float, offset_s: float = 0.03) -> list[int]:
    return [round((offset_s + n * period_s) * rate) for n in range(int((SECONDS - offset_s) / period_s))]


@pytest.mark.parametrize("period_s", [0.02, 0.25, 0.8])
def test_a_gateway_that_stops_again_and_again(period_s: float) -> None:
    trials = [trial(rate, every_s(rate, period_s), every_s(rate, period_s), lost=31) for rate in (2000, 8000)]
    found = period(Facts(experiment(), trials))
    assert found
    assert found.timed
    assert found.length == pytest.approx(period_s, rel=0.02)
    text = explain(experiment(), trials)
    assert f"about 31 frames are lost every {period_s * 1000:g} ms: something stops the gateway again and again" in text


def test_now_and_then_a_burst_is_lacking() -> None:
    firsts = [each for n, each in enumerate(every_s(5000, 0.25)) if n not in (3, 9, 10)]
    assert period(Facts(experiment(), [trial(5000, firsts), trial(2000, every_s(2000, 0.25))]))


def test_every_nth_frame() -> None:
    trials = [trial(rate, [*range(7, round(rate), 102)]) for rate in (2000, 5000)]
    assert "every 102nd frame is lost: a rule picks these frames, or one of several queues" in explain(
        experiment(), trials
    )


@pytest.mark.parametrize(("n", "words"), [(3, "3rd"), (11, "11th"), (101, "101st"), (112, "112th"), (1003, "1,003rd")])
def test_ordinal_numbers(n: int, words: str) -> None:
    trials = [trial(rate, [*range(0, 20 * n, n)]) for rate in (2000, 5000)]
    found = period(Facts(experiment(), trials))
    assert found
    assert found.lost_what("frames") == f"every {words} frame is lost"


def test_a_limiter_loses_its_frames_as_regularly_and_otherwise_at_another_rate() -> None:
    """A gateway that forwards 10,000 of 10,010 frames a second loses one of them every 100 ms."""
    trials = [trial(10_010, [*range(0, 50_000, 1001)]), trial(10_100, [*range(0, 50_000, 101)])]
    assert period(Facts(experiment(), trials)) is None
    assert period(Facts(experiment(), trials[:1])) is None


def test_random_losses_have_no_period() -> None:
    drawn = random.Random(1)
    for _ in range(3000):
        trials = [trial(rate, sorted(drawn.sample(range(round(SECONDS * rate)), 8))) for rate in (2000, 5000)]
        assert period(Facts(experiment(), trials)) is None


def test_both_directions_have_the_period() -> None:
    drawn = random.Random(2)
    other = [sorted(drawn.sample(range(10_000), 12)) for _ in range(2)]
    trials = [trial(rate, every_s(rate, 0.25), one) for rate, one in zip((2000, 5000), other, strict=True)]
    assert period(Facts(experiment(), trials)) is None
