# SPDX-License-Identifier: Apache-2.0
"""Tests the three answers, their exit codes and their files, with a gateway in virtual time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml
from typer.testing import CliRunner, Result

from natxy import api
from natxy.cli import app
from natxy.errors import TesterLimitError

PLAN = """\
name: bench
repeat: 6
timing: lab
seed: {seed}
testbed: {{kind: simulated, noise: 0.02}}
experiments:
  - name: forwarding
    gateway: {{driver: simulated, forwarding_fps: {forwarding}}}
    procedure: throughput
    search: {{kind: binary, max_rate: 400k, error: 0.5%}}
    {expect}
"""


def natxy(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "120"})


def measure(folder: Path, *more: str | Path, forwarding: str = "500k", expect: str = "", seed: int = 1) -> Result:
    plan = folder.with_suffix(".yaml")
    plan.write_text(PLAN.format(forwarding=forwarding, expect=f"expect: {expect}" if expect else "", seed=seed))
    return natxy("run", plan, "--output", folder, *more)


@pytest.mark.parametrize(
    ("expect", "code", "answer"),
    [
        ("{at_least: 200k}", 0, "met"),
        ("{at_least: 300k}", 6, "missed"),
        ("{at_least: 249k}", 0, "at least 249 kfps: the interval contains the threshold"),
    ],
)
def test_a_run_ends_with_the_answer_to_what_is_expected(tmp_path: Path, expect: str, code: int, answer: str) -> None:
    done = measure(tmp_path / "run", "--junit", tmp_path / "junit.xml", expect=expect)
    assert done.exit_code == code, done.output
    assert answer in " ".join(done.output.split())
    assert ("Exit code 6: a result is worse than the plan expects." in done.output) == (code == 6)
    assert len(list(JUnitXml.fromfile(str(tmp_path / "junit.xml")))) == 1
    assert natxy("judge", tmp_path / "run").exit_code == code
    assert answer in " ".join(natxy("report", tmp_path / "run").output.split())
    assert "<h2>Thresholds</h2>" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("expect", ["{at_least: 200k}", "{at_least: 249k}", "{at_least: 300k}"])
def test_what_could_not_be_measured_goes_first_and_the_rest_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect: str
) -> None:
    run_plan = api.run_plan
    monkeypatch.setattr(api, "run_plan", lambda *given: run_plan(*given) or TesterLimitError.exit_code)
    done = measure(tmp_path / "run", "--junit", tmp_path / "junit.xml", "--undecided", "125", expect=expect)
    assert done.exit_code == TesterLimitError.exit_code, done.output
    assert "Exit code 3: the tester was too slow" in done.output
    assert len(list(JUnitXml.fromfile(str(tmp_path / "junit.xml")))) == 1


def test_a_threshold_that_goes_with_its_baseline_is_named(tmp_path: Path) -> None:
    second = """\
    expect: {at_least: 200k}
  - name: nat
    gateway: {driver: simulated, forwarding_fps: 500k}
    procedure: throughput
    baseline: forwarding
    search: {kind: binary, max_rate: 400k, error: 0.5%}
    expect: {ratio_at_least: 60%}"""
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(forwarding="500k", expect=second.strip(), seed=1))
    said = "nat: its ratio is not judged, because `--only` leaves out the baseline"
    for verb in (("check", plan), ("run", plan, "--output", tmp_path / "run")):
        assert said in " ".join(natxy(*verb, "--only", "nat").output.split())
    assert said not in natxy("check", plan).output


def test_run_and_resume_have_a_code_for_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = measure(tmp_path / "run", "--undecided", "125", expect="{at_least: 249k}")
    assert done.exit_code == 125, done.output
    assert "Exit code 125: a threshold is undecided." in done.output
    monkeypatch.setattr(api, "resume_plan", lambda *_: 0)
    files = ("--junit", tmp_path / "junit.xml", "--markdown", tmp_path / "out.md", "--json", tmp_path / "out.json")
    assert natxy("resume", tmp_path / "run", *files, "--undecided", "125").exit_code == 125
    assert json.loads((tmp_path / "out.json").read_text())["answer"] == "undecided"
    assert (tmp_path / "junit.xml").exists()
    assert (tmp_path / "out.md").exists()


def test_a_run_is_judged_by_another_plan_and_by_an_earlier_run(tmp_path: Path) -> None:
    measure(tmp_path / "main")
    expect = f"{{no_worse_than: {{baseline: {tmp_path / 'main'}, by: 5%}}}}"
    slower = measure(tmp_path / "slower", forwarding="440k", expect=expect)
    assert slower.exit_code == 6
    assert "−12." in slower.output
    expect = expect.replace("/main", "/gone")
    assert "gone does not exist" in " ".join(measure(tmp_path / "not-begun", expect=expect).stderr.split())
    assert not (tmp_path / "not-begun").exists()
    assert natxy("judge", tmp_path / "main", "--plan", tmp_path / "slower.yaml").exit_code == 0
    nothing = natxy("judge", tmp_path / "main")
    assert nothing.exit_code == 2


def test_an_expected_experiment_that_the_run_lacks_is_exit_2(tmp_path: Path) -> None:
    measure(tmp_path / "run", expect="{at_least: 200k}")
    renamed = tmp_path / "renamed.yaml"
    renamed.write_text((tmp_path / "run.yaml").read_text().replace("name: forwarding", "name: routing"))
    judged = natxy("judge", tmp_path / "run", "--plan", renamed)
    assert judged.exit_code == 2
    assert "`expect` of routing cannot be judged, because the run has no experiment" in " ".join(judged.stderr.split())


@pytest.mark.parametrize(
    ("forwarding", "code", "answer"), [("500k", 0, "met"), ("440k", 6, "missed"), ("475k", 125, "undecided")]
)
def test_compare_has_three_answers(tmp_path: Path, forwarding: str, code: int, answer: str) -> None:
    measure(tmp_path / "main")
    measure(tmp_path / "new", forwarding=forwarding, seed=2)
    options = ("--baseline", tmp_path / "main", tmp_path / "new", "--fail-below", "5%", "--undecided", "125")
    done = natxy("compare", *options, "--json", tmp_path / "out.json", "--markdown", tmp_path / "out.md")
    assert done.exit_code == code, done.output
    assert json.loads((tmp_path / "out.json").read_text())["answer"] == answer
    assert "| forwarding | Throughput | at most 5 % below" in (tmp_path / "out.md").read_text()


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("5", "expected a percentage such as 5%, got '5'; did you mean 5%?"),
        ("forwarding=0.05", "got '0.05'; did you mean 0.05% or 5%?"),
        ("forwarding", "its forms are 5%, EXPERIMENT=5% and EXPERIMENT:FIGURE=5%"),
        ("5ms", "expected a percentage such as 5%"),
        ("nothing=5%", "--fail-below nothing=5%: the runs have the experiments forwarding"),
        ("forwarding:delay=5%", "--fail-below forwarding:delay=5%: the figures are rate"),
    ],
)
def test_a_limit_that_says_nothing_is_exit_2(tmp_path: Path, limit: str, told: str) -> None:
    measure(tmp_path / "main")
    done = natxy("compare", tmp_path / "main", tmp_path / "main", "--fail-below", limit)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ("{}", "expected at_least, at_most, ratio_at_least, ratio_at_most or no_worse_than"),
        ("{at_least: 3ms}", "expected a rate such as 1.5M, 812 kfps, 1_000_000 or 50%, got '3ms'"),
        ("{at_least: 50%}", "expected a rate such as 1.5M or 812 kfps, got '50%'"),
        ("{ratio_at_least: 60%}", "a share of the `baseline`, which this experiment does not have"),
        ("{no_worse_than: {baseline: runs/main, by: 5}}", "expected a percentage such as 5%, got 5; did you mean 5%?"),
    ],
)
def test_what_cannot_be_expected_is_exit_2(tmp_path: Path, expect: str, told: str) -> None:
    done = measure(tmp_path / "run", expect=expect)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())
