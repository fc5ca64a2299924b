# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.engine.messages.results import Verdict
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.gateways.wire import WireConfig
from natxy.procedures.common.base import ProcedureResult
from natxy.results.dut_counts import DutCounts
from natxy.results.pcap import PcapWriter
from natxy.results.planned import planned_experiment
from natxy.results.reader import RunReader
from natxy.results.store import RunStore
from natxy.results.trials import Purpose, TrialKind, TrialRecord
from natxy.run.recorder import TrialRecorder
from natxy.search.outcome import Attempt, NeverPrepared, TesterLimitReached
from tests.support.sample_runs import SampleRun, result, settings, trial


@pytest.mark.parametrize(
    ("received", "forwards"), [({800: 5, 100: 0, 200: 5}, False), ({800: 0, 100: 1, 200: 0}, True), ({100: 0}, False)]
)
def test_a_gateway_must_forward_at_the_lowest_rate(tmp_path: Path, received: dict[int, int], *, forwards: bool) -> None:
    with closing(RunStore(tmp_path / "run.sqlite")) as store, closing(PcapWriter(tmp_path / "foreign.pcap")) as foreign:
        recorder = TrialRecorder("x", 1, 1, store, foreign, RunListener())
    for number, (rate, frames) in enumerate(received.items(), 1):
        told = result(rate, Verdict.FAIL)
        (stream,) = told.streams
        told = told.model_copy(update={"streams": [stream.model_copy(update={"sent": 10, "received": frames})]})
        recorder.attempt_started(Attempt(number, 1, rate))
        recorder.replayed(trial(told, rate_fps=rate, number=number))
    none_passed = ProcedureResult({}, lower_bound=None, upper_bound=100)
    if forwards:
        recorder.check_forwarding(none_passed)
        return
    with pytest.raises(DutError, match="none of 10 frames came through in traffic at 100 fps per direction"):
        recorder.check_forwarding(none_passed)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[TrialRecorder]:
    run = SampleRun(tmp_path)
    row = run.store.start_repetition(run.declare("x", title="X"), 1)
    with closing(run.store), closing(PcapWriter(tmp_path / "foreign.pcap")) as foreign:
        yield TrialRecorder("x", 1, row, run.store, foreign, RunListener())


def finished(
    verdict: Verdict, *, purpose: Purpose = Purpose.MEASURE, lost: bool = False, rate_fps: float = 100e3
) -> TrialRecord:
    kind = TrialKind.TRAFFIC if purpose == Purpose.MEASURE else TrialKind.PHASE1
    found = result(rate_fps, verdict)
    if lost:
        found = found.model_copy(
            update={"streams": [each.model_copy(update={"received": 0}) for each in found.streams]}
        )
    return trial(found, rate_fps=rate_fps, kind=kind, purpose=purpose)


@pytest.mark.parametrize(("invalid", "words"), [(3, "3 attempts, all invalid"), (2, "3 attempts, 2 invalid")])
def test_the_testers_limit_is_explained_by_the_last_invalid_trial(
    recorder: TrialRecorder, invalid: int, words: str
) -> None:
    recorder.finished(finished(Verdict.INVALID))
    recorder.finished(finished(Verdict.FAIL, purpose=Purpose.PREPARE))
    assert recorder.limit_reason(TesterLimitReached(100e3, 3, invalid)) == (
        f"tester limit reached in traffic at 100 kfps per direction: {words}; the last: the last frame left 1.3 ms "
        "late, 1 ms is allowed"
    )


def test_the_testers_limit_does_not_hide_that_the_gateway_failed_elsewhere(recorder: TrialRecorder) -> None:
    for rate_fps in (400e3, 200e3, 300e3):
        recorder.finished(finished(Verdict.FAIL, rate_fps=rate_fps))
    recorder.finished(finished(Verdict.INVALID))
    reason = recorder.limit_reason(TesterLimitReached(100e3, 3, 3))
    assert reason.startswith("tester limit reached in traffic at 100 kfps per direction: 3 attempts, all invalid; ")
    assert "; the gateway had failed in traffic at 200 kfps per direction: " in reason


def test_connections_that_were_missing_in_phase_2_are_told(recorder: TrialRecorder) -> None:
    assert recorder.missing_connections() == ""
    whole = finished(Verdict.PASS, purpose=Purpose.PREPARE)
    for lost in (2, 1):
        streams = [each.model_copy(update={"lost": lost}) for each in whole.result.streams[:1]]
        recorder.finished(replace(whole, result=whole.result.model_copy(update={"streams": streams})))
    assert recorder.missing_connections() == "phase 2 did without 2 connections that phase 1 lost"


