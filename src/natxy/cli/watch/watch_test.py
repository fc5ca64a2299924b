# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from natxy.cli.watch.live import LiveWatch
from natxy.cli.watch.plain import PlainWatch
from natxy.cli.watch.time_left import TimeLeft
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.run.estimate import estimate_s, expected_steps
from natxy.run.run import run_plan


class Clock:
    now_s = 0.0


@pytest.fixture
def plan() -> ResolvedPlan:
    experiment = {
        "name": "x",
        "title": "x" * 100,
        "procedure": "throughput",
        "gateway": "simulated",
        "search": {"max_rate": "1M"},
    }
    return resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}))


class Interrupted(io.StringIO):
    """A terminal on which Ctrl-C is typed while the first view is drawn."""

    def write(self, text: str) -> int:
        if "setting up" in text and "setting up" not in self.getvalue():
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def test_a_view_is_drawn_whole_before_an_interrupt_is_heard(plan: ResolvedPlan) -> None:
    terminal = Interrupted()
    watch = LiveWatch(plan, Console(file=terminal, force_terminal=True, width=80))
    with watch, pytest.raises(KeyboardInterrupt):
        watch.repetition_started(plan.experiments[0], 1)
    drawn, _, cleared = terminal.getvalue().rpartition("setting up")
    assert "1/1" in drawn
    # One line up and erased for each of the three that are drawn, after a last line feed.
    assert cleared.endswith("\r" + 3 * "\x1b[1A\x1b[2K")


def test_an_echoed_ctrl_c_finds_room_in_the_last_line(plan: ResolvedPlan) -> None:
    terminal = io.StringIO()
    with LiveWatch(plan, Console(file=terminal, force_terminal=True, width=80)) as watch:
        watch.repetition_started(plan.experiments[0], 1)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) == 78


def test_tests_between_hosts_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["natxy.cli.watch.live"], "REFRESH_S", 0.0)
    tests = {"name": "x", "procedure": "tcp-goodput", "gateway": "simulated", "directions": "forward", "repeat": 2}
    plan = resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [tests]}))
    plain, live = io.StringIO(), io.StringIO()
    run_plan(plan, tmp_path / "plain", PlainWatch(plan, Console(file=plain)))
    assert plain.getvalue().count("  test 3: forward 3.861 Gbit/s") == 2
    assert re.search(r"experiment 1/1: .*, repetition 2; about \d+ (ms|s) left", plain.getvalue())
    watch = LiveWatch(plan, Console(file=live, force_terminal=True, width=80))
    with watch:
        run_plan(plan, tmp_path / "live", watch)
    assert "6 between hosts" in live.getvalue()
    assert "invalid" not in live.getvalue()


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> tuple[ResolvedPlan, Clock]:
    """Returns a plan of four equally long cells on a real testbed, and the clock."""
    cell = {"procedure": "throughput", "gateway": "linux-forward", "search": {"max_rate": "1M"}}
    cells = [cell | {"name": f"x/{number}"} for number in range(4)]
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: clock.now_s)
    return resolve(Plan.model_validate({"name": "p", "experiments": cells})), clock


def test_time_left_is_that_of_all_cells_and_shrinks(sweep: tuple[ResolvedPlan, Clock]) -> None:
    plan, clock = sweep
    left = TimeLeft(plan)
    shown = []
    for repetition in range(1, 21):
        for experiment in plan.experiments:
            for step in range(1, expected_steps(experiment) + 1):
                shown.append(left.seconds(experiment, step))
                clock.now_s += 2 * estimate_s(plan) / (4 * 20 * expected_steps(experiment))
                left.step_finished(experiment, repetition, step)
            left.repetition_finished(experiment)
    assert shown[0] == pytest.approx(estimate_s(plan))
    assert shown[1] == pytest.approx(2 * estimate_s(plan), rel=0.01)
    assert shown[1:] == sorted(shown[1:], reverse=True)
    assert 0 < shown[-1] < 0.01 * shown[0]


def test_cells_measured_before_a_resume_say_nothing_of_the_pace(sweep: tuple[ResolvedPlan, Clock]) -> None:
    plan, clock = sweep
    left = TimeLeft(plan)
    for experiment in plan.experiments[:2]:
        left.experiment_finished(experiment)
    clock.now_s += 1
    assert left.seconds(plan.experiments[2], 1) == pytest.approx(estimate_s(plan) / 2)
