# SPDX-License-Identifier: Apache-2.0
"""Every procedure with a search, through a simulated gateway that dies in any of its trials without a word.

Its result is then that of a gateway that lives, or none, with a reason.
"""

from __future__ import annotations

from typing import Any

import pytest

from natxy.engine.simulation.dut import SimulatedDut
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.procedures.common.traffic_test import plan_of
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord, State
from natxy.run.run import run_plan

GATEWAY: dict[str, Any] = {"forwarding_fps": 300_000, "connection_rate_fps": 70_000, "table_capacity": 40_000}
SEARCH: dict[str, Any] = {"min_rate": "1k", "max_rate": "500k", "error": "2%"}
BINARY = SEARCH | {"kind": "binary"}
CONNECTIONS: dict[str, Any] = {"connections": "20k"}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "throughput": {"procedure": "throughput", "search": SEARCH},
    "binary": {"procedure": "throughput", "search": BINARY},
    "overload": {"procedure": "overload", "search": BINARY, "flows": 1000},
    "connection-rate": {"procedure": "connection-rate", "search": SEARCH} | CONNECTIONS,
    "validated": {"procedure": "validated-connection-rate", "search": BINARY, "alpha": 0.5} | CONNECTIONS,
    "phase 2": {"procedure": "throughput", "search": BINARY, "phase1_rate": "10k"} | CONNECTIONS,
    "frame-loss-rate": {"procedure": {"name": "frame-loss-rate", "maximum_rate": "400k"}},
    "back-to-back": {
        "procedure": {"name": "back-to-back", "maximum_rate": "400k", "longest_burst": 1000},
        "rate": "150k",
    },
    "table-capacity": {
        "procedure": {"name": "table-capacity", "initial_connections": 10_000, "max_connections": 100_000},
        "search": {"min_rate": "1k", "max_rate": "100k", "error": "10%"},
    },
}


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns a list of one number, after which many trials all simulated gateways forward nothing."""
    left = [0]
    begin, forwarded = SimulatedDut.begin_trial, SimulatedDut.forwarded

    def counted(self: SimulatedDut, *given: Any) -> None:
        left[0] -= 1
        begin(self, *given)

    monkeypatch.setattr(SimulatedDut, "begin_trial", counted)
    monkeypatch.setattr(
        SimulatedDut, "forwarded", lambda self, *given: forwarded(self, *given) if left[0] >= 0 else 0.0
    )
    return left


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_result_is_right_or_none(name: str, dying: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    def measured(after: int) -> RepetitionRecord:
        dying[0] = after
        folder = tmp_path_factory.mktemp("run") / "run"
        plan = plan_of({"name": "e"} | EXPERIMENTS[name], **GATEWAY | {"buffer_frames": 500})
        code = run_plan(resolve(plan), folder, RunListener())
        [repetition] = RunReader(folder).run.experiments[0].repetitions
        assert (code == 0) == (repetition.state == State.DONE)
        return repetition

    alive = measured(10_000)
    assert alive.state == State.DONE
    results = []
    for after in range(len(alive.trials)):
        found = measured(after)
        results.append(found.state)
        if found.state == State.DONE:
            assert found.value == alive.value, f"after {after} trials: {found.reason}"
        else:
            assert found.value is None
            assert found.reason
    assert {*results} & {State.NO_RESULT, State.FAILED}
