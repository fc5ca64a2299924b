# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from natxy.engine.messages.results import Verdict
from natxy.report.charts.loss import loss_chart
from natxy.report.text.story import story
from natxy.results.dut_counts import DutCounts
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from tests.support.sample_runs import SampleRun, Sought


def without_figure(folder: Path) -> ExperimentRecord:
    """Returns an experiment whose search found nothing, with the counter that rose as much as its trials lost."""
    run = SampleRun(folder)
    run.experiment("nat", Sought(0.0), title="NAT", repeat=1)
    [experiment] = RunReader(folder).run.experiments
    [repetition] = experiment.repetitions
    trials = [
        replace(
            trial,
            verdict=Verdict.FAIL,
            dut_counts=DutCounts(rose={"conntrack -S": {"insert_failed": trial.lost}} if trial.lost else {}),
        )
        for trial in repetition.trials
    ]
    searched = replace(repetition, trials=trials, value=0.0, lower_bound=None, reason="no rate passed")
    return replace(experiment, repetitions=[searched])


def test_a_story_has_the_attempts_the_losses_and_the_cause(tmp_path: Path) -> None:
    experiment = without_figure(tmp_path)
    [repetition] = experiment.repetitions
    lines = [*story(experiment)]
    assert lines[0] == "nat: NAT"
    assert lines[2] == "repetition 1:"
    steps = [line for line in lines if line.startswith("  step ")]
    assert len(steps) == len(repetition.trials)
    assert all(trial.reason in line for trial, line in zip(repetition.trials, steps, strict=True))
    losses = [line for line in lines if line.startswith("    ")]
    assert len(losses) == len(repetition.trials)
    # The longest bar is that of the largest share.
    assert "█" * 30 in max(losses, key=lambda line: line.count("█"))
    assert all(line.endswith("insert_failed") for line in losses)
    assert lines[-2] == "  no rate passed"
    assert "(insert_failed rose by" in lines[-1]


def test_a_story_does_not_repeat_a_cause_that_the_reason_has(tmp_path: Path) -> None:
    experiment = without_figure(tmp_path)
    cause = [*story(experiment)][-1].strip()
    [repetition] = experiment.repetitions
    told = replace(experiment, repetitions=[replace(repetition, reason=f"no rate passed; {cause}")])
    assert [line for line in story(told) if cause in line] == [f"  no rate passed; {cause}"]


def test_the_chart_marks_each_loss_with_the_counter_that_explains_it(tmp_path: Path) -> None:
    experiment = without_figure(tmp_path)
    [repetition] = experiment.repetitions
    drawn = loss_chart(experiment, name="x-loss")
    assert drawn is not None
    rows = drawn.spec["data"]["values"]
    assert [row["lost"] for row in rows] == [trial.lost for trial in repetition.trials]
    assert {row["cause"] for row in rows} == {"insert_failed"}
    assert all(0 < row["share"] <= 100 for row in rows)


def test_an_experiment_with_a_figure_has_no_chart_of_its_loss(tmp_path: Path) -> None:
    experiment = without_figure(tmp_path)
    [repetition] = experiment.repetitions
    passed = replace(experiment, repetitions=[replace(repetition, lower_bound=1000.0)])
    assert loss_chart(passed, name="x") is None
    lossless = [replace(trial, lost=0) for trial in repetition.trials]
    assert loss_chart(replace(experiment, repetitions=[replace(repetition, trials=lossless)]), name="x") is None


def test_an_experiment_that_never_began_has_a_story(tmp_path: Path) -> None:
    experiment = replace(without_figure(tmp_path), repetitions=[], reason="its rate is a share of another")
    assert [*story(experiment)][:1] == ["nat: NAT"]
