# SPDX-License-Identifier: Apache-2.0
"""Tests what a search makes of the trials of its steps, and what it says of its result."""

from __future__ import annotations

import contextlib
import itertools
from types import SimpleNamespace
from typing import Any, cast

import pytest

from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.model.units import Unit
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.contradictions import why_no_result
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import LINE_RATE_PASSED, Step, find_rate, search_rate, timed, valid_step
from natxy.search.contradictions import Contradicted
from natxy.search.outcome import Attempt, NeverPrepared, TesterLimitReached

BINARY: dict[str, Any] = {"kind": "binary", "min_rate": 1000, "max_rate": 9000, "error": 500}
MLR = BINARY | {"kind": "mlrsearch"}
CONNECTIONS: dict[str, Any] = {"gateway": "nftables", "connections": 1000, "phase1_rate": "1k"}


def repetition(search: dict[str, Any] = BINARY, testbed: str = "lab", **own: Any) -> Repetition:
    given = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": search} | own
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": testbed}, "experiments": [given]}
    [experiment] = resolve(Plan.model_validate(plan)).experiments
    return cast("Repetition", SimpleNamespace(experiment=experiment, ceiling_fps=None))


def trial(verdict: Verdict, lost: int = 0, reverse_lost: int = 0, *, phase1: bool = False) -> TrialResult:
    values: dict[str, Any] = {"verdict": verdict, "reason": f"it was {verdict}", "established": 10 if phase1 else None}
    return TrialResult.model_construct(**values, streams=[stream(1000, lost), stream(1000, reverse_lost)])


def stream(planned: int, lost: int) -> StreamResult:
    counts: dict[str, Any] = {"planned": planned, "lost": lost}
    return StreamResult.model_construct(**counts)


def up_to(truth: float, tried: list[Attempt] | None = None) -> Step:
    def step(attempt: Attempt) -> TrialResult:
        if tried is not None:
            tried.append(attempt)
        return trial(Verdict.PASS) if attempt.rate <= truth else trial(Verdict.FAIL, lost=100)

    return step


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_the_rate_is_the_highest_that_passes(search: dict[str, Any]) -> None:
    found, remark = find_rate(repetition(search), up_to(5200))
    assert found.lower_bound is not None
    assert found.upper_bound is not None
    assert found.upper_bound - 500 <= found.lower_bound <= 5200 < found.upper_bound
    assert remark == ""
    result = search_rate(repetition(search), up_to(5200))
    assert result.figures == {"rate": found.lower_bound}
    assert (result.lower_bound, result.upper_bound, result.remark) == (found.lower_bound, found.upper_bound, "")


def test_steps_are_numbered_after_those_of_an_earlier_search() -> None:
    tried: list[Attempt] = []
    found, _ = find_rate(repetition(), up_to(5200, tried), steps_before=7)
    assert [attempt.step for attempt in tried] == [*range(8, 8 + found.steps)]
    tried.clear()
    find_rate(repetition(), up_to(5200, tried))
    assert tried[0].step == 1


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_where_nothing_passes_the_last_trial_says_why(search: dict[str, Any]) -> None:
    _, remark = find_rate(repetition(search), up_to(0))
    assert remark == "no rate passed, not even the search's lowest: it was fail"


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_where_all_pass_the_rate_is_at_least_that(search: dict[str, Any]) -> None:
    found, remark = find_rate(repetition(search), up_to(1e9))
    assert (found.rate, found.upper_bound) == (9000, None)
    assert remark == "at least this: the search's highest rate passed"


@pytest.mark.parametrize(
    ("own", "bound", "said"),
    [
        ({}, 9000, LINE_RATE_PASSED),
        ({"search": BINARY | {"max_rate": 8000}}, None, "at least this: the search's highest rate passed"),
        # Connections per second are no frames per second.
        (
            {"gateway": "nftables", "procedure": "connection-rate", "connections": 1000},
            None,
            "at least this: the search's highest rate passed",
        ),
        # A loop measures the tester, whose links may be faster than their nominal rate.
        ({"gateway": "wire", "testbed": "loop"}, None, "at least this: the search's highest rate passed"),
    ],
)
def test_a_line_carries_no_more_than_its_theoretical_maximum(
    own: dict[str, Any], bound: float | None, said: str
) -> None:
    # 64 bytes and 20 of gap: 9000 frames.
    found, remark = find_rate(repetition(**own, line_rate=9000 * 84 * 8), up_to(1e9))
    assert found.upper_bound == (bound and pytest.approx(bound))
    assert remark == said


