# SPDX-License-Identifier: Apache-2.0
"""Compares the expected number of steps, by which `natxy check` estimates the time, with the measured ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from natxy.events.listener import RunListener
from natxy.plan.procedures import DECLARATIONS
from natxy.procedures.registry import procedure_of
from natxy.procedures.truth_test import PORT_SET, plan_of
from natxy.results.reader import RunReader
from natxy.run.run import run_plan

GATEWAY: Final[dict[str, Any]] = {
    "buffer_frames": 200,
    "restart_time": 0.1,
    "table_capacity": 477_000,
    "frame_instructions": 1000,
}

# How far the expected number may be from the measured one. A search by the loss of trials is often lucky.
BY_LOSS: Final = (0.5, 2.1)
CLOSE: Final = (0.8, 1.4)
EXACT: Final = (1.0, 1.0)
ERRORS: Final = {
    **dict.fromkeys(
        (
            "throughput",
            "ndr-pdr",
            "overload",
            "burst",
            "connection-rate",
            "validated-connection-rate",
            "binding-check",
            "tcp-connection-rate",
            "churn",
            "dns64-rate",
        ),
        BY_LOSS,
    ),
    **dict.fromkeys(("frame-loss-rate", "back-to-back", "table-capacity"), CLOSE),
}  # fmt: skip


@pytest.mark.parametrize("procedure", sorted({*DECLARATIONS} - {"tcp-goodput"}))
def test_about_as_many_steps_as_expected_are_measured(tmp_path: Path, procedure: str) -> None:
    own = {"port_set": PORT_SET} if procedure == "port-set" else {}
    plan = plan_of(procedure, GATEWAY | own, phase2=False)
    assert run_plan(plan, tmp_path / "run", RunListener()) == 0
    [repetition] = RunReader(tmp_path / "run").run.experiments[0].repetitions
    experiment = plan.experiments[0]
    least, most = ERRORS.get(procedure, EXACT)
    expected = procedure_of(experiment).expected_steps(experiment)
    assert least * len(repetition.steps) <= expected <= most * len(repetition.steps)


def test_a_goodput_has_a_step_for_each_combination_of_directions(tmp_path: Path) -> None:
    plan = plan_of("tcp-goodput", {}, phase2=False)
    assert run_plan(plan, tmp_path / "run", RunListener()) == 0
    experiment = plan.experiments[0]
    assert RunReader(tmp_path / "run").run.host_test_count == procedure_of(experiment).expected_steps(experiment)
