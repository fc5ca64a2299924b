# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from natxy.plan.model.thresholds import Thresholds
from natxy.report.words import thresholds
from natxy.results.analysis.compare import SHARE_OF_BASELINE
from natxy.results.analysis.repetitions import repetitions_needed
from natxy.results.analysis.thresholds import (
    Answer,
    Judged,
    Limit,
    judge_change,
    judge_plan,
    names_nothing,
    overall,
    thresholds_of,
)
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import SampleRun, Sought, measured_latency, measured_rates, replanned

# Medians of 100; the interval is 97 to 103.
AROUND_100 = (97.0, 98.0, 99.0, 101.0, 102.0, 103.0)
STEADY = (100.0, 100.0, 100.0, 100.0, 100.0, 100.0)


def run(folder: Path, *, in_blocks: bool = True, **experiments: Sequence[float]) -> RunRecord:
    sample = SampleRun(folder, in_blocks=in_blocks)
    for name, rates in experiments.items():
        measured_rates(sample, name, rates, baseline="base" if name == "nat" else None)
    return RunReader(sample.end()).run


def judged(record: RunRecord, name: str = "base", **expect: Any) -> Judged:
    [found] = judge_plan(record, {name: Thresholds.model_validate(expect)}, lambda folder: run(Path(folder)))
    return found


@pytest.mark.parametrize(
    ("expect", "answer"),
    [
        ({"at_least": 90}, Answer.MET),
        ({"at_least": 97}, Answer.MET),
        ({"at_least": 98}, Answer.UNDECIDED),
        ({"at_least": 103}, Answer.UNDECIDED),
        ({"at_least": 104}, Answer.MISSED),
        ({"at_most": 104}, Answer.MET),
        ({"at_most": 103}, Answer.MET),
        ({"at_most": 97}, Answer.UNDECIDED),
        ({"at_most": 96}, Answer.MISSED),
    ],
)
def test_a_threshold_within_the_interval_is_undecided(tmp_path: Path, expect: dict[str, Any], answer: Answer) -> None:
    assert judged(run(tmp_path, base=AROUND_100), **expect).answer == answer


def test_an_undecided_threshold_says_how_many_repetitions_may_decide(tmp_path: Path) -> None:
    record = run(tmp_path, base=AROUND_100)
    near, nearer = judged(record, at_least=98.5), judged(record, at_least=99.5)
    assert near.repetitions is not None
    assert nearer.repetitions is not None
    assert 6 < near.repetitions < nearer.repetitions
    closest = judged(record, at_least=100)
    assert closest.repetitions is None
    assert "the result is too close" in closest.reason


