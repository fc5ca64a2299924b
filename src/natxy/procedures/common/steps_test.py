# SPDX-License-Identifier: Apache-2.0
"""A procedure without a search, with several figures and a curve: from the runner through the store to the report."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from natxy.engine.messages.results import TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit
from natxy.plan.procedures.figures import Figure
from natxy.plan.procedures.throughput import ThroughputConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.registry import procedures
from natxy.report.page import html
from natxy.report.tables import results as results_tables
from natxy.results.curves import Axis, Curve
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.results.trials import Purpose, TrialKind
from natxy.run.run import run_plan
from natxy.search.outcome import Attempt
from natxy.watch.plain import PlainWatch

RATES = (100_000.0, 200_000.0, 400_000.0)


class LossSeries(Procedure[ThroughputConfig]):
    """Replaces throughput: reports the loss at fixed rates."""

    def measure(self, repetition: Repetition) -> ProcedureResult:
        def step(attempt: Attempt) -> TrialResult:
            repetition.begin(attempt)
            return repetition.trial(
                attempt,
                TrialKind.TRAFFIC,
                Purpose.MEASURE,
                attempt.rate,
                lambda seed, on_progress: repetition.engine.run_trial(
                    traffic_request(repetition.experiment, attempt.rate, seed), on_progress
                ),
            )

        results = [valid_step(repetition, number, rate, step) for number, rate in enumerate(RATES, 1)]
        losses = [100 * sum(s.lost for s in r.streams) / sum(s.planned for s in r.streams) for r in results]
        points = tuple(zip(RATES, losses, strict=True))
        curve = Curve("loss", "Frame loss", Axis("offered rate", Unit.FPS), Axis("lost", Unit.PERCENT), points)
        figures = {"worst": max(losses), "lost": float(sum(s.lost for r in results for s in r.streams)), "none": None}
        return ProcedureResult(figures, curves=(curve,))

    def expected_steps(self, experiment: Experiment) -> int:
        return len(RATES)

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return experiment.timing.trial + experiment.timing.drain


@pytest.fixture(autouse=True)
def _loss_series(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = (
        Figure("worst", "Worst loss", Unit.PERCENT),
        Figure("lost", "Frames lost", Unit.FRAMES),
        Figure("none", "Nothing", Unit.NS),
    )
    monkeypatch.setattr(ThroughputConfig, "figures", figures)
    monkeypatch.setattr(ThroughputConfig, "takes", ThroughputConfig.takes - {"search"})
    monkeypatch.setitem(procedures(), "throughput", LossSeries)


def measure(folder: Path, own: dict[str, Any] | None = None, **testbed: Any) -> tuple[int, RunRecord, str]:
    experiment = {"name": "loss", "procedure": "throughput", "gateway": {"driver": "simulated"}, "repeat": 2}
    plan = resolve(
        Plan.model_validate(
            {
                "name": "p",
                "timing": "lab",
                "testbed": {"kind": "simulated"} | testbed,
                "experiments": [experiment | (own or {})],
            }
        )
    )
    told = StringIO()
    code = run_plan(plan, folder, PlainWatch(Console(file=told)))
    return code, RunReader(folder).run, told.getvalue()


def test_figures_and_curves_reach_the_store(tmp_path: Path) -> None:
    code, run, _ = measure(tmp_path / "run")
    experiment = run.experiments[0]
    # Both directions together 500 kfps: at 400 kfps each, 3 of 8 frames are lost.
    assert (code, experiment.unit, experiment.values) == (0, "percent", [37.5, 37.5])
    assert experiment.repetitions[1].figures == {"worst": 37.5, "lost": 150_000, "none": None}
    assert experiment.repetitions[1].curves[0].points == tuple(zip(RATES, (0.0, 0.0, 37.5), strict=True))
    assert {name: summary.median for name, summary in experiment.figure_statistics.items()} == {
        "worst": 37.5, "lost": 150_000,
    }  # fmt: skip
    assert [step.number for step in experiment.repetitions[0].steps] == [1, 2, 3]


def test_every_figure_is_shown(tmp_path: Path) -> None:
    _, run, told = measure(tmp_path / "run")
    assert "repetition 1: Worst loss 37.5 %, Frames lost 150,000 frames, Nothing none" in told
    assert "median of 2: 37.5 %" in told
    table = results_tables.rfc_form(run)[0]
    assert table.title == "Worst loss, %"
    rows = {row[0]: row[1] for row in table.rows}
    assert (rows["Median"], rows["Frames lost, frames, median"], rows["Nothing, ms, median"]) == (
        "37.5",
        "150,000",
        "–",
    )
    assert "Rates searched" not in rows
    assert "37.5 %" in html.render(RunReader(tmp_path / "run"))


@pytest.mark.parametrize(("own", "attempts"), [({}, 3), ({"max_invalid": 1}, 1), ({"max_invalid": 5}, 5)])
def test_the_testers_limit_ends_it_as_it_ends_a_search(tmp_path: Path, own: dict[str, Any], attempts: int) -> None:
    code, run, _ = measure(tmp_path / "run", own, tester_limit="150k")
    experiment = run.experiments[0]
    assert (code, experiment.state) == (3, State.TESTER_LIMIT)
    assert "tester limit reached in traffic at 200 kfps per direction" in experiment.reason
    assert [(trial.number, trial.attempt) for trial in experiment.repetitions[0].trials] == [
        (1, 1), *((2, retry) for retry in range(1, attempts + 1)),
    ]  # fmt: skip
