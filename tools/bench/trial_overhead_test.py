# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from natxy.engine.messages.results import Verdict
from natxy.results.trials import TrialKind, TrialRecord
from tests.support.repetitions import experiment
from tests.support.sample_runs import result, trial
from tools.bench.trial_overhead import Passage, passages, rows

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def at(
    start_s: float,
    number: int,
    kind: TrialKind = TrialKind.TRAFFIC,
    attempt: int = 1,
    verdict: Verdict = Verdict.PASS,
) -> TrialRecord:
    """Returns a trial that began so many seconds after BEGIN and sent for 100 ms."""
    started_at = (BEGIN + timedelta(seconds=start_s)).isoformat()
    sent = trial(result(1e5, verdict).model_copy(update={"duration_s": 0.1}))
    return replace(sent, started_at=started_at, number=number, kind=kind, attempt=attempt)


def test_the_plans_waits_are_told_from_the_rest() -> None:
    trials = [
        at(0, 1, TrialKind.PHASE1),
        at(0.12, 1),
        at(0.3, 2, TrialKind.PHASE1),
        at(0.406, 2, TrialKind.VALIDATE),
    ]
    measured = experiment([1.0], trials={1: trials}, connections=1000)
    timing = measured.planned.timing
    found = list(passages(measured))
    assert [str(passage) for passage, _ in found] == [
        "phase1 → traffic", "traffic → phase1, 1,000 connections cleared", "phase1 → validate"
    ]  # fmt: skip
    assert [gap.waits_s for _, gap in found] == [timing.learning_pause, timing.settle, 0]
    assert [gap.lasting_s for _, gap in found] == pytest.approx([0.02, 0.08, 0.006])


def test_loss_and_further_attempts_do_not_count() -> None:
    trials = [
        at(0, 1, verdict=Verdict.FAIL),
        at(1, 2, verdict=Verdict.INVALID),
        at(2, 2, attempt=2),
        at(2.13, 3),
        at(4, 3, attempt=2),
    ]
    ((passage, gap),) = passages(experiment([1.0], trials={1: trials}))
    assert passage == Passage(0, TrialKind.TRAFFIC, TrialKind.TRAFFIC)
    assert gap.lasting_s == pytest.approx(0.03)


def test_the_table_has_a_row_for_each_kind_of_gap_and_the_shares_of_all_time() -> None:
    trials = [at(0, 1), at(0.12, 2), at(0.25, 3, verdict=Verdict.FAIL), at(0.5, 4)]
    measured = experiment([1.0], trials={1: trials})
    found = [*rows([measured], active_s=1.0)]
    assert found[2:-2] == ["| traffic → traffic | 2 | 25 ms | 20 ms | 5 ms |"]
    assert "The runs took 1 s in all. Of that, 40 % were traffic, up to 10 % the wait" in found[-1]
    assert "4 % the plan's waits of this table, and 1 % the rest of it" in found[-1]