def test_a_bracket_that_contains_the_threshold_is_not_decided_by_repetitions(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    measured_rates(sample, "base", STEADY, bracket=10)
    record = RunReader(sample.end()).run
    for limit in (100.5, 105, 110):
        found = judged(record, at_least=limit)
        assert (found.answer, found.repetitions) == (Answer.UNDECIDED, None)
        assert "a smaller `error` of the search may decide" in found.reason
    [change] = judge_change(record, "first", record, [Limit(5)])
    assert (change.answer, change.repetitions) == (Answer.UNDECIDED, None)
    assert "a smaller `error` of the search may decide" in change.reason


@pytest.mark.parametrize(("limit", "margin"), [(98, 2.0), (104, 2.0), (104.5, 2.5)])
def test_repetitions_have_to_narrow_what_lies_outside_the_bracket(tmp_path: Path, limit: float, margin: float) -> None:
    sample = SampleRun(tmp_path)
    measured_rates(sample, "base", AROUND_100, bracket=2)
    found = judged(RunReader(sample.end()).run, at_least=limit)
    assert found.answer == Answer.UNDECIDED
    assert found.repetitions == repetitions_needed(margin, AROUND_100)


def test_two_repetitions_have_an_interval(tmp_path: Path) -> None:
    found = judged(run(tmp_path, base=(99.0, 101.0)), at_least=95)
    assert found.interval is not None
    assert found.reason == "the interval contains the threshold"
    assert found.repetitions == 6


def test_an_experiment_without_a_result_is_undecided(tmp_path: Path) -> None:
    base = run(tmp_path, base=STEADY)
    none = replace(base, experiments=[replace(base.experiments[0], repetitions=[])])
    assert judged(none, at_least=1).reason == "there is no result"
    for first, other in ((none, base), (base, none), (none, none)):
        [found] = judge_change(first, "first", other, [Limit(5)])
        assert (found.answer, found.reason, found.value) == (Answer.UNDECIDED, "there is no result", None)


def test_only_experiments_of_which_something_is_expected_have_thresholds(tmp_path: Path) -> None:
    record = run(tmp_path, base=STEADY, nat=STEADY)
    assert thresholds_of(record) == {}
    base, nat = record.experiments
    expecting = replanned(nat, expect={"at_least": 90})
    assert thresholds_of(replace(record, experiments=[base, expecting])) == {"nat": Thresholds(at_least=90)}


def test_one_repetition_decides_nothing(tmp_path: Path) -> None:
    found = judged(run(tmp_path, base=(100.0,)), at_least=1)
    assert (found.answer, found.repetitions, found.reason) == (Answer.UNDECIDED, 6, "one repetition has no interval")


@pytest.mark.parametrize(
    ("truth", "wanted", "answer"), [(None, 400e3, "met"), (None, 401e3, "undecided"), (1.0, 11e3, "missed")]
)
def test_a_bound_decides_what_lies_beyond_it(tmp_path: Path, truth: float | None, wanted: float, answer: str) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("base", Sought(truth), title="Base")
    assert judged(RunReader(sample.end()).run, at_least=wanted).answer == answer


@pytest.mark.parametrize("repeat", [1, 3])
def test_repetitions_do_not_decide_what_a_bound_leaves_open(tmp_path: Path, repeat: int) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("base", Sought(None), title="Base", repeat=repeat)
    found = judged(RunReader(sample.end()).run, at_least=401e3)
    assert (found.answer, found.repetitions, found.interval) == (Answer.UNDECIDED, None, None)
    assert found.reason == "results are only bounds; a search with wider limits may decide"


def test_a_share_of_the_baseline_is_paired(tmp_path: Path) -> None:
    # Each half varies by 20 %, and their ratio by nothing.
    record = run(tmp_path, base=(80.0, 90.0, 100.0, 110.0), nat=(40.0, 45.0, 50.0, 55.0))
    assert judged(record, "nat", ratio_at_least="50%").answer == Answer.MET
    assert judged(record, "nat", ratio_at_least="51%").answer == Answer.MISSED
    assert judged(record, "nat", ratio_at_most="50%").answer == Answer.MET
    assert judged(record, "nat", ratio_at_most="49%").answer == Answer.MISSED


@pytest.mark.parametrize("in_blocks", [True, False])
@pytest.mark.parametrize("base", [(100.0, 100.0, 100.0), (100.0, 110.0, 90.0)])
def test_a_share_is_judged_by_the_ratio_of_the_report(tmp_path: Path, base: Sequence[float], in_blocks: bool) -> None:
    record = run(tmp_path, in_blocks=in_blocks, base=base, nat=(40.0, 50.0, 60.0))
    found = judged(record, "nat", ratio_at_least="27%")
    ratio = record.experiments[1].baseline_ratio
    assert ratio is not None
    assert ratio.interval is not None
    assert found.interval is not None
    assert found.value == pytest.approx(100 * ratio.value)
    assert found.interval.low == pytest.approx(100 * ratio.interval.low)
    assert found.interval.high == pytest.approx(100 * ratio.interval.high)


@pytest.mark.parametrize(
    ("now", "answer"), [(1.0, Answer.MET), (0.97, Answer.MET), (0.95, Answer.UNDECIDED), (0.9, Answer.MISSED)]
)
def test_a_run_is_no_worse_than_another(tmp_path: Path, now: float, answer: Answer) -> None:
    first = run(tmp_path / "first", base=(99.5, 99.7, 99.9, 100.1, 100.3, 100.5))
    other = run(tmp_path / "other", base=[now * rate for rate in (99.5, 99.7, 99.9, 100.1, 100.3, 100.5)])
    [found] = judge_change(first, "main", other, [Limit(5)])
    assert found.answer == answer
    assert not found.from_zero
    assert found.value == pytest.approx(100 * (now - 1))
    expect = {"base": Thresholds.model_validate({"no_worse_than": {"baseline": str(tmp_path / "first"), "by": "5%"}})}
    [same] = judge_plan(other, expect, lambda folder: RunReader(Path(folder)).run)
    assert (same.answer, same.interval) == (found.answer, found.interval)


@pytest.mark.parametrize(
    ("first_bracket", "other_bracket", "now", "answer"),
    [
        # The truth lies within a bracket above the result: a higher first one makes the change worse.
        (10, 0, 97.0, Answer.UNDECIDED),
        (0, 10, 97.0, Answer.MET),
        # A higher other one makes it better.
        (0, 10, 93.0, Answer.UNDECIDED),
        (10, 0, 93.0, Answer.MISSED),
    ],
)
def test_only_the_bracket_that_reaches_the_threshold_leaves_a_change_undecided(
    tmp_path: Path, first_bracket: float, other_bracket: float, now: float, answer: Answer
) -> None:
    runs = []
    for name, rate, bracket in (("first", 100.0, first_bracket), ("other", now, other_bracket)):
        sample = SampleRun(tmp_path / name)
        measured_rates(sample, "base", [rate] * 6, bracket=bracket)
        runs.append(RunReader(sample.end()).run)
    [found] = judge_change(runs[0], "first", runs[1], [Limit(5)])
    assert found.answer == answer
    assert ("a smaller `error` of the search may decide" in found.reason) == (answer == Answer.UNDECIDED)


def test_a_delay_is_worse_when_it_is_longer(tmp_path: Path) -> None:
    runs = []
    for name, typical_ns in (("first", 100e3), ("other", 120e3)):
        sample = SampleRun(tmp_path / name)
        measured_latency(sample, "delay", typical_ns, title="Delay")
        runs.append(RunReader(sample.end()).run)
    assert [each.answer for each in judge_change(runs[0], "first", runs[1], [Limit(5)])] == [Answer.MISSED]
    assert [each.answer for each in judge_change(runs[1], "other", runs[0], [Limit(5)])] == [Answer.MET]
    assert [each.limit for each in judge_change(runs[0], "first", runs[1], [Limit(5)])] == [5]


@pytest.mark.parametrize(
    ("lost", "answer"), [((0, 0, 0), Answer.MET), ((0, 0, 9), Answer.UNDECIDED), ((5, 6, 7), Answer.MISSED)]
)
def test_a_loss_that_was_0_may_not_rise(tmp_path: Path, lost: Sequence[int], answer: Answer) -> None:
    runs = []
    for name, own in (("first", (0, 0, 0)), ("other", lost)):
        sample = SampleRun(tmp_path / name)
        measured_latency(sample, "delay", 100e3, title="Delay", lost=own)
        runs.append(RunReader(sample.end()).run)
    [found] = judge_change(runs[0], "first", runs[1], [Limit(5, "*", "lost_tagged_forward")])
    assert found.answer == answer
    assert found.from_zero
    assert thresholds.expected(found) == "no more than first, which has 0"
    assert thresholds.found(found).startswith(f"{sorted(lost)[1]} frames [")


def test_limits_name_experiments_and_figures_and_the_last_one_counts(tmp_path: Path) -> None:
    first = run(tmp_path / "first", base=STEADY, nat=STEADY)
    other = run(tmp_path / "other", base=STEADY, nat=[0.8 * rate for rate in STEADY])
    limits = [Limit(5), Limit(30, "na*"), Limit(10, "*", "baseline_ratio")]
    found = {(each.experiment.name, each.figure.name): (each.limit, each.answer) for each in
             judge_change(first, "first", other, limits)}  # fmt: skip
    assert found == {
        ("base", "rate"): (-5, Answer.MET),
        ("nat", "rate"): (-30, Answer.MET),
        ("nat", "baseline_ratio"): (-10, Answer.MISSED),
    }


def test_what_the_earlier_run_lacks_is_undecided(tmp_path: Path) -> None:
    first, other = run(tmp_path / "first", base=STEADY), run(tmp_path / "other", base=STEADY, more=STEADY)
    answers = {each.experiment.name: each.answer for each in judge_change(first, "first", other, [Limit(5)])}
    assert answers == {"base": Answer.MET, "more": Answer.UNDECIDED}


def test_what_only_the_earlier_run_has_is_undecided(tmp_path: Path) -> None:
    first, other = run(tmp_path / "first", base=STEADY, gone=STEADY), run(tmp_path / "other", base=STEADY)
    found = judge_change(first, "first", other, [Limit(5, "base"), Limit(3, "go*")])
    assert [(each.experiment.name, each.answer, each.reason) for each in found] == [
        ("base", Answer.MET, ""),
        ("gone", Answer.UNDECIDED, "only first has this experiment"),
    ]
    assert [each.experiment.name for each in judge_change(first, "first", other, [Limit(5, "base")])] == ["base"]
    # The one that is gone had the number in its run that another one has now.
    former = run(tmp_path / "former", gone=STEADY, base=STEADY)
    found = judge_change(former, "former", other, [Limit(5)])
    assert [each.experiment.name for each in found] == ["base", "gone"]


@pytest.mark.parametrize("limits", [[Limit(5, "*", "baseline_ratio")], [Limit(5), Limit(5, "*", "baseline_ratio")]])
def test_a_share_that_only_one_run_has_is_undecided(tmp_path: Path, limits: Sequence[Limit]) -> None:
    with_share = run(tmp_path / "with", base=STEADY, nat=STEADY)
    alone = run(tmp_path / "alone", nat=STEADY)
    why = " was measured without the baseline; measure that too"
    for first, other, lacking in ((with_share, alone, "this run"), (alone, with_share, "main")):
        found = judge_change(first, "main", other, limits)
        [share] = [each for each in found if each.figure == SHARE_OF_BASELINE]
        assert (share.experiment.name, share.answer, share.reason) == ("nat", Answer.UNDECIDED, lacking + why)
        assert overall(found) == Answer.UNDECIDED
    assert not judge_change(alone, "main", alone, limits[-1:])


def test_a_baseline_that_cannot_be_read_is_undecided_and_tried_once(tmp_path: Path) -> None:
    record = run(tmp_path, base=STEADY, nat=STEADY)
    expect = Thresholds.model_validate({"no_worse_than": {"baseline": "gone", "by": "5%"}})
    read: list[str] = []

    def reads_nothing(folder: str) -> None:
        read.append(folder)

    found = judge_plan(record, {"base": expect, "nat": expect}, reads_nothing)
    assert [(each.answer, each.reason) for each in found] == [
        (Answer.UNDECIDED, "gone is not a run that can be read")
    ] * 2
    assert read == ["gone"]


@pytest.mark.parametrize(
    ("limit", "instead"),
    [
        (Limit(5), ""),
        (Limit(5, "n*"), ""),
        (Limit(5, "*", "baseline_ratio"), ""),
        (Limit(5, "mat"), "the runs have the experiments base, nat"),
        (Limit(5, "base", "rat"), "the figures are rate"),
        (Limit(5, "nat", "rat"), "the figures are rate, baseline_ratio"),
    ],
)
def test_a_limit_that_names_nothing_is_told_what_there_is(tmp_path: Path, limit: Limit, instead: str) -> None:
    record = run(tmp_path, base=STEADY, nat=STEADY)
    assert names_nothing(limit, [record, record]) == instead


def test_one_missed_threshold_decides_the_whole(tmp_path: Path) -> None:
    record = run(tmp_path, base=AROUND_100)
    met, missed, undecided = (judged(record, at_least=limit) for limit in (90, 110, 100))
    assert overall([met, undecided, missed]) == Answer.MISSED
    assert overall([met, undecided]) == Answer.UNDECIDED
    assert overall([met]) == Answer.MET


@pytest.mark.parametrize(
    ("first", "other", "by", "answer"),
    [
        # Searches from 10 to 400 kfps: all passed, none did, or about 231 k did.
        (231e3, None, 5, Answer.MET),
        (None, 231e3, 5, Answer.MISSED),
        (None, 231e3, 50, Answer.UNDECIDED),
        (231e3, 1.0, 50, Answer.MISSED),
        (None, None, 5, Answer.UNDECIDED),
    ],
)
def test_a_bound_decides_a_change_that_lies_beyond_it(
    tmp_path: Path, first: float | None, other: float | None, by: float, answer: Answer
) -> None:
    runs = []
    for name, truth in (("first", first), ("other", other)):
        sample = SampleRun(tmp_path / name)
        sample.experiment("base", Sought(truth), title="Base")
        runs.append(RunReader(sample.end()).run)
    [found] = judge_change(runs[0], "first", runs[1], [Limit(by)])
    assert found.answer == answer
