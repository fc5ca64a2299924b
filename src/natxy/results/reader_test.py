# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.results.reader import RunReader
from tests.support.sample_runs import quickstart


def test_without_trials_the_rest_is_the_same(tmp_path: Path) -> None:
    folder = quickstart(tmp_path / "run")
    whole, light = RunReader(folder).run, RunReader(folder, trials=False).run
    assert [*whole.all_trials]
    assert not [*light.all_trials]
    for one, other in zip(whole.experiments, light.experiments, strict=True):
        assert (one.statistics, one.figure_statistics, one.spread) == (
            other.statistics, other.figure_statistics, other.spread,
        )  # fmt: skip
        assert one.baseline_ratio == other.baseline_ratio


def test_an_experiment_is_found_by_its_name(tmp_path: Path) -> None:
    reader = RunReader(quickstart(tmp_path / "run"))
    for experiment in reader.run.experiments:
        assert reader.experiment(experiment.name) is experiment
    with pytest.raises(KeyError):
        reader.experiment("nowhere")
