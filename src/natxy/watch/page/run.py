# SPDX-License-Identifier: Apache-2.0
"""Shows a run: how far it is, what it tries now, its searches, the present trial, and the results so far."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Final, NamedTuple

from natxy.events.trials import TrialFinished
from natxy.plan.model.units import counted, format_duration, format_quantity
from natxy.report.charts.chart import Chart, unit_words
from natxy.report.charts.search import search_chart
from natxy.report.charts.series import course_chart
from natxy.results.records import State as Ended
from natxy.results.trials import KIND_WORDS
from natxy.untrusted.files import ForeignFolder
from natxy.untrusted.texts import json_text, plain, plain_within
from natxy.untrusted.values import utc
from natxy.watch.page.follow import Follower
from natxy.watch.page.shell import other_pages, rendered
from natxy.watch.state import State
from natxy.watch.wording import ending_text, quantity_text, transfers_text, trial_text

# Longer searches would take a browser too long to draw each time.
_MOST_STEPS: Final = 200


class RunView:
    """Shows the run in a folder. Raises PlanError when the folder has no events, or those of another version."""

    charts = True

    def __init__(self, folder: ForeignFolder) -> None:
        self._folder = folder
        self._follower = Follower(folder)
        self.read = self._follower.read

    @property
    def name(self) -> str:
        run = self._follower.state.run
        return run.name if run else "a run"

    @property
    def tester_cores(self) -> frozenset[int]:
        state = self._follower.state
        return frozenset() if state.ended else state.tester_cores

    def parts(self) -> dict[str, str]:
        follower = self._follower
        charts = {"search": _search(follower), "course": _course(follower)}
        specs = {name: _specification(chart) if chart else "null" for name, chart in charts.items()}
        texts = {
            "state": _state(follower, other_pages(self._folder)),
            "plan": rendered("run_plan.html.j2", experiments=list(_experiments(follower.state))),
            "log": plain("\n".join(follower.log)),
        }
        return {name: json.dumps(text) for name, text in texts.items()} | specs


def _specification(chart: Chart) -> str:
    return json_text(plain_within(chart.spec), indent=None)


def _state(follower: Follower, pages: Sequence[str]) -> str:
    state = follower.state
    return rendered(
        "run.html.j2",
        run=state.run,
        ended=state.ended,
        share=state.share_done,
        time_left=state.time_left_text,
        at=utc(follower.last.time).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if follower.last else "",
        facts=dict(_facts(state)),
        verdict=state.last.verdict if isinstance(state.last, TrialFinished) else "",
        pages=pages,
    )


def _facts(state: State) -> Iterator[tuple[str, str]]:
    experiment, attempt, progress, last = state.experiment, state.attempt, state.progress, state.last
    if experiment is None:
        return
    if block := state.position.block:
        yield "Block", block
    yield "Experiment", f"{state.position.experiment(experiment)}: {experiment.title}"
    yield "Repetition", state.position.repetition(experiment, state.repetition)
    if attempt:
        unit = experiment.step_unit
        yield "Step", f"{attempt.step} of about {experiment.steps}: {quantity_text(attempt.rate, unit)}"
        if attempt.lower is not None and attempt.upper is not None:
            yield "Between", f"{format_quantity(attempt.lower, unit)} and {format_quantity(attempt.upper, unit)}"
    elif not state.ended:
        yield "Step", "setting up"
    if progress:
        missing = max(0, progress.sent - progress.received)
        counts = f"{progress.sent:,} of {progress.planned:,} sent, {missing:,} missing"
        yield KIND_WORDS[progress.kind].capitalize(), counts
    if isinstance(last, TrialFinished):
        yield "Last trial", trial_text(last)
        if last.dut_load and last.dut_load.elapsed_s:
            cores = counted(len(last.dut_load.cores), "core")
            yield "Gateway", f"{last.dut_load.busy_s / last.dut_load.elapsed_s:.2f} of {cores} busy in that trial"
        pause = format_duration(last.tester_pause_s)
        yield "Tester", f"99 % of its frames left at most {last.late_ns / 1000:,.1f} µs late; its core paused {pause}"
    elif last:
        yield "Last test", transfers_text(last.transfers)


class Row(NamedTuple):
    """Holds an experiment of the plan, its repetitions that are done, and its result or what it does.

    `look` is its class on the page.
    """

    title: str
    done: int
    at_most: int
    text: str
    look: str


def _experiments(state: State) -> Iterator[Row]:
    ended = {experiment.name: event for experiment, event in state.finished}
    for experiment in state.run.experiments if state.run else ():
        if event := ended.get(experiment.name):
            text, look = ending_text(experiment, event), "pass" if event.state == Ended.DONE else "invalid"
        elif state.ended:
            text, look = "not finished", ""
        elif experiment is state.experiment:
            text, look = "measuring", "now"
        else:
            text, look = "waiting", ""
        yield Row(experiment.title, state.done[experiment.name], experiment.repetitions, text, look)


def _search(follower: Follower) -> Chart | None:
    experiment, steps = follower.state.experiment, follower.steps[-_MOST_STEPS:]
    if experiment is None or not steps:
        return None
    return search_chart(
        steps, name="search", title=experiment.title, unit=unit_words(experiment.step_unit), median=None
    )


def _course(follower: Follower) -> Chart | None:
    rows = [
        {"trial": follower.course_title, "series": series, "second": number, "frames": getattr(second, series)}
        for series in ("received", "missing", "sent")
        for number, second in enumerate(follower.course)
    ]
    return course_chart(rows, name="course") if rows else None
