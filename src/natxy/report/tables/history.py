# SPDX-License-Identifier: Apache-2.0
"""Tables of a plan's history: changes of level, what changed between runs, the latest results, the runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from natxy.history.changes import Change
from natxy.history.finding import LeftOut
from natxy.history.levels import Level
from natxy.history.series import Course, PlanHistory, Point, Series
from natxy.plan.model.units import Unit, format_quantity
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.report.words.states import RUN_STATE_WORDS
from natxy.results.bounded import Bounded
from natxy.results.intervals import Interval

METHOD: Final = (
    "Levels are those of jumpavg, the library by which FD.io CSIT finds regressions; a level is shown where the 95 % "
    "confidence interval of the difference excludes 0. The interval compares the medians of up to 30 runs on each "
    "side, of a single run its repetitions."
)
_ALL: Final = "all"


def change_points(history: PlanHistory) -> Table:
    """Returns a row for each change of a figure's level, the latest first."""
    columns = (
        Column("Experiment"), Column("Figure"), Column("Effect", numeric=True), Column("95 % interval", numeric=True),
        Column("Verdict"), Column("From run"), Column("To run"), Column("What changed with it"),
    )  # fmt: skip
    found = [
        (series, course, point)
        for series in history.series
        for course in series.courses
        for point in course.change_points
    ]
    found.sort(key=lambda each: each[2].after.number, reverse=True)
    rows = (
        (
            series.full_title,
            course.title,
            effect(point.level),
            _effect_interval(point.level.interval_percent),
            "better" if point.is_better else "worse",
            f"#{point.before.number}",
            run(point.after) + (" only" if point.once else ""),
            what_changed(point.changes),
        )
        for series, course, point in found
    )
    return Table("Changes of level", columns, tuple(rows), note=METHOD)


def run(point: Point) -> str:
    """Names a run by its number and date."""
    return f"#{point.number}, {point.run.started_at[:10]}"


def effect(level: Level) -> str:
    """Returns how far a level lies from the one before, such as `−7.1 %`."""
    return wording.ABSENT if level.shift_percent is None else f"{_signed(level.shift_percent)} %"


def _effect_interval(found: Interval | None) -> str:
    return f"{_signed(found.low)} to {_signed(found.high)} %" if found else wording.ABSENT


def what_changed(changes: Sequence[Change]) -> str:
    return "; ".join(map(str, changes)) or "nothing known"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")


def marks(history: PlanHistory) -> Table:
    """Returns a row for each change of a version or a setting, the latest first, with the experiments it applies to."""
    columns = (Column("From run"), Column("What"), Column("Before"), Column("After"), Column("Experiments"))
    titles: dict[tuple[int, str, Change], list[str]] = {}
    running: dict[int, int] = {}
    for series in history.series:
        for mark in series.marks:
            for change in mark.changes:
                titles.setdefault((mark.number, mark.run.started_at, change), []).append(series.full_title)
        for number in {point.number for course in series.courses for point in course.points}:
            running[number] = running.get(number, 0) + 1
    rows = (
        (
            f"#{number}, {started_at[:10]}",
            change.what,
            change.before,
            change.after,
            _ALL if len(own) == running.get(number) else ", ".join(own),
        )
        for (number, started_at, change), own in sorted(titles.items(), key=lambda each: each[0][0], reverse=True)
    )
    return Table("Versions and settings that changed", columns, tuple(rows))


def latest(history: PlanHistory) -> Table:
    """Returns a row for each figure: its latest median with its interval, and the level that it belongs to."""
    columns = (
        Column("Experiment"), Column("Figure"), Column("Runs", numeric=True), Column("Latest", numeric=True),
        Column("95 % interval", numeric=True), Column("Level", numeric=True), Column("since"),
    )  # fmt: skip
    rows = (_latest(series, course) for series in history.series for course in series.courses)
    return Table("Latest results", columns, tuple(rows))


def _latest(series: Series, course: Course) -> tuple[str, ...]:
    point, level = course.points[-1], course.division.levels[-1]
    return (
        series.full_title,
        course.title,
        str(len(course.points)),
        value(point),
        interval(point.figure.shown_interval, course.unit),
        _quantity(level.median, course.unit),
        run(course.points[level.first]),
    )


def value(point: Point) -> str:
    """Returns the median with its bound."""
    unit = point.figure.unit
    return Bounded(point.figure.median, point.figure.bound).text(lambda plain: _quantity(plain, unit))


def interval(found: Interval | None, unit: Unit) -> str:
    return f"{_quantity(found.low, unit)} – {_quantity(found.high, unit)}" if found else wording.ABSENT


def _quantity(plain: float, unit: Unit) -> str:
    return wording.percent(plain) if unit is Unit.PERCENT else format_quantity(plain, unit)


def runs(history: PlanHistory) -> Table:
    """Returns a row for each run, the latest first."""
    columns = (
        Column("Run"), Column("Began"), Column("State"), Column("natxy"), Column("Kernel"), Column("Folder"),
        Column("Without result"),
    )  # fmt: skip
    missing: dict[int, list[str]] = {}
    for series in history.series:
        for number, state in series.missing:
            missing.setdefault(number, []).append(f"{series.full_title} ({state})")
    rows = [
        (
            f"#{number}",
            moment(each.started_at),
            RUN_STATE_WORDS[each.state],
            each.natxy_version,
            each.machine.get("kernel", wording.ABSENT),
            each.folder,
            "; ".join(missing.get(number, ())),
        )
        for number, each in enumerate(history.runs, 1)
    ]
    return Table("Runs", columns, tuple(reversed(rows)))


def left_out(found: Sequence[LeftOut]) -> Table:
    rows = tuple((each.folder, each.reason) for each in found)
    return Table("Not in the history", (Column("Folder"), Column("Reason")), rows)


def split(history: PlanHistory) -> list[str]:
    """Returns a sentence for each experiment whose runs had different traffic."""
    return [
        f"{title} was measured with different traffic, which is not comparable: {'; '.join(traffic)} are series of "
        "their own."
        for title, traffic in history.split.items()
    ]


def moment(timestamp: str) -> str:
    return datetime.fromisoformat(timestamp).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
