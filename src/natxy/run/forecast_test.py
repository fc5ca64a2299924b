# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

from natxy.cli.bodies.check import describe
from natxy.events.listener import RunListener
from natxy.plan.model.repeat import Repeat
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.forecast import expected_repetitions, last_run
from natxy.run.run import run_plan


def plan(repeat: int | dict[str, Any], noise: float) -> ResolvedPlan:
    own = {"procedure": "throughput", "gateway": "simulated", "search": {"max_rate": "1M", "error": 500}}
    given = {
        "name": "p",
        "repeat": repeat,
        "timing": "lab",
        "testbed": {"kind": "simulated", "noise": noise},
        "experiments": [own | {"name": "base"}, own | {"name": "own", "baseline": "base"}, own | {"name": "alone"}],
    }
    return resolve(Plan.model_validate(given))


def test_what_was_measured_once_or_never_has_no_forecast(tmp_path: Path) -> None:
    wanted = plan({"until": "3%", "at_most": 50}, 0.0)
    earlier = plan(2, 0.0)
    base, own, _ = earlier.experiments
    once = base.model_copy(update={"repeat": Repeat(at_most=1)})
    run_plan(earlier.model_copy(update={"experiments": [once, own]}), tmp_path / "run", RunListener())
    # The baseline is repeated as often as what is compared with it.
    assert expected_repetitions(wanted, RunReader(tmp_path / "run")) == {"own": 6, "base": 6}
    run_plan(earlier.model_copy(update={"experiments": [once]}), tmp_path / "base", RunListener())
    assert expected_repetitions(wanted, RunReader(tmp_path / "base")) == {}


def test_an_earlier_run_says_how_many_repetitions_it_takes(tmp_path: Path) -> None:
    wanted = plan({"until": "3%", "at_most": 50}, 0.0)
    assert last_run("p", tmp_path) is None
    (tmp_path / "p-20260101-000000").mkdir()
    found = {}
    for day, noise in ((2, 0.0), (3, 0.05), (4, 0.15)):
        run_plan(plan(4, noise), tmp_path / f"p-2026010{day}-000000", RunListener())
        earlier = last_run("p", tmp_path)
        assert earlier is not None
        assert earlier.folder.name == f"p-2026010{day}-000000"
        found[noise] = expected_repetitions(wanted, earlier)
    # A plan whose name begins alike has folders that begin alike.
    (tmp_path / "p-2").mkdir()
    run_plan(plan(4, 0.0).model_copy(update={"name": "p-2"}), tmp_path / "p-2-20270101-000000", RunListener())
    latest = last_run("p", tmp_path)
    assert latest is not None
    assert latest.folder.name == "p-20260104-000000"
    assert found[0.0] == {"base": 6, "own": 6, "alone": 6}
    assert 6 <= found[0.05]["own"] < found[0.15]["own"] <= 50
    assert found[0.15]["base"] >= found[0.15]["own"]
    said = [*describe(wanted, last_run("p", tmp_path))]
    assert any(line.startswith("Expected repetitions, judged by ") for line in said)
    assert "if all repetitions are needed" not in said[-1]
    assert "if all repetitions are needed" in [*describe(wanted)][-1]
