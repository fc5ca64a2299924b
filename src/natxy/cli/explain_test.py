# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from tests.support.sample_runs import SampleRun, Sought


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = SampleRun(tmp_path / "run")
    for name in ("nat", "forwarding"):
        run.experiment(name, Sought(0.0), title=name.upper(), repeat=1)
    return run.folder


def test_an_experiment_of_a_run_is_told(folder: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(folder), "nat"])
    assert done.exit_code == 0
    assert done.output.startswith("nat: NAT\n")
    assert "loss against rate:" in done.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "the run has nat, forwarding; name one of them"),
        (["forwardin"], "there is no experiment 'forwardin'; did you mean 'forwarding'?; the run has nat, forwarding"),
    ],
)
def test_an_experiment_has_to_be_one_of_the_run(folder: Path, words: list[str], expected: str) -> None:
    done = CliRunner().invoke(app, ["explain", str(folder), *words])
    assert done.exit_code == 2
    assert expected in done.stderr


def test_a_word_is_a_word_although_a_folder_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "invalid").mkdir()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["explain", "invalid"])
    assert done.exit_code == 0
    assert "loss against rate" not in done.output


def test_a_path_that_is_no_run_is_not_taken_for_a_word(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not a run folder" in done.stderr
