# SPDX-License-Identifier: Apache-2.0
"""Renders the history of plans as one self-contained HTML file, by the same means as the report of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from natxy.history.finding import Found
from natxy.history.past import PastRun
from natxy.history.series import PlanHistory, Series
from natxy.report.charts.chart import Chart
from natxy.report.charts.history import course_chart
from natxy.report.page.shared import data_block, live_script, pictures, source_hash, style, template
from natxy.report.page.terms import Explainer
from natxy.report.tables import history as tables
from natxy.report.tables.table import Table
from natxy.results.analysis.compare import SHARE_OF_BASELINE
from natxy.results.records import RunState

HISTORY_FILE: Final = "history.html"


@dataclass(frozen=True)
class SeriesPart:
    """Holds what is shown of an experiment: the charts of its headline and its ratio, and those of other figures."""

    title: str
    name: str
    charts: list[Chart]
    more: list[Chart]


@dataclass(frozen=True)
class PlanPart:
    name: str
    runs: int
    incomplete: int
    period: str
    split: list[str]
    change_points: Table
    latest: Table
    marks: Table
    all_runs: Table
    series: list[SeriesPart]


def render(found: Found, histories: Sequence[PlanHistory]) -> str:
    """Returns the page."""
    plans = [_plan(number, history) for number, history in enumerate(histories)]
    charts = [chart for plan in plans for series in plan.series for chart in (*series.charts, *series.more)]
    live = live_script() if charts else ""
    runs = sorted((run for history in histories for run in history.runs), key=lambda run: run.started_at)
    return template("history.html.j2", Explainer()).render(
        title=", ".join(history.name for history in histories),
        style=style(),
        run_count=len(runs),
        period=_period(runs),
        left_out=tables.left_out(found.left_out),
        plans=plans,
        pictures=pictures(charts),
        chart_data=data_block(charts),
        live=Markup(live),
        live_hash=source_hash(live),
    )


def _plan(number: int, history: PlanHistory) -> PlanPart:
    return PlanPart(
        name=history.name,
        runs=len(history.runs),
        incomplete=sum(run.state is not RunState.DONE for run in history.runs),
        period=_period(history.runs),
        split=tables.split(history),
        change_points=tables.change_points(history),
        latest=tables.latest(history),
        marks=tables.marks(history),
        all_runs=tables.runs(history),
        series=[_series(f"{number:02}-{index:02}", history, own) for index, own in enumerate(history.series)],
    )


def _series(name: str, history: PlanHistory, series: Series) -> SeriesPart:
    charts = [
        course_chart(history, series, course, name=f"{name}-{index:02}") for index, course in enumerate(series.courses)
    ]
    shown = {
        index for index, course in enumerate(series.courses) if index == 0 or course.name == SHARE_OF_BASELINE.name
    }
    return SeriesPart(
        title=series.full_title,
        name=series.experiment,
        charts=[chart for index, chart in enumerate(charts) if index in shown],
        more=[chart for index, chart in enumerate(charts) if index not in shown],
    )


def _period(runs: Sequence[PastRun]) -> str:
    first, last = tables.moment(runs[0].started_at), tables.moment(runs[-1].started_at)
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"