def sent_up_to(limit: float, truth: float) -> Step:
    return lambda attempt: trial(Verdict.INVALID) if attempt.rate > limit else up_to(truth)(attempt)


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_what_the_tester_could_not_send_is_said(search: dict[str, Any]) -> None:
    found, remark = find_rate(repetition(search), sent_up_to(7000, 1e9))
    assert found.upper_bound is None
    assert remark.startswith("at least this: the tester could not send 7.")
    assert remark.endswith("kfps per direction")
    found, remark = find_rate(repetition(search), sent_up_to(7000, 2500))
    assert found.rate == pytest.approx(2250, abs=250)
    if search == MLR:
        assert remark == "the tester could not send 9 kfps per direction, and the search continued at lower rates"


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_through_a_loop_a_rate_that_is_never_sent_has_failed(search: dict[str, Any]) -> None:
    found, _ = find_rate(repetition(search, "loop", gateway="wire"), sent_up_to(5200, 1e9))
    assert found.upper_bound is not None
    assert found.upper_bound - 500 <= found.rate <= 5200 < found.upper_bound
    if search == BINARY:
        assert found.unsent_rate is None


def test_through_a_loop_a_rate_that_is_sent_once_was_not_beyond_the_tester() -> None:
    tried: list[Attempt] = []

    def second_try(attempt: Attempt) -> TrialResult | None:
        tried.append(attempt)
        return trial(Verdict.INVALID) if attempt.number < 3 else up_to(5200)(attempt)

    found, _ = find_rate(repetition(BINARY, "loop", gateway="wire"), second_try)
    assert found == find_rate(repetition(BINARY, "loop", gateway="wire"), up_to(5200))[0]
    assert {attempt.number for attempt in tried} == {1, 2, 3}


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_a_phase_1_that_fails_is_no_result(search: dict[str, Any]) -> None:
    with pytest.raises(NeverPrepared, match="3 of 3"):
        find_rate(repetition(search, **CONNECTIONS), lambda _: None)


@pytest.mark.parametrize("search", [BINARY, MLR])
@pytest.mark.parametrize(("phase1", "rates"), [(True, 1), (False, 2)])
def test_a_tester_that_fails_in_phase_1_is_not_asked_for_lower_rates(
    search: dict[str, Any], *, phase1: bool, rates: int
) -> None:
    tried: set[float] = set()

    def never(attempt: Attempt) -> TrialResult:
        tried.add(attempt.rate)
        return trial(Verdict.INVALID, phase1=phase1)

    with pytest.raises(TesterLimitReached) as caught:
        find_rate(repetition(search, **CONNECTIONS), never)
    assert caught.value.at_rate != phase1
    assert len(tried) == 1 if phase1 else len(tried) >= rates


def test_the_phase_1_of_a_connection_rate_is_the_measurement() -> None:
    own: dict[str, Any] = {"gateway": "nftables", "procedure": "connection-rate", "connections": 1000}
    with pytest.raises(TesterLimitReached) as caught:
        find_rate(repetition(**own), lambda _: trial(Verdict.INVALID, phase1=True))
    assert caught.value.at_rate


@pytest.mark.parametrize("losses", [(0, 250), (250, 0)])
def test_the_direction_that_lost_most_decides_on_the_next_rate(losses: tuple[int, int]) -> None:
    tried: list[float] = []

    def lossy(attempt: Attempt) -> TrialResult:
        tried.append(attempt.rate)
        return trial(Verdict.PASS) if attempt.rate <= 6000 else trial(Verdict.FAIL, *losses)

    find_rate(repetition(MLR), lossy)
    # Three quarters of the highest rate arrived in the worse direction.
    assert tried[1] == pytest.approx(9000 * 0.75, rel=0.1)


def test_background_streams_are_compared_by_their_share_of_lost_frames() -> None:
    tried: list[float] = []

    def lossy(attempt: Attempt) -> TrialResult:
        tried.append(attempt.rate)
        found = trial(Verdict.PASS if attempt.rate <= 4000 else Verdict.FAIL)
        uneven = [stream(10_000, 50), stream(100, 50)]
        return found if found.verdict == Verdict.PASS else found.model_copy(update={"streams": uneven})

    find_rate(repetition(MLR), lossy)
    assert tried[1] == pytest.approx(4500, rel=0.1)


def test_a_rate_that_passes_with_some_loss_has_a_conditional_throughput() -> None:
    def slightly_lossy(attempt: Attempt) -> TrialResult:
        return trial(Verdict.FAIL, lost=500) if attempt.rate > 6000 else trial(Verdict.PASS, lost=5)

    found, remark = find_rate(repetition(MLR, loss_tolerance="1%"), slightly_lossy)
    assert found.conditional_rate == pytest.approx(0.995 * found.rate)
    assert remark == f"conditional throughput {found.conditional_rate:.6g} per second"


def dying(after: int, truth: float = 5200) -> Step:
    """Returns the step of a gateway that loses everything after so many trials."""
    numbers = itertools.count(1)
    return lambda attempt: up_to(truth)(attempt) if next(numbers) <= after else trial(Verdict.FAIL, 1000, 1000)


@pytest.mark.parametrize("search", [BINARY, MLR])
def test_a_gateway_that_dies_gives_no_rate_but_the_reason(search: dict[str, Any]) -> None:
    with pytest.raises(Contradicted) as contradicted:
        find_rate(repetition(search), dying(after=2))
    assert why_no_result(contradicted.value, Unit.FPS).startswith("trials contradict each other: ")