@pytest.mark.parametrize(
    ("attempts", "unprepared", "words"),
    [(3, 3, "failed in 3 of 3 attempts: lower"), (3, 2, "failed in 2 of 3 attempts, the others were invalid: lower")],
)
def test_a_phase_1_that_always_failed_is_a_result_without_figures(
    recorder: TrialRecorder, attempts: int, unprepared: int, words: str
) -> None:
    experiment = planned_experiment(settings())
    recorder.finished(finished(Verdict.FAIL, purpose=Purpose.PREPARE))
    recorder.finished(finished(Verdict.FAIL, lost=True))
    none = recorder.without_connections(NeverPrepared(100e3, attempts, unprepared), experiment)
    assert none.figures == {"rate": None}
    assert none.remark.startswith(f"phase 1 at 100 kcps {words} `phase1_rate`")
    recorder.finished(finished(Verdict.FAIL, purpose=Purpose.PREPARE, lost=True))
    with pytest.raises(DutError, match="the gateway forwards nothing: none of 450,000 frames came through in phase 1"):
        recorder.without_connections(NeverPrepared(100e3, attempts, unprepared), experiment)


def test_a_trial_is_stored_before_it_counts(recorder: TrialRecorder, tmp_path: Path) -> None:
    recorder.attempt_started(Attempt(1, 1, 100e3))
    recorder.finished(finished(Verdict.FAIL, lost=True))
    [trial] = RunReader(tmp_path).run.all_trials
    assert (trial.trial.number, trial.trial.attempt, trial.trial.rate_fps) == (1, 1, 100e3)
    with pytest.raises(DutError, match="none of 450,000 frames"):
        recorder.check_forwarding(ProcedureResult({}, lower_bound=None, upper_bound=100e3))


def test_a_frame_of_any_attempt_at_the_lowest_rate_is_enough(recorder: TrialRecorder) -> None:
    for number, lost in ((1, False), (2, True)):
        recorder.attempt_started(Attempt(1, number, 100e3))
        recorder.finished(finished(Verdict.FAIL, lost=lost))
    recorder.check_forwarding(ProcedureResult({}, lower_bound=None, upper_bound=100e3))


@pytest.mark.parametrize(("lower", "upper"), [(None, None), (1.0, None), (1.0, 2.0)])
def test_a_search_that_passed_or_none_at_all_needs_no_check(
    recorder: TrialRecorder, lower: float | None, upper: float | None
) -> None:
    recorder.attempt_started(Attempt(1, 1, 100e3))
    recorder.finished(finished(Verdict.FAIL, lost=True))
    recorder.check_forwarding(ProcedureResult({}, lower_bound=lower, upper_bound=upper))


@pytest.mark.parametrize(
    "counters", [["received"], ["corrupt"], ["misrouted"], ["received", "corrupt"], ["received", "misrouted"]]
)
def test_a_frame_that_arrived_in_any_way_was_forwarded(recorder: TrialRecorder, counters: list[str]) -> None:
    trial = finished(Verdict.FAIL, lost=True)
    [stream] = trial.result.streams
    arrived = trial.result.model_copy(update={"streams": [stream.model_copy(update=dict.fromkeys(counters, 1))]})
    recorder.attempt_started(Attempt(1, 1, 100e3))
    recorder.finished(replace(trial, result=arrived))
    recorder.check_forwarding(ProcedureResult({}, lower_bound=None, upper_bound=100e3))


def test_a_search_without_a_rate_has_its_cause_and_one_with_a_rate_has_none(recorder: TrialRecorder) -> None:
    failed = finished(Verdict.FAIL)
    lost = sum(stream.lost for stream in failed.result.streams)
    counts = DutCounts(rose={"conntrack -S": {"chaintoolong": lost}}, buckets=64)
    recorder.finished(replace(failed, dut_counts=counts))
    experiment = planned_experiment(settings())
    none = ProcedureResult({}, lower_bound=None, upper_bound=100e3, remark="no rate passed")
    told = recorder.explained(none, experiment).remark
    assert told.startswith("no rate passed; netfilter refuses connections whose hash chain is too long")
    for passed in (replace(none, lower_bound=1.0), replace(none, upper_bound=None)):
        assert recorder.explained(passed, experiment) == passed
    loop = experiment.model_copy(update={"gateway": WireConfig()})
    assert recorder.explained(none, loop) == none


def test_a_phase_1_that_always_failed_has_its_cause(recorder: TrialRecorder) -> None:
    failed = finished(Verdict.FAIL, purpose=Purpose.PREPARE)
    lost = sum(stream.lost for stream in failed.result.streams)
    counts = DutCounts(rose={"conntrack -S": {"chaintoolong": lost}}, buckets=64)
    recorder.finished(replace(failed, dut_counts=counts))
    none = recorder.without_connections(NeverPrepared(100e3, 3, 3), planned_experiment(settings()))
    assert none.remark.startswith("phase 1 at 100 kcps failed in 3 of 3 attempts: netfilter refuses connections")
    assert "enlarge" not in none.remark
