# SPDX-License-Identifier: Apache-2.0
"""Shows a run: how far it is, what it tries now, its searches, the present trial, and the results so far."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Final

from natxy.events.trials import TrialFinished
from natxy.plan.model.units import format_duration, format_quantity
from natxy.report.charts.chart import Chart, unit_words
from natxy.report.charts.search import search_chart
from natxy.report.charts.series import course_chart
from natxy.report.page.html import REPORT_FILE
from natxy.results.records import State as Ended
from natxy.results.trials import KIND_WORDS
from natxy.untrusted.texts import json_text, plain, plain_within
from natxy.untrusted.values import utc
from natxy.watch.page.follow import Follower
from natxy.watch.page.shell import rendered
from natxy.watch.state import State
from natxy.watch.wording import ending_text, quantity_text, transfers_text, trial_text

# Longer searches would take a browser too long to draw each time.
_MOST_STEPS: Final = 200


class RunView:
    """Shows the run in a folder. Raises PlanError when the folder has no events, or those of another version."""

    charts = True

    def __init__(self, folder: Path) -> None:
        self._report = folder / REPORT_FILE
        self._follower = Follower(folder)
        self.read = self._follower.read

    @property
    def name(self) -> str:
        run = self._follower.state.run
        return run.name if run else "a run"

    def parts(self) -> dict[str, str]:
        follower = self._follower
        charts = {"search": _search(follower), "course": _course(follower.state)}
        specs = {name: _specification(chart) if chart else "null" for name, chart in charts.items()}
        state = _state(follower, has_report=self._report.is_file())
        texts = {"state": state, "log": plain("\n".join(follower.log))}
        return {name: json.dumps(text) for name, text in texts.items()} | specs


def _specification(chart: Chart) -> str:
    return json_text(plain_within(chart.spec), indent=None)


def _state(follower: Follower, *, has_report: bool) -> str:
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
        experiments=list(_experiments(state)),
        has_report=has_report,
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
            cores = len(last.dut_load.cores)
            yield "Gateway", f"{last.dut_load.busy_s / last.dut_load.elapsed_s:.2f} of {cores} cores busy in that trial"
        pause = format_duration(last.tester_pause_s)
        yield "Tester", f"99 % of its frames left at most {last.late_ns / 1000:,.1f} µs late; its core paused {pause}"
    elif last:
        yield "Last test", transfers_text(last.transfers)


def _experiments(state: State) -> Iterator[tuple[str, str, str]]:
    """Yields title, how far it is, and the class of that for each experiment of the plan."""
    ended = {experiment.name: event for experiment, event in state.finished}
    for experiment in state.run.experiments if state.run else ():
        done = f"{state.done[experiment.name]} of {experiment.repetitions} repetitions done"
        if event := ended.get(experiment.name):
            yield experiment.title, ending_text(experiment, event), "pass" if event.state == Ended.DONE else "invalid"
        elif experiment is state.experiment and not state.ended:
            yield experiment.title, f"measuring; {done}", "now"
        else:
            yield (
                experiment.title,
                f"waiting; {done}" if state.done[experiment.name] else "waiting",
                "",
            )


def _search(follower: Follower) -> Chart | None:
    experiment, steps = follower.state.experiment, follower.steps[-_MOST_STEPS:]
    if experiment is None or not steps:
        return None
    return search_chart(
        steps, name="search", title=experiment.title, unit=unit_words(experiment.step_unit), median=None
    )


def _course(state: State) -> Chart | None:
    rows = [
        {"trial": state.course_title, "series": series, "second": number, "frames": frames}
        for number, second in enumerate(state.course)
        for series, frames in (("sent", second.sent), ("received", second.received))
    ]
    return course_chart(rows, name="course") if len(state.course) > 1 else None