def test_the_reason_names_both_trials_in_their_order() -> None:
    with pytest.raises(Contradicted) as contradicted:
        find_rate(repetition(), dying(after=1))
    assert why_no_result(contradicted.value, Unit.FPS) == (
        "trials contradict each other: 5 kfps per direction passed, and when it was tried again lost 100 %; the "
        "gateway did not stay as it was, so that there is no result: look whether it hangs, was restarted, was "
        "still learning, or keeps something of earlier trials"
    )
    with pytest.raises(Contradicted) as contradicted:
        find_rate(repetition(), lambda attempt: trial(Verdict.FAIL, round(1000 - attempt.rate / 10)))
    assert ": 5 kfps per direction lost 50 %, and 1 kfps per direction, tried later, lost 90 %; " in why_no_result(
        contradicted.value, Unit.FPS
    )


ROBUST = MLR | {"goal": {"trials": 5, "exceed_ratio": 0.5}}
RATE: dict[str, Any] = {"procedure": "connection-rate", "connections": 10_000}


def late(search: dict[str, Any], counted: int | None = None, **own: Any) -> tuple[Repetition, Step]:
    """Returns a repetition whose first trial loses 82 % at the highest rate, where all later ones pass."""
    made = repetition(search, **own)
    gateway = SimpleNamespace(count=lambda: counted)
    given: Any = SimpleNamespace(
        experiment=made.experiment, ceiling_fps=None, gateway=lambda: contextlib.nullcontext(gateway)
    )
    numbers = itertools.count(1)
    return given, lambda _: trial(Verdict.PASS) if next(numbers) > 1 else trial(Verdict.FAIL, lost=820)


def test_without_connections_a_rate_that_passes_later_has_a_remark() -> None:
    found, remark = find_rate(*late(ROBUST))
    assert found.rate == 9000
    assert remark == (
        "at least this: the search's highest rate passed; 9 kfps per direction lost 82 %, and when it was tried again "
        "passed, and passed once more at the end"
    )


@pytest.mark.parametrize(
    ("counted", "why"),
    [
        (
            None,
            "; nothing counts the gateway's connections, so that those of earlier trials may be why: give it a `count`",
        ),
        (
            0,
            ", and then the gateway's table is said to hold 0 of 10,000 connections: check its `count` and its `clear`",
        ),
        (9999, ", and then the gateway's table is said to hold 9,999 of 10,000 connections: check "),
        (10_000, ""),
    ],
)
def test_connections_of_earlier_trials_must_not_be_why_a_rate_passes_later(counted: int | None, why: str) -> None:
    given, step = late(ROBUST, counted, gateway="nftables", **RATE)
    if not why:
        assert find_rate(given, step)[0].rate == 9000
        return
    with pytest.raises(Contradicted) as contradicted:
        find_rate(given, step)
    assert f"9 kcps lost 82 %, and when it was tried again passed{why}" in why_no_result(contradicted.value, Unit.CPS)


def test_connections_have_no_directions() -> None:
    own: dict[str, Any] = {"gateway": "nftables", "procedure": "connection-rate", "connections": 1000}
    _, remark = find_rate(repetition(**own), sent_up_to(7000, 1e9))
    assert remark.startswith("at least this: the tester could not send 7.")
    assert remark.endswith(" kcps")


@pytest.mark.parametrize(
    ("verdicts", "decides"),
    [
        ("pass", 0),
        ("fail", 0),
        ("invalid pass", 1),
        ("disturbed fail", 1),
        ("disturbed invalid invalid", 0),
        ("invalid disturbed disturbed", 2),
    ],
)
def test_a_single_step_has_the_trial_that_decides(verdicts: str, decides: int) -> None:
    trials = [trial(Verdict(verdict)) for verdict in verdicts.split()]
    tried: list[Attempt] = []

    def step(attempt: Attempt) -> TrialResult:
        tried.append(attempt)
        return trials[len(tried) - 1]

    assert valid_step(repetition(), 4, 5000, step) is trials[decides]
    assert tried == [Attempt(4, number, 5000) for number in range(1, len(trials) + 1)]


def test_a_single_step_that_nothing_decides_is_no_result() -> None:
    with pytest.raises(TesterLimitReached, match="3 of 3 attempts at 5000"):
        valid_step(repetition(), 1, 5000, lambda _: trial(Verdict.INVALID))
    with pytest.raises(NeverPrepared, match="3 of 3 attempts at 5000"):
        valid_step(repetition(), 1, 5000, lambda _: None)


def test_a_search_may_decide_on_the_length_of_a_trial() -> None:
    experiment = repetition().experiment
    assert timed(experiment, Attempt(1, 1, 5000)) is experiment
    longer = timed(experiment, Attempt(1, 1, 5000, duration_s=7.5))
    assert (longer.timing.trial, longer.traffic_s) == (7.5, 7.5)
    assert longer.timing.drain == experiment.timing.drain
