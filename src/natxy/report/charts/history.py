# SPDX-License-Identifier: Apache-2.0
"""The chart of a figure from run to run: medians with intervals, levels, and what changed, on the axis of runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from natxy.history.changes import Change
from natxy.history.series import ChangePoint, Course, PlanHistory, Point, Series
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Ink, Row, Spec
from natxy.report.tables import history as words
from natxy.results.records import RunState

_HEIGHT: Final = 270
# The plot's own height depends on its axis.
_BOTTOM: Final[Spec] = {"value": {"expr": "height"}}
_MOST_TICKS: Final = 60
# More of them would cover each other.
_MOST_WORDED: Final = 30
_MANY: Final = 150
_LONGEST: Final = 34
_HALF: Final = 0.5
_LEAST_WIDTH: Final = 560
_MARGIN: Final = 0.008
# In the colours of searches: blue for the better, orange for the worse.
_CHANGED: Final[Spec] = {
    "condition": {"test": "datum.better", "value": Ink.PASS.css},
    "value": Ink.FAIL.css,
}
# Beside a line in this part of the axis there is no room for text on the right.
_LAST_PART: Final = 0.92


def course_chart(history: PlanHistory, series: Series, course: Course, *, name: str) -> Chart:
    """Draws a figure in all runs of its series; the axis has all runs of the plan."""
    count = len(course.points)
    y: Spec = {**chart.axis("", course.unit), "title": chart.unit_words(course.unit), "scale": {"zero": False}}
    spec = chart.spec(
        [
            _changed(series),
            _intervals(count),
            _levels(course),
            _medians(count),
            *_change_points(history, course),
            _hover(course),
        ],
        height=_HEIGHT,
        padding={"top": 8, "bottom": 5, "left": 5, "right": 14},
        data={"values": list(map(_row, course.points))},
        encoding={"x": _runs_axis(history), "y": {"field": "median", **y}},
    )
    title = f"{series.full_title}: {course.title}"
    description = f"{title} in {len(course.points)} runs, {len(course.division.levels)} levels"
    return Chart(name, course.title, description, spec, _LEAST_WIDTH)


def _runs_axis(history: PlanHistory) -> Spec:
    count = len(history.runs)
    margin = max(_HALF, _MARGIN * count)
    step = math.ceil(count / _MOST_TICKS)
    ticks = list(range(1, count + 1, step))
    dates = {number: [f"#{number}", history.runs[number - 1].started_at[:10]] for number in ticks}
    return {
        "field": "run",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [1 - margin, count + margin], "nice": False, "zero": False},
        "axis": {
            "values": ticks,
            "labelExpr": f"{json.dumps(dates)}[datum.value]",
            "labelOverlap": "greedy",
            "labelSeparation": 12,
            "grid": False,
        },
    }


def _row(point: Point) -> Row:
    figure, unit = point.figure, point.figure.unit
    interval = figure.shown_interval
    ends = {"low": interval.low, "high": interval.high} if interval else {}
    return {
        "run": point.number,
        "began": words.moment(point.run.started_at),
        "median": chart.base(figure.median, unit),
        **{name: chart.base(end, unit) for name, end in ends.items()},
        "repetitions": len(figure.values),
        "state": point.run.state.value,
        "natxy": point.run.natxy_version,
        "folder": Path(point.run.folder).name,
        **({"bound": figure.bound.value} if figure.bound else {}),
    }


def _intervals(count: int) -> Spec:
    return {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 1 if count > _MANY else 2, "opacity": 0.55, "clip": True},
        "encoding": {
            "y": {"field": "low", "type": "quantitative"},
            "y2": {"field": "high"},
            "color": {"value": Ink.BRACKET.css},
        },
    }


def _levels(course: Course) -> Spec:
    """Draws each level as a horizontal line over the runs that have it."""
    rows: list[Row] = []
    for level in course.division.levels:
        own = course.points[level.first : level.first + level.count]
        median = chart.base(level.median, course.unit)
        rows.append({"run": own[0].number - _HALF, "end": own[-1].number + _HALF, "median": median})
    return {
        "data": {"values": rows},
        "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
        "encoding": {"x2": {"field": "end"}, "color": {"value": Ink.TEXT.css}},
    }


def _medians(count: int) -> Spec:
    """Draws a dot for the median of a run, and a cross if the run was not carried out to its end."""
    size = 14 if count > _MANY else 46
    complete = f"datum.state === '{RunState.DONE.value}'"

    def either(value: str | int, otherwise: str | int) -> Spec:
        return {"condition": {"test": complete, "value": value}, "value": otherwise}

    return {
        "params": [chart.zoom("x")],
        "mark": {"type": "point", "filled": True, "opacity": 1, "clip": True},
        "encoding": {
            "color": either(Ink.PASS.css, Ink.INVALID.css),
            "shape": either("circle", "cross"),
            "size": either(size, 2 * size),
        },
    }


def _hover(course: Course) -> Spec:
    number_format = {"format": chart.quantity_format(course.unit)}
    bounded = any(point.figure.bound for point in course.points)
    return {
        "name": chart.HOVER,
        "mark": {"type": "circle", "size": 140, "clip": True},
        "encoding": {
            "tooltip": [
                {"field": "run"},
                {"field": "began"},
                *([{"field": "bound"}] if bounded else []),
                {"field": "median", **number_format},
                {"field": "low", "title": "95 % from", **number_format},
                {"field": "high", "title": "to", **number_format},
                *({"field": field} for field in ("repetitions", "state", "natxy", "folder")),
            ],
            "opacity": {"value": 0},
        },
    }


def _change_points(history: PlanHistory, course: Course) -> Iterator[Spec]:
    """Draws a dashed line where the level changes, and the effect beside its top."""
    points = list(course.change_points)
    if not points:
        return
    rows = [_change_row(point, course) for point in points]
    steps = [row for row in rows if not row["once"]]
    yield {
        "data": {"values": steps},
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5, "clip": True},
        "encoding": {"x": {"field": "run"}, "y": {"value": 0}, "y2": _BOTTOM, "color": _CHANGED},
    }
    if len(rows) <= _MOST_WORDED:
        last = _LAST_PART * len(history.runs)
        # A mark outside of axes that can be moved would be cut off.
        for align, dx in (("left", 5), ("right", -5)):
            own = [row for row in steps if (row["run"] > last) is (align == "right")]
            yield _effects(own, {"y": {"value": 0}}, align=align, dx=dx, dy=3)
        yield _effects([row for row in rows if row["once"]], {}, align="center", dx=0, dy=7)


def _effects(rows: list[Row], where: Spec, **mark: Any) -> Spec:
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "baseline": "top", "fontSize": 12, "fontWeight": 600, **mark},
        "encoding": {"x": {"field": "run"}, **where, "text": {"field": "shift"}, "color": _CHANGED},
    }


def _change_row(point: ChangePoint, course: Course) -> Row:
    return {
        "run": point.after.number - (0 if point.once else _HALF),
        "median": chart.base(point.after.figure.median, course.unit),
        "shift": words.effect(point.level),
        "once": point.once,
        "better": point.is_better,
    }


def _changed(series: Series) -> Spec:
    """Draws a dotted line where a version or a setting changed, with the change along it."""
    rows = [{"run": mark.number - _HALF, "changed": _short(*mark.changes)} for mark in series.marks]
    text: list[Spec] = [
        {
            "mark": {"type": "text", "angle": 270, "align": "left", "baseline": "bottom", "dx": 4, "dy": -3},
            "encoding": {"y": _BOTTOM, "text": {"field": "changed"}, "color": {"value": Ink.MUTED.css}},
        }
    ]
    return {
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [1, 3], "strokeWidth": 1.2, "clip": True},
                "encoding": {"y": {"value": 0}, "y2": _BOTTOM, "color": {"value": Ink.MUTED.css}},
            },
            *(text if len(rows) <= _MOST_WORDED else []),
        ],
    }


def _short(first: Change, *others: Change) -> str:
    text = f"{first.what} → {first.after}"
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"{shown} (+{len(others)})" if others else shown
