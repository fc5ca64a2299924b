# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.engine.messages.results import Cause, Verdict
from natxy.report.words.corruption import sentences
from natxy.results.analysis.wide_intervals import Corrupted, wide_interval
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.trials import Purpose, TrialRecord
from tests.support.repetitions import experiment
from tests.support.sample_runs import SampleRun, result, trial

PASSED = trial(result(1e5, Verdict.PASS, directions=2))


def failed(*corrupt: int) -> TrialRecord:
    """Returns a trial that lost 37 frames in each direction, of which so many were corrupt."""
    whole = result(1e5, Verdict.FAIL, directions=2)
    lost = [37 if each == -1 else each for each in corrupt]
    streams = [
        stream.model_copy(update={"corrupt": max(0, each), "lost": of})
        for stream, each, of in zip(whole.streams, corrupt, lost, strict=True)
    ]
    return trial(whole.model_copy(update={"streams": streams}))


LOST = failed(-1, -1)
ONE_CORRUPT = failed(0, 1)


@pytest.fixture
def empty(tmp_path: Path) -> RunRecord:
    return RunReader(SampleRun(tmp_path).end()).run


ZERO = {"forward": 0, "reverse": 0}


def remarks(run: RunRecord, record: ExperimentRecord) -> list[str]:
    return sentences(replace(run, experiments=[record]))


def test_trials_that_corrupt_frames_alone_made_fail_are_told_with_what_to_write(empty: RunRecord) -> None:
    record = experiment(
        [1e5, 9e4, 1e4], trials={1: [PASSED, ONE_CORRUPT], 2: [LOST], 3: [ONE_CORRUPT]}, loss_tolerance=ZERO
    )
    (sentence,) = remarks(empty, record)
    assert sentence.startswith(
        "x: in 2 of 3 trials that failed, each lost frame had arrived, but with a wrong checksum"
    )
    assert "(one frame in 900,000 of those sent in reverse direction). So the search finds how short" in sentence
    assert "Allow them by `loss_tolerance: {reverse: 0.01%}`, which the report marks as non-RFC." in sentence
    # They also explain that the interval is wide.
    wide = wide_interval(record, {})
    assert wide is not None
    assert wide.cause == Corrupted(failed=3, by_corruption=2)


def test_a_gateway_that_corrupts_many_frames_is_to_be_mended(empty: RunRecord) -> None:
    trials = {1: [failed(4500, 4500), LOST, LOST]}
    (sentence,) = remarks(empty, experiment([1e5], trials=trials, loss_tolerance=ZERO))
    assert (
        "(one frame in 300 of those sent in forward direction). The gateway's rate without these may be higher."
        in sentence
    )
    assert sentence.endswith("Look for the cause on the gateway, such as the checksum offload of an interface.")


def test_a_tolerance_that_is_there_is_not_recommended_again(empty: RunRecord) -> None:
    tolerance = {"forward": 0, "reverse": "0.01%"}
    (sentence,) = remarks(empty, experiment([1e5], trials={1: [ONE_CORRUPT]}, loss_tolerance=tolerance))
    assert sentence.endswith("of few frames it allows too few: lengthen the trials.")


@pytest.mark.parametrize(
    "other",
    [PASSED, LOST, failed(1, -1), replace(ONE_CORRUPT, purpose=Purpose.PREPARE),
     replace(ONE_CORRUPT, verdict=Verdict.DISTURBED), replace(ONE_CORRUPT, cause=Cause.BACKLOG)],
)  # fmt: skip
def test_other_trials_are_not_told(empty: RunRecord, other: TrialRecord) -> None:
    assert remarks(empty, experiment([1e5], trials={1: [PASSED, other]}, loss_tolerance=ZERO)) == []


def test_a_procedure_that_allows_loss_is_not_told(empty: RunRecord) -> None:
    record = experiment([0.1], trials={1: [ONE_CORRUPT]}, procedure={"name": "pdv"}, rate={"rate": 1e5})
    assert remarks(empty, record) == []
