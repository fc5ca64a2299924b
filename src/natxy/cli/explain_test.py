# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
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


@pytest.mark.parametrize("words", [["{}"], ["{}", "nat"], ["empty"], ["empty", "nat"], ["runs/none", "nat"]])
def test_a_path_that_is_no_run_is_not_taken_for_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    done = CliRunner().invoke(app, ["explain", *(word.format(tmp_path) for word in words)])
    assert done.exit_code == 2
    assert re.search("is not a run folder|does not exist. Give the folder", done.stderr)


def test_a_term_of_two_words_is_a_term_although_a_folder_has_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exit").mkdir()
    done = CliRunner().invoke(app, ["explain", "exit", "code", "3"])
    assert done.exit_code == 0, done.output
