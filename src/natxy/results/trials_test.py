# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from natxy.engine.messages.results import Verdict
from natxy.results.trials import Purpose, TrialKind, TrialRecord, step_of
from natxy.search.outcome import Outcome
from tests.support.sample_runs import result

SETTING: dict[str, Any] = {
    "number": 3,
    "attempt": 2,
    "kind": TrialKind.TRAFFIC,
    "purpose": Purpose.MEASURE,
    "step_rate": 1000.0,
    "rate_fps": 500.0,
    "started_at": "2026-01-01T12:00:00+00:00",
}


def record(verdict: Verdict, purpose: Purpose = Purpose.MEASURE) -> TrialRecord:
    return TrialRecord.of(result(1000, verdict, directions=2), **SETTING | {"purpose": purpose})


def test_a_record_adds_up_the_counts_of_streams_and_ports() -> None:
    found = result(1000, Verdict.FAIL, directions=2, corrupt=1)
    drops = {"missed": 1, "no_buffer": 20, "kernel_drops": 300}
    ports = [found.ports[0].model_copy(update=drops), found.ports[1].model_copy(update={"missed": 4000})]
    of = TrialRecord.of(found.model_copy(update={"ports": ports, "stale": 7}), **SETTING)
    assert of.id == 0
    assert (of.planned, of.lost, of.corrupt, of.received) == (9000, 74, 2, 8926)
    assert of.counts == {
        "planned": 9000, "sent": 9000, "unsent": 0, "received": 8926, "lost": 74, "duplicate": 0, "reordered": 0,
        "corrupt": 2, "misrouted": 0, "stale": 7, "tester_drops": 4321,
    }  # fmt: skip


def test_a_count_that_a_stream_does_not_know_is_unknown() -> None:
    forward, reverse = result(1000, Verdict.PASS, directions=2).streams
    unknown = result(1000, Verdict.PASS).model_copy(
        update={"streams": [forward, reverse.model_copy(update={"reordered": None})]}
    )
    found = TrialRecord.of(unknown, **SETTING)
    assert found.reordered is found.counts["reordered"] is None
    assert found.planned == forward.planned + reverse.planned


@pytest.mark.parametrize(
    ("verdict", "purpose", "failed_to_prepare", "undecided", "outcome"),
    [
        (Verdict.PASS, Purpose.MEASURE, False, False, Outcome.PASS),
        (Verdict.FAIL, Purpose.MEASURE, False, False, Outcome.FAIL),
        (Verdict.INVALID, Purpose.MEASURE, False, True, Outcome.INVALID),
        (Verdict.PASS, Purpose.PREPARE, False, False, Outcome.PASS),
        (Verdict.FAIL, Purpose.PREPARE, True, True, Outcome.UNPREPARED),
        (Verdict.INVALID, Purpose.PREPARE, False, True, Outcome.INVALID),
    ],
)
def test_the_last_trial_of_a_step_decides(
    verdict: Verdict, purpose: Purpose, *, failed_to_prepare: bool, undecided: bool, outcome: Outcome
) -> None:
    last = record(verdict, purpose)
    assert (last.failed_to_prepare, last.undecided) == (failed_to_prepare, undecided)
    step = step_of(3, 2, [replace(record(Verdict.PASS), step_rate=1.0), last])
    assert (step.outcome, step.rate, step.reason, len(step.trials)) == (outcome, 1000, last.reason, 2)
    assert replace(last, verdict=Verdict.DISTURBED).undecided


def test_the_pause_of_the_tester_is_the_longest_or_the_sum_of_many() -> None:
    found = record(Verdict.PASS)
    assert found.tester_pause_s == 70e-6
    stream = found.result.streams[0]
    many = stream.model_copy(update={"pacing": stream.pacing.model_copy(update={"pauses_ns": 3_000_000_000})})
    streams = [many, found.result.streams[1]]
    assert replace(found, result=found.result.model_copy(update={"streams": streams})).tester_pause_s == 3
    assert replace(found, result=found.result.model_copy(update={"streams": []})).tester_pause_s == 0
