# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/reference/python.md, one after another as on the page, on a plan in virtual time."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from natxy import api
from tests.support.pages import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "python.md"
MODULES: Final = ("engine", "labs", "plans", "procedures", "programs", "recording", "terms", "verbs")
PLAN = """\
name: p
testbed: {kind: simulated}
experiments:
  - {name: forwarding, procedure: throughput, gateway: simulated, search: {min_rate: 10k, max_rate: 1M}}
"""


def test_the_examples_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text(PLAN)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    *run_here, _plot = [compile(example, str(PAGE), "exec") for example in examples]
    assert len(run_here) == 2
    for example in run_here:
        exec(example, names)
    said = capsys.readouterr().out.splitlines()
    trials = [line for line in said if line.startswith("forwarding: traffic at ")]
    assert len(trials) > 5
    assert "exit code 0" in said
    (experiment,) = api.RunReader(tmp_path / "runs" / "from-python").run.experiments
    assert experiment.statistics is not None
    assert f"forwarding rate {experiment.statistics.median} fps" in said
    assert said[-1] == f"0 invalid trials of {len(trials)}"
    # The libraries that draw the plot are not installed.
    plotted = re.findall(r'\["(\w+)"\]', examples[-1])
    assert {"step", "step_value"} <= {*plotted} <= api.trial_rows(names["run"])[0].keys()


def test_the_page_describes_what_there_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    described = {name for name in api.__all__ if re.search(rf"\b{name}\b", text)}
    assert described == {*api.__all__} - {"Event", "ResolvedPlan"}


def test_the_page_describes_the_modules_below() -> None:
    folder = REPOSITORY / "src" / "natxy" / "api"
    assert sorted(file.stem for file in folder.glob("[a-z]*.py") if not file.stem.endswith("_test")) == [*MODULES]
    text = PAGE.read_text(encoding="utf-8")
    for name in MODULES:
        assert f"`natxy.api.{name}` " in text
        module = import_module(f"natxy.api.{name}")
        public = {each for each in vars(module) if not each.startswith("_") and each in module.__all__}
        assert public == {*module.__all__}
        assert [each for each in module.__all__ if not re.search(rf"`{each}\b", text)] == [], name
