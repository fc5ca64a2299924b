# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.history.past import PastFigure, past_run
from natxy.history.series import Course, PlanHistory, Point, histories
from natxy.plan.model.units import Unit
from natxy.results.analysis.compare import SHARE_OF_BASELINE
from natxy.results.bounded import Bound
from natxy.results.reader import RunReader
from natxy.results.records import RunState, State
from tests.support.past_runs import night
from tests.support.sample_runs import SampleRun


def history(*folders: Path) -> PlanHistory:
    (found,) = histories([past_run(str(folder), RunReader(folder, trials=False).run) for folder in folders])
    return found


def test_a_figure_and_its_ratio_run_through_all_nights(tmp_path: Path) -> None:
    kernels = {number: "6.12.5" if number > 6 else "6.1.0-18-amd64" for number in range(1, 13)}
    found = history(*(night(tmp_path, n, 240e3 if n > 6 else 200e3, kernel=kernel) for n, kernel in kernels.items()))
    forward, nat = found.series
    assert [course.name for course in nat.courses] == ["rate", SHARE_OF_BASELINE.name]
    assert [len(course.points) for course in nat.courses] == [12, 12]
    assert [*forward.courses[0].change_points] == []
    for course in nat.courses:
        (change,) = course.change_points
        assert (change.before.number, change.after.number, change.once) == (6, 7, False)
        assert change.level.shift_percent is not None
        assert 15 < change.level.shift_percent < 25
        assert [str(each) for each in change.changes] == ["gateway's kernel: Linux 6.1.0-18-amd64 → Linux 6.12.5"]
    assert [mark.number for mark in nat.marks] == [7]
    assert found.split == {}


@pytest.mark.parametrize(("medians", "better"), [((0.0, 50.0), False), ((50.0, 0.0), True)])
def test_a_loss_that_rises_from_0_is_worse(tmp_path: Path, medians: Sequence[float], better: bool) -> None:
    figure = PastFigure("lost", "Frames lost", Unit.FRAMES, False, (), 0.0, Bound.EXACTLY, None, None, 0.0)
    run = past_run("night", RunReader(night(tmp_path, 1), trials=False).run)
    before, after = medians
    points = [
        Point(number, run, run.experiments[0], replace(figure, median=median, values=(median, median + 0.1)))
        for number, median in enumerate([before] * 6 + [after] * 6, 1)
    ]
    (change,) = Course(figure.name, figure.title, figure.unit, tuple(points)).change_points
    assert (change.is_better, change.after.number) == (better, 7)
    assert change.level.shift_percent == (-100.0 if before else None)


def test_other_traffic_is_another_series(tmp_path: Path) -> None:
    found = history(night(tmp_path, 1), night(tmp_path, 2), night(tmp_path, 3, frame_size=128), night(tmp_path, 4))
    assert [series.full_title for series in found.series] == [
        "Forwarding", "NAT (frame size 64)", "NAT (frame size 128)",
    ]  # fmt: skip
    assert [[p.number for p in series.courses[0].points] for series in found.series[1:]] == [[1, 2, 4], [3]]
    assert found.split == {"NAT": ["frame size 64", "frame size 128"]}


def test_plans_are_told_by_their_names(tmp_path: Path) -> None:
    folders = night(tmp_path, 1), night(tmp_path, 2, name="weekly"), night(tmp_path, 3)
    found = histories([past_run(str(each), RunReader(each, trials=False).run) for each in folders])
    assert [(each.name, len(each.runs)) for each in found] == [("nightly", 2), ("weekly", 1)]


def test_a_run_without_result_is_missing_and_an_interrupted_one_is_marked(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path / "limited", name="nightly")
    limited = sample.declare("nat", title="NAT", gateway="nftables")
    sample.store.set_experiment_state(limited, State.TESTER_LIMIT, "lower max_rate")
    found = history(night(tmp_path, 1, state=RunState.INTERRUPTED), sample.end())
    assert [point.complete for point in found.series[1].courses[0].points] == [False]
    assert found.series[1].missing == ((2, "tester_limit: lower max_rate"),)
