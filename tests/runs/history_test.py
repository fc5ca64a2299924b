# SPDX-License-Identifier: Apache-2.0
"""Follows what a frame costs over runs of a simulated gateway."""

from __future__ import annotations

from pathlib import Path

from natxy.events.listener import RunListener
from natxy.history.past import past_run
from natxy.history.series import histories
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.run.run import run_plan


def measured(folder: Path, frame_instructions: int) -> Path:
    gateway = {"driver": "simulated", "frame_instructions": frame_instructions, "buffer_frames": 1000}
    experiment = {"name": "nat", "gateway": gateway, "procedure": {"name": "frame-cost", "rounds": 1}}
    head = {"name": "nightly", "repeat": 3, "timing": "lab", "testbed": {"kind": "simulated"}}
    plan = resolve(Plan.model_validate(head | {"experiments": [experiment]}))
    assert run_plan(plan, folder, RunListener()) == 0
    return folder


def test_a_frame_that_costs_one_percent_more_is_a_change_of_level(tmp_path: Path) -> None:
    costs = [10_000] * 6 + [10_100] * 6
    folders = [measured(tmp_path / f"{number:02}", cost) for number, cost in enumerate(costs)]
    [found] = histories([past_run(str(folder), RunReader(folder, trials=False).run) for folder in folders])
    [series] = found.series
    [course] = [course for course in series.courses if course.name == "instructions"]
    [change] = course.change_points
    assert (change.before.number, change.after.number, change.is_better) == (6, 7, False)
    assert change.level.shift_percent is not None
    assert 0.9 < change.level.shift_percent < 1.1
