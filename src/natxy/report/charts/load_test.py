# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.engine.messages.results import Verdict
from natxy.report.charts.load import load_chart
from natxy.report.charts.still import page_svg
from natxy.results.dut_load import DutLoad
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.trials import TrialRecord
from tests.support.sample_runs import SampleRun, Sought


def measured(folder: Path) -> ExperimentRecord:
    sample = SampleRun(folder, loads=True)
    sample.experiment("forward", Sought(231e3, frozenset({4})), title="Forwarding")
    return RunReader(sample.end()).experiment("forward")


def with_loads(experiment: ExperimentRecord, load: DutLoad | None) -> ExperimentRecord:
    def changed(trial: TrialRecord) -> TrialRecord:
        return replace(trial, dut_load=load)

    repetitions = [replace(r, trials=[*map(changed, r.trials)]) for r in experiment.repetitions]
    return replace(experiment, repetitions=repetitions)


def test_each_core_has_a_mark_for_each_trial_that_counted(tmp_path: Path) -> None:
    experiment = measured(tmp_path)
    chart = load_chart(experiment, name="c")
    assert chart is not None
    rows = chart.spec["data"]["values"]
    counted = [trial for _, _, trial in experiment.all_trials if trial.verdict is not Verdict.INVALID]
    assert [row["rate"] for row in rows if row["core"] == "core 1"] == [trial.rate_fps for trial in counted]
    assert {row["core"] for row in rows} == {"core 0", "core 1"}
    # 400,000 frames/s in each direction are more than a core can do that takes 2 µs.
    assert max(row["busy"] for row in rows) == 100
    for row in rows:
        if row["core"] == "core 1" and row["busy"] < 100:
            assert row["busy"] == pytest.approx(100 * 2 * row["rate"] * 2e-6)
    assert "<svg" in page_svg(chart)


def test_many_cores_are_drawn_as_the_busiest_and_the_mean(tmp_path: Path) -> None:
    experiment = measured(tmp_path)
    load = experiment.repetitions[0].trials[-1].dut_load
    assert load is not None
    many = [load.cores[1].model_copy(update={"core": core, "busy_s": core / 10}) for core in range(33)]
    chart = load_chart(with_loads(experiment, load.model_copy(update={"cores": tuple(many)})), name="c")
    assert chart is not None
    drawn = {row["core"]: row["busy"] for row in chart.spec["data"]["values"]}
    assert drawn.keys() == {"busiest core", "mean of 33 cores"}
    assert drawn["mean of 33 cores"] == pytest.approx(drawn["busiest core"] / 2)


def test_more_trials_than_fit_are_thinned_evenly_and_the_title_says_so(tmp_path: Path) -> None:
    experiment = measured(tmp_path)
    trial = next(t for t in experiment.repetitions[0].trials if t.verdict is not Verdict.INVALID)
    trials = [replace(trial, number=number, rate_fps=float(number)) for number in range(2000)]
    repetitions = [replace(experiment.repetitions[0], trials=trials)]
    chart = load_chart(replace(experiment, repetitions=repetitions), name="c")
    assert chart is not None
    rates = [row["rate"] for row in chart.spec["data"]["values"] if row["core"] == "core 1"]
    # Two cores share 1,500 marks.
    assert len(rates) == 750
    assert {after - before for before, after in itertools.pairwise(rates)} == {2, 3}
    assert (rates[0], rates[-1]) == (0, 1997)
    assert chart.title == "Load of the DUT's cores, in 750 of 2,000 trials"
    few = load_chart(
        replace(experiment, repetitions=[replace(experiment.repetitions[0], trials=trials[:750])]), name="c"
    )
    assert few is not None
    assert len(few.spec["data"]["values"]) == 1500
    assert few.title == "Load of the DUT's cores"


def test_without_loads_there_is_no_chart(tmp_path: Path) -> None:
    assert load_chart(with_loads(measured(tmp_path), None), name="c") is None
