# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from natxy.report.charts.series import series_chart
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.trials import TrialRecord
from tests.support.sample_runs import SampleRun, Sought


def measured(folder: Path) -> ExperimentRecord:
    sample = SampleRun(folder)
    sample.experiment("forward", Sought(231e3), title="Forwarding")
    return RunReader(sample.end()).experiment("forward")


def with_trials(experiment: ExperimentRecord, seconds: list[int], duration_s: float) -> ExperimentRecord:
    def changed(trial: TrialRecord) -> TrialRecord:
        streams = [
            stream.model_copy(update={"sent_per_second": seconds, "received_per_second": seconds})
            for stream in trial.result.streams
        ]
        return replace(trial, duration_s=duration_s, result=trial.result.model_copy(update={"streams": streams}))

    repetitions = [replace(r, trials=[changed(trial) for trial in r.trials]) for r in experiment.repetitions]
    return replace(experiment, repetitions=repetitions)


def test_the_trial_that_decided_is_drawn_second_by_second(tmp_path: Path) -> None:
    experiment = measured(tmp_path)
    chart = series_chart(experiment, name="c")
    assert chart is not None
    shown = chart.spec["params"][0]["value"]
    assert "231,250 frames/s: pass" in shown
    rows = [row for row in chart.spec["data"]["values"] if row["trial"] == shown]
    assert {row["series"] for row in rows} == {
        "forward, sent", "forward, received", "reverse, sent", "reverse, received",
    }  # fmt: skip
    assert [(row["second"], row["frames"]) for row in rows if row["series"] == "forward, sent"] == [
        (second, 231_250) for second in range(4)
    ]  # fmt: skip


def test_any_other_trial_can_be_chosen(tmp_path: Path) -> None:
    experiment = measured(tmp_path)
    chart = series_chart(experiment, name="c")
    assert chart is not None
    options = chart.spec["params"][0]["bind"]["options"]
    assert len(options) == len(set(options)) == 20
    assert "repetition 3, step 1, 400,000 frames/s: fail" in options
    assert {row["trial"] for row in chart.spec["data"]["values"]} == set(options)


def test_a_page_holds_only_so_much(tmp_path: Path) -> None:
    chart = series_chart(with_trials(measured(tmp_path), [100] * 60, 60.0), name="c")
    assert chart is not None
    assert len(chart.spec["params"][0]["bind"]["options"]) == 6


def test_a_short_trial_has_no_course(tmp_path: Path) -> None:
    assert series_chart(with_trials(measured(tmp_path), [100, 100], 2.0), name="c") is None


def test_the_drain_is_no_part_of_it(tmp_path: Path) -> None:
    chart = series_chart(with_trials(measured(tmp_path), [100, 100, 100, 40, 0, 0], 3.4), name="c")
    assert chart is not None
    assert max(row["second"] for row in chart.spec["data"]["values"]) == 2


def test_the_last_second_counts_though_its_last_frame_leaves_before_its_end(tmp_path: Path) -> None:
    chart = series_chart(with_trials(measured(tmp_path), [100] * 4 + [0], 3.9999), name="c")
    assert chart is not None
    assert max(row["second"] for row in chart.spec["data"]["values"]) == 3


def test_an_hour_is_averaged(tmp_path: Path) -> None:
    chart = series_chart(with_trials(measured(tmp_path), [90, 110] * 1800, 3600.0), name="c")
    assert chart is not None
    rows = [row for row in chart.spec["data"]["values"] if row["series"] == "reverse, received"]
    assert len(rows) == 400
    assert sum(row["frames"] for row in rows) / len(rows) == 100
