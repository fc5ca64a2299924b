# SPDX-License-Identifier: Apache-2.0
"""Tests the cost of a frame on gateways in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.engine.messages.results import Verdict
from natxy.events.listener import RunListener
from natxy.events.trials import TrialFinished
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.run.run import resume_plan, run_plan

COUNTED = {"driver": "simulated", "frame_instructions": 7000, "buffer_frames": 1000, "idle_instructions": 300_000}


def plan_of(gateway: dict[str, Any], testbed: dict[str, Any] | None = None, **own: Any) -> ResolvedPlan:
    experiment = {"name": "e", "procedure": {"name": "frame-cost", "rounds": 3}, "gateway": gateway, "max_invalid": 1}
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": testbed or {"kind": "simulated"}}
    return resolve(Plan.model_validate(head | {"experiments": [experiment | own]}))


def measured(folder: Path, gateway: dict[str, Any], code: int = 0, **own: Any) -> RepetitionRecord:
    assert run_plan(plan_of(gateway, **own), folder / "run", RunListener()) == code
    [experiment] = RunReader(folder / "run").run.experiments
    [repetition] = experiment.repetitions
    return repetition


def test_each_round_has_single_frames_few_of_them_and_bursts(tmp_path: Path) -> None:
    trials = measured(tmp_path, COUNTED).trials
    assert [trial.number for trial in trials] == [*range(1, 10)]
    assert [trial.rate_fps for trial in trials[:3]] == [1000, 10, 1000]
    # Both directions have whole bursts only.
    assert trials[2].planned % (2 * 512) == 0


def test_a_gateway_whose_instructions_nobody_counts_has_no_result(tmp_path: Path) -> None:
    repetition = measured(tmp_path, {"driver": "simulated", "buffer_frames": 1000}, 4)
    assert repetition.figures["instructions"] is None
    assert "nothing counts the gateway's instructions" in repetition.reason
    assert len(repetition.trials) == 1


def test_a_gateway_that_loses_frames_has_no_result(tmp_path: Path) -> None:
    repetition = measured(tmp_path, COUNTED | {"forward_loss_ratio": 0.01}, 4)
    assert repetition.figures["instructions"] is None
    assert "frames were lost" in repetition.reason


def test_a_disturbed_trial_has_no_result(tmp_path: Path) -> None:
    stalls = {"every": "300ms", "duration": "50ms"}
    repetition = measured(tmp_path, COUNTED | {"stalls": stalls, "buffer_frames": 10}, 4)
    assert repetition.figures["instructions"] is None
    assert repetition.trials[-1].verdict != Verdict.PASS


def test_a_resumed_repetition_has_the_counts_of_its_stored_trials(tmp_path: Path) -> None:
    class Interrupting(RunListener):
        trials = 0

        def trial_finished(self, event: TrialFinished) -> None:
            self.trials += 1
            if self.trials == 5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(plan_of(COUNTED), tmp_path / "run", Interrupting())
    assert resume_plan(plan_of(COUNTED), tmp_path / "run", RunListener()) == 0
    [experiment] = RunReader(tmp_path / "run").run.experiments
    assert experiment.values == [pytest.approx(7000)]
    assert len(experiment.repetitions[0].trials) == 9


def test_a_testbed_that_counts_nothing_is_refused() -> None:
    with pytest.raises(PlanProblems, match="frame-cost counts the gateway's instructions"):
        plan_of({"driver": "wire"}, {"kind": "loop"})


@pytest.mark.parametrize(
    ("testbed", "timing", "message"),
    [
        ({"kind": "vm", "cpus": 2}, "lab", "counts the instructions of one virtual CPU, not of 2"),
        ({"kind": "vm", "accelerator": "kvm"}, "lab", "counts the instructions that QEMU executes itself"),
        ({"kind": "vm"}, {"preset": "lab", "trial": "100ms"}, "100 frames one by one at 1 kfps; expected at least 200"),
    ],
)
def test_what_cannot_be_counted_is_refused(testbed: dict[str, Any], timing: Any, message: str) -> None:
    with pytest.raises(PlanProblems, match=message):
        plan_of({"driver": "linux-forward"}, testbed, timing=timing)
