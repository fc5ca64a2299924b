# SPDX-License-Identifier: Apache-2.0
"""The history as rows of plain values for other programs: one row for each figure of each run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from natxy.export.rows import Row
from natxy.history.finding import Found
from natxy.history.levels import Level
from natxy.history.series import ChangePoint, Course, PlanHistory, Point, Series
from natxy.results.intervals import Interval
from natxy.untrusted.texts import json_text


def history_rows(histories: Sequence[PlanHistory]) -> Iterator[Row]:
    """Yields a row for each figure of each run; values are in the figure's `unit`."""
    for history in histories:
        for series in history.series:
            for course in series.courses:
                changes = {point.after.number: point for point in course.change_points}
                for index, point in enumerate(course.points):
                    yield {
                        **_of_series(history, series, course, point),
                        **_of_point(point, _level_of(course, index)),
                        **_of_change(changes.get(point.number)),
                    }


def document(found: Found, histories: Sequence[PlanHistory]) -> dict[str, Any]:
    """Returns the rows and what was left out as one JSON document."""
    return {
        "figures": list(history_rows(histories)),
        "left_out": [{"folder": each.folder, "reason": each.reason} for each in found.left_out],
    }


def to_json(found: Found, histories: Sequence[PlanHistory]) -> str:
    return json_text(document(found, histories), indent=1) + "\n"


def _of_series(history: PlanHistory, series: Series, course: Course, point: Point) -> Row:
    return {
        "plan": history.name,
        "experiment": series.experiment,
        "title": series.title,
        "traffic": series.traffic,
        "procedure": series.procedure,
        "figure": course.name,
        "unit": course.unit.value,
        "run": point.number,
        "folder": point.run.folder,
        "started_at": point.run.started_at,
        "state": point.run.state.value,
        "natxy_version": point.run.natxy_version,
        "kernel": point.run.machine.get("kernel"),
        "gateway": json.loads(point.experiment.gateway).get("version"),
    }


def _of_point(point: Point, level: Level) -> Row:
    figure = point.figure
    return {
        "median_bound": figure.bound.value,
        "median": figure.median,
        **_interval("", figure.interval),
        "repetitions": len(figure.values),
        "level": level.median,
    }


def _of_change(change: ChangePoint | None) -> Row:
    """Returns the columns of a change of level, all empty where there is none."""
    level = change.level if change else None
    return {
        "change_percent": level.shift_percent if level else None,
        **_interval("change_", level.interval_percent if level else None),
        "change_is_better": change.is_better if change else None,
        "change_only_here": change.once if change else None,
        "changed": "; ".join(map(str, change.changes)) if change else None,
    }


def _interval(name: str, interval: Interval | None) -> Row:
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {f"{name}low": low, f"{name}high": high}


def _level_of(course: Course, index: int) -> Level:
    return next(level for level in reversed(course.division.levels) if level.first <= index)
