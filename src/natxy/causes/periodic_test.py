# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from natxy.causes.causes import explain
from natxy.causes.facts import Facts
from natxy.causes.periodic import period
from natxy.engine.messages.results import LostBurst
from natxy.results.trials import TrialRecord
from tests.support.failed_trials import experiment, record, stream

SECONDS = 5


def trial(rate: float, *firsts: Sequence[int], lost: int = 1, stride: int | None = None) -> TrialRecord:
    """Returns a trial whose streams, forward and reverse, have bursts that begin with these frames."""
    streams = []
    for name, each in zip(("forward", "reverse"), firsts, strict=False):
        ends = (each[0] / rate, each[-1] / rate) if each else None
        bursts = [LostBurst(sequence=first, due_s=first / rate, frames=lost, lost=lost) for first in each[:64]]
        found = stream(name, round(SECONDS * rate), lost * len(each), rate, ends)
        streams.append(found.model_copy(update={"lost_bursts": bursts, "lost_stride": stride if each else None}))
    return record(rate, *streams)


def every_s(rate: float, period_s: float, offset_s: float = 0.03) -> list[int]:
    return [round((offset_s + n * period_s) * rate) for n in range(int((SECONDS - offset_s) / period_s))]


def every_nth(rate: float, n: int, *, both: bool = False) -> TrialRecord:
    firsts = range(7, round(SECONDS * rate), n)
    return trial(rate, firsts, firsts if both else [], stride=n)


def limited(rate: float, limit: float, lump: int = 1) -> TrialRecord:
    """Returns a trial of a gateway that forwards `limit` frames a second and loses the others, in lumps."""
    distance = rate / (rate - limit) * lump
    firsts = [round(n * distance) for n in range(1, int(SECONDS * rate / distance))]
    steps = {later - earlier for earlier, later in pairwise(firsts)}
    return trial(rate, firsts, lost=lump, stride=steps.pop() if lump == len(steps) == 1 else None)


@pytest.mark.parametrize("period_s", [0.02, 0.25, 0.8])
def test_a_gateway_that_stops_again_and_again(period_s: float) -> None:
    trials = [trial(rate, every_s(rate, period_s), every_s(rate, period_s), lost=31) for rate in (2000, 8000)]
    found = period(Facts(experiment(), trials))
    assert found
    assert found.timed
    assert found.length == pytest.approx(period_s, rel=0.02)
    text = explain(experiment(), trials)
    assert f"about 62 frames are lost every {period_s * 1000:g} ms: something stops the gateway again and again" in text


def test_a_direction_alone_is_named() -> None:
    trials = [trial(rate, every_s(rate, 0.25), [], lost=31) for rate in (2000, 8000)]
    assert "about 31 frames are lost every 250 ms in the direction forward: " in explain(experiment(), trials)


def test_now_and_then_a_burst_is_lacking() -> None:
    firsts = [each for n, each in enumerate(every_s(5000, 0.25)) if n not in (3, 9, 10)]
    assert period(Facts(experiment(), [trial(5000, firsts), trial(2000, every_s(2000, 0.25))]))


def test_every_nth_frame() -> None:
    trials = [every_nth(rate, 102, both=True) for rate in (2000, 5000)]
    assert "every 102nd frame is lost: a rule picks these frames, or one of several queues" in explain(
        experiment(), trials
    )


@pytest.mark.parametrize(("n", "words"), [(3, "3rd"), (11, "11th"), (101, "101st"), (112, "112th"), (1003, "1,003rd")])
def test_ordinal_numbers(n: int, words: str) -> None:
    facts = Facts(experiment(), [every_nth(rate, n, both=True) for rate in (2000, 5000)])
    found = period(facts)
    assert found
    assert found.lost_what(facts) == f"every {words} frame is lost"


@pytest.mark.parametrize("other", [104, 51])
def test_numbers_of_frames_are_equal_or_not_the_same(other: int) -> None:
    assert period(Facts(experiment(), [every_nth(2000, 100), every_nth(5000, other)])) is None


@pytest.mark.parametrize("rates", [(1000,), (1000, 1001), (1000, 1010, 1030), (1000, 2000, 4000), (961, 962, 1924)])
@pytest.mark.parametrize("lump", [1, 7])
def test_a_gateway_that_is_too_slow_loses_its_frames_as_regularly(rates: Sequence[float], lump: int) -> None:
    assert period(Facts(experiment(), [limited(rate, 960, lump) for rate in rates])) is None


def test_bursts_of_traffic_are_periodic_themselves() -> None:
    own = experiment(procedure={"name": "burst", "frames": 64})
    trials = [trial(rate, every_s(rate, 0.05), lost=3) for rate in (2000, 5000)]
    assert period(Facts(experiment(), trials))
    assert period(Facts(own, trials)) is None


def test_random_losses_have_no_period() -> None:
    drawn = random.Random(1)
    for _ in range(2000):
        trials = [trial(rate, sorted(drawn.sample(range(round(SECONDS * rate)), 8))) for rate in (2000, 5000)]
        assert period(Facts(experiment(), trials)) is None


def test_both_directions_have_the_period() -> None:
    drawn = random.Random(2)
    other = [sorted(drawn.sample(range(10_000), 12)) for _ in range(2)]
    trials = [trial(rate, every_s(rate, 0.25), one) for rate, one in zip((2000, 5000), other, strict=True)]
    assert period(Facts(experiment(), trials)) is None


def test_at_another_rate_fewer_bursts_are_enough() -> None:
    """Short trials at high rates meet few stops."""
    few = every_s(5000, 0.3)[:4]
    assert period(Facts(experiment(), [trial(2000, every_s(2000, 0.3)), trial(5000, few)]))
    assert period(Facts(experiment(), [trial(2000, every_s(2000, 0.3)[:5]), trial(5000, few)])) is None
    assert period(Facts(experiment(), [trial(2000, every_s(2000, 0.3)), trial(5000, few[:2])])) is None
    # The gateway stops as often at each rate, and a short trial may meet a smaller share of the stops.
    short = trial(5000, few, lost=2)
    text = explain(experiment(), [trial(2000, every_s(2000, 0.3), lost=99), short])
    assert text.startswith("about 99 frames are lost every 300 ms: something stops the gateway")
