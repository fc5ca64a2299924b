# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.errors import DutError
from natxy.plan.experiment import Experiment, ResolvedPlan
from natxy.plan.models import Plan
from natxy.plan.resolve import resolve
from natxy.procedures.workbench import Bed, Workbench


@pytest.fixture
def plan() -> ResolvedPlan:
    experiment = {
        "name": "x",
        "procedure": "throughput",
        "gateway": "simulated",
        "search": {"max_rate": "1M"},
    }
    return resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}))


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a tear-down has finished; Ctrl-C comes while it removes the gateway, the first of them."""
    finished: list[str] = []
    set_up = Workbench._set_up

    def remove_gateway() -> None:
        ident = threading.main_thread().ident
        assert ident is not None
        signal.pthread_kill(ident, signal.SIGINT)
        finished.append("gateway")

    def with_things_to_remove(self: Workbench, stack: ExitStack, experiment: Experiment) -> Bed:
        stack.callback(finished.append, "lab")
        stack.callback(remove_gateway)
        return set_up(self, stack, experiment)

    monkeypatch.setattr(Workbench, "_set_up", with_things_to_remove)
    return finished


def test_ctrl_c_in_a_tear_down_comes_after_it(plan: ResolvedPlan, removed: list[str], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), Workbench(plan, tmp_path / "engine.log") as workbench:
        workbench.bed_for(plan.experiments[0])
    assert removed == ["gateway", "lab"]


def test_ctrl_c_in_the_tear_down_of_a_failed_set_up_comes_after_it(
    plan: ResolvedPlan, removed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Bed:
        raise DutError("no such gateway")

    monkeypatch.setattr(Workbench, "_set_up_simulation", fail)
    with Workbench(plan, tmp_path / "engine.log") as workbench:
        with pytest.raises(KeyboardInterrupt):
            workbench.bed_for(plan.experiments[0])
        assert removed == ["gateway", "lab"]
