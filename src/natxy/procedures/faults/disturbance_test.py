# SPDX-License-Identifier: Apache-2.0
"""Tests which failures absences of the gateway's core explain, in virtual time with stalls of known size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import FrameFormat, StreamSpec, TrialRequest
from natxy.engine.messages.results import Cause, LostFrame, Silence, TrialResult, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.faults.disturbance import absence_text, disturbance
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.trials import Purpose, TrialRecord
from natxy.run.run import run_plan
from natxy.system.core_watch import Absence
from natxy.testbeds.simulated import SimulatedTestbed

RATE_FPS = 100_000
BUFFER = 1000
DRAIN_S = 0.1
COVERED_S = BUFFER / (2 * RATE_FPS)


def losing(lost: int, silence_s: float | None, **changed: Any) -> TrialResult:
    """Returns a failed trial of a second in two directions, each of which lost `lost` frames."""
    streams = [
        StreamSpec(name=side, source=side, frame=FrameFormat(size=64), rate_fps=RATE_FPS, frames=RATE_FPS)
        for side in Side
    ]
    passed = SimulatedEngine(SimulatedDut(SimulatedConfig())).run_trial(TrialRequest(streams=streams, seed=1))
    silence = None if silence_s is None else Silence(start_s=0.25, duration_s=silence_s)
    results = [
        stream.model_copy(update={"lost": lost, "longest_silence": silence} | changed) for stream in passed.streams
    ]
    return passed.model_copy(update={"verdict": Verdict.FAIL, "cause": Cause.LOSS, "streams": results})


def judged(result: TrialResult, absence: Absence | None, cores: int = 1, tolerated: float = 0.0) -> str:
    return disturbance(result, absence, cores=cores, buffer_frames=BUFFER, drain_s=DRAIN_S, tolerated=tolerated)


@given(away_s=st.floats(0, 0.5), lost=st.integers(1, RATE_FPS), silence_s=st.floats(0, 0.5))
def test_the_core_is_to_blame_if_its_absence_fills_the_queue_and_explains_the_loss(
    away_s: float, lost: int, silence_s: float
) -> None:
    longest_s = min(away_s, silence_s)
    # The queue keeps what it holds, once.
    few_lost = 2 * lost <= 1.01 * (2 * RATE_FPS * away_s - BUFFER) + 2
    assert bool(judged(losing(lost, silence_s), Absence(away_s))) == (longest_s > COVERED_S and few_lost)


@pytest.mark.parametrize(
    ("away_s", "due_s", "disturbed"),
    [
        (0.11, 0.995, True),
        (0.09, 0.995, False),  # shorter than the drain
        (0.11, 0.5, False),  # frames arrived after the first one that was lost
        (0.11, 0.994985, False),  # so did one more than were lost
    ],
)
def test_the_end_is_lost_if_the_core_is_away_for_longer_than_the_drain(
    away_s: float, due_s: float, *, disturbed: bool
) -> None:
    result = losing(500, None, first_lost=LostFrame(sequence=round(due_s * RATE_FPS), due_s=due_s))
    # The queue covers the absence at this rate.
    said = disturbance(result, Absence(away_s), cores=1, buffer_frames=10**6, drain_s=DRAIN_S)
    assert said == (
        "the gateway's core was taken away for 110 ms, and the last frames came too late" if disturbed else ""
    )


@pytest.mark.parametrize(("lost", "disturbed"), [(0, True), (500, False)])
def test_a_direction_that_lost_nothing_lost_nothing_but_its_end(lost: int, *, disturbed: bool) -> None:
    result = losing(500, None, first_lost=LostFrame(sequence=99_500, due_s=0.995))
    early = LostFrame(sequence=10, due_s=0.0001) if lost else None
    other = result.streams[1].model_copy(update={"lost": lost, "first_lost": early})
    result = result.model_copy(update={"streams": [result.streams[0], other]})
    said = disturbance(result, Absence(0.11), cores=1, buffer_frames=10**6, drain_s=DRAIN_S)
    assert bool(said) == disturbed


@pytest.mark.parametrize("counter", ["corrupt", "misrouted", "unsent"])
def test_a_stream_that_failed_in_another_way_lost_more_than_its_end(counter: str) -> None:
    end = LostFrame(sequence=99_500, due_s=0.995)
    result = losing(500, None, first_lost=end, **{counter: 1})
    assert disturbance(result, Absence(0.11), cores=1, buffer_frames=10**6, drain_s=DRAIN_S) == ""
    unknown = losing(500, None, first_lost=None)
    assert disturbance(unknown, Absence(0.11), cores=1, buffer_frames=10**6, drain_s=DRAIN_S) == ""


def test_more_frames_than_came_in_the_absence_were_lost_otherwise() -> None:
    # As behind a table that is full from there on.
    for lost, disturbed in ((2 * 11_000, True), (2 * 12_000, False)):
        first = LostFrame(sequence=100_000 - lost // 2, due_s=1 - lost / 2 / RATE_FPS)
        result = losing(lost // 2, None, first_lost=first)
        said = disturbance(result, Absence(0.11), cores=1, buffer_frames=1000, drain_s=DRAIN_S)
        assert bool(said) == disturbed


def test_an_absence_as_long_as_the_drain_is_long_enough_for_losses_only() -> None:
    result = losing(500, None, first_lost=LostFrame(sequence=99_500, due_s=0.995))
    for cause, disturbed in ((Cause.LOSS, True), (Cause.BACK_PRESSURE, False)):
        failed = result.model_copy(update={"cause": cause})
        said = disturbance(failed, Absence(DRAIN_S), cores=1, buffer_frames=10**6, drain_s=DRAIN_S)
        assert bool(said) == disturbed


def test_the_text_says_how_long_why_and_when() -> None:
    said = judged(losing(500, 0.0121), Absence(0.0123, 0.01, 0.0023))
    assert said == (
        "the gateway's core was taken away for 12.3 ms (10 ms steal, 2.3 ms behind other tasks); no frame arrived for "
        "12.1 ms from 250 ms on"
    )
    assert absence_text(Absence(0.004)) == "4 ms"
    assert absence_text(Absence(0.0, 0.0, 0.0, uncertain_s=0.01)) == "less than 10 ms"
    assert absence_text(Absence(0.004, uncertain_s=0.01)) == "4 ms"
    assert absence_text(Absence(0.0)) == "0 ms"
    assert absence_text(Absence(0.004, 0.0, 0.004)) == "4 ms (4 ms behind other tasks)"


def test_an_absence_explains_what_arrives_in_it_but_the_queue_and_a_frame_in_each_direction() -> None:
    # In 20 ms, 4000 frames arrive, of which the queue keeps 1000. A hundredth more may arrive in a burst.
    assert judged(losing(3032 // 2, 0.02), Absence(0.02))
    assert not judged(losing(3032 // 2 + 1, 0.02), Absence(0.02))


def test_what_linux_counts_in_ticks_may_have_been_longer() -> None:
    assert not judged(losing(700, 0.015), Absence(0.01))
    assert judged(losing(700, 0.015), Absence(0.01, uncertain_s=0.01))


def test_a_silence_is_told_only_if_both_directions_share_it() -> None:
    result = losing(100, 0.02)
    later = result.streams[1].model_copy(update={"longest_silence": Silence(start_s=0.26, duration_s=0.02)})
    apart = result.streams[1].model_copy(update={"longest_silence": Silence(start_s=0.7, duration_s=0.02)})
    texts = [
        judged(result.model_copy(update={"streams": [result.streams[0], other]}), Absence(0.02))
        for other in (later, apart)
    ]
    assert texts[0].endswith("no frame arrived for 10 ms from 260 ms on")
    assert texts[1] == "the gateway's core was taken away for 20 ms"


def test_absences_that_the_queue_covers_are_no_excuse() -> None:
    assert not judged(losing(100, 0.9 * COVERED_S), Absence(0.2))
    assert judged(losing(100, 1.1 * COVERED_S), Absence(0.2))
    assert not judged(losing(20_000, 1.1 * COVERED_S), Absence(0.2))


def test_what_is_not_lost_in_a_queue_is_no_disturbance() -> None:
    assert judged(losing(100, 0.02), Absence(0.02))
    assert not judged(losing(100, 0.02, corrupt=50), Absence(0.02))
    assert not judged(losing(100, 0.02, misrouted=50), Absence(0.02))


def test_tolerated_loss_needs_no_explanation() -> None:
    assert not judged(losing(2400, 0.02), Absence(0.02))
    assert judged(losing(2400, 0.02), Absence(0.02), tolerated=0.01)


def test_several_cores_share_the_frames_and_hide_each_others_silence() -> None:
    assert not judged(losing(100, 0.0), Absence(2.9 * COVERED_S), cores=3)
    assert judged(losing(100, 0.0), Absence(3.1 * COVERED_S), cores=3)


def test_unknown_is_not_disturbed_and_neither_is_a_trial_that_passed() -> None:
    assert not judged(losing(100, 0.02), None)
    passed = losing(0, 0.02).model_copy(update={"verdict": Verdict.PASS})
    assert not judged(passed, Absence(0.02))
    assert judged(losing(100, None), Absence(0.02))


def test_frames_that_waited_for_the_gateway_are_explained_by_its_absence() -> None:
    pacing = losing(0, 0.02).streams[0].pacing.model_copy(update={"overrun_ns": 15_000_000})
    waited = losing(0, 0.02, pacing=pacing).model_copy(update={"cause": Cause.BACK_PRESSURE})
    assert judged(waited, Absence(0.02))
    assert not judged(waited, Absence(0.012))


# The queue covers the shortest one, which delays frames all the same.
@pytest.mark.parametrize("backlog_s", [COVERED_S / 2, 0.015, 0.02])
def test_a_delay_is_explained_by_an_absence_as_long(backlog_s: float) -> None:
    longest = losing(0, 0.05, backlog_ns=round(backlog_s * 1e9)).streams[0]
    streams = [longest, longest.model_copy(update={"backlog_ns": 1_000_000})]
    delayed = losing(0, 0.05).model_copy(update={"cause": Cause.BACKLOG, "streams": streams})
    assert judged(delayed, Absence(backlog_s + 1e-4))
    assert not judged(delayed, Absence(backlog_s - 1e-4))


def test_frames_come_too_late_if_an_absence_outlasts_their_timeout() -> None:
    """The queue would cover an absence of 5 ms."""
    late = losing(100, 0.004, timed_out=100)
    timed = partial(disturbance, late, cores=1, buffer_frames=BUFFER, drain_s=DRAIN_S)
    assert timed(Absence(0.004), frame_timeout_s=0.002)
    assert not timed(Absence(0.004), frame_timeout_s=0.004)
    assert not timed(Absence(0.004))
    many = losing(250, 0.004, timed_out=250)
    assert not disturbance(many, Absence(0.004), cores=1, buffer_frames=BUFFER, drain_s=DRAIN_S, frame_timeout_s=0.002)


# --- whole experiments

SEARCH = {"min_rate": "1k", "max_rate": "400k", "error": 500}


def measure(
    folder: Path, experiment: dict[str, Any], stalls: dict[str, Any], max_invalid: int = 10, codes: Sequence[int] = (0,)
) -> ExperimentRecord:
    gateway = {"driver": "simulated", "forwarding_fps": 400_000, "stalls": stalls}
    common = {"name": "x", "gateway": gateway, "max_invalid": max_invalid}
    head = {"name": "p", "repeat": 4, "timing": "lab", "testbed": {"kind": "simulated"}}
    plan = resolve(Plan.model_validate(head | {"experiments": [common | experiment]}))
    assert run_plan(plan, folder, RunListener()) in codes
    return RunReader(folder).run.experiments[0]


def disturbed(record: ExperimentRecord) -> list[TrialRecord]:
    return [trial for _, _, trial in record.all_trials if trial.verdict == Verdict.DISTURBED]


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_stalls_that_are_watched_do_not_move_a_search(tmp_path: Path, kind: str) -> None:
    searched = {"procedure": "throughput", "search": SEARCH | {"kind": kind}}
    stalls = {"every": "2s", "duration": "12ms"}
    record = measure(tmp_path / "watched", searched, stalls)
    assert record.values == [pytest.approx(200_000, abs=502)] * 4
    again = disturbed(record)
    assert again
    assert all("the gateway's core was taken away for" in trial.reason for trial in again)
    assert all(trial.disturbance and trial.gateway_pause_s for trial in again)
    # What nobody explains may contradict so much that there is no result.
    codes = (0, DutError.exit_code)
    unknown = measure(tmp_path / "unwatched", searched, stalls | {"watched": False}, codes=codes)
    assert not disturbed(unknown)
    assert len(unknown.values) < 4 or min(unknown.values) < 199_000


def test_an_absence_that_is_only_recorded_excuses_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judging = SimulatedTestbed.watch
    monkeypatch.setattr(SimulatedTestbed, "watch", lambda testbed: replace(judging(testbed), buffer_frames=None))
    record = measure(
        tmp_path / "run", {"procedure": "throughput", "search": SEARCH}, {"every": "2s", "duration": "12ms"}
    )
    trials = [trial for _, _, trial in record.all_trials]
    assert any(trial.gateway_pause_s and trial.verdict == Verdict.FAIL for trial in trials)
    assert not any(trial.disturbance for trial in trials)


@pytest.mark.parametrize(
    "experiment",
    [
        {"procedure": "connection-rate", "connections": "20k", "search": SEARCH},
        {"procedure": "validated-connection-rate", "connections": "20k", "search": SEARCH},
    ],
)
def test_no_phase_is_decided_by_a_stall(tmp_path: Path, experiment: dict[str, Any]) -> None:
    record = measure(tmp_path / "run", experiment, {"every": "1s", "duration": "5ms"})
    assert disturbed(record)
    assert record.values == [pytest.approx(200_000, rel=0.01)] * 4


def test_a_phase_1_that_a_stall_spoils_is_repeated(tmp_path: Path) -> None:
    throughput = {
        "procedure": "throughput",
        "connections": "20k",
        "phase1_rate": "20k",
        "search": SEARCH | {"kind": "binary"},
    }
    record = measure(tmp_path / "run", throughput, {"every": "4s", "duration": "5ms"})
    assert Purpose.PREPARE in {trial.purpose for trial in disturbed(record)}
    assert record.values == [pytest.approx(200_000, abs=502)] * 4


def test_procedures_without_a_search_repeat_a_disturbed_trial(tmp_path: Path) -> None:
    latency = {"procedure": "latency", "rate": "100k"}
    record = measure(tmp_path / "run", latency, {"every": "1s", "duration": "5ms"})
    assert disturbed(record)
    assert {repetition.trials[-1].verdict for repetition in record.repetitions} == {Verdict.PASS}


def test_if_every_attempt_is_disturbed_the_failure_stands_and_is_marked(tmp_path: Path) -> None:
    searched = {"procedure": "throughput", "search": SEARCH | {"kind": "binary", "min_rate": "50k"}}
    record = measure(tmp_path / "run", searched, {"every": "20ms", "duration": "2ms"}, max_invalid=3)
    assert record.values == [0] * 4
    below = [trial for _, _, trial in record.all_trials if trial.rate_fps < 150_000]
    last = [trial for trial in below if trial.attempt == 3]
    assert last
    assert {trial.verdict for trial in last} == {Verdict.FAIL}
    assert all(trial.disturbance and "the failure of a last attempt stands" in trial.reason for trial in last)
    assert {trial.verdict for trial in below if trial.attempt < 3} == {Verdict.DISTURBED}


def test_an_overload_stays_a_failure_beside_a_stall(tmp_path: Path) -> None:
    overload = {"procedure": {"name": "frame-loss-rate", "maximum_rate": "400k"}}
    record = measure(tmp_path / "run", overload, {"every": "500ms", "duration": "5ms"})
    full_rate = [trial for _, _, trial in record.all_trials if trial.rate_fps == 400_000]
    assert {trial.verdict for trial in full_rate} == {Verdict.FAIL}
