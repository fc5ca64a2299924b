# SPDX-License-Identifier: Apache-2.0
"""The chart of a trial second by second: the frames that each direction sent, and those that arrived.

A live chart offers a choice of several trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Ink, Row, Spec
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord, RepetitionRecord
from natxy.results.trials import TrialKind, TrialRecord

_HEIGHT: Final = 240
_LEAST_SECONDS: Final = 3
_LAST_GAP_S: Final = 0.01
_CHOSEN: Final = "chosen"
# Longer courses are averaged to so many points.
_MOST_POINTS: Final = 400
# The most that a page with a hundred of these charts can hold.
_MOST_ROWS: Final = 1500
_MOST_TRIALS: Final = 20


def series_chart(experiment: ExperimentRecord, *, name: str) -> Chart | None:
    """Draws the trial that decided the last repetition, with others to choose from.

    None when the trials were too short to have a course.
    """
    rows: list[Row] = []
    for repetition, trial in _trials(experiment):
        course = [{"trial": _words(repetition, trial), **row} for row in _rows(trial)]
        if rows and len(rows) + len(course) > _MOST_ROWS:
            break
        rows += course
    return course_chart(rows, name=name) if rows else None


def course_chart(rows: Sequence[Row], *, name: str) -> Chart:
    """Draws rows with `trial`, `series`, `second` and `frames`: the first trial, with the others to choose from."""
    trials = list(dict.fromkeys(str(row["trial"]) for row in rows))
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    tooltip: list[Spec] = [
        {"field": "series", "title": "frames"},
        {"field": "second"},
        {"field": "frames", "title": "a second", "format": ",.0f"},
    ]
    layers: list[Spec] = [
        {
            "params": [chart.standing_out("series"), chart.zoom("x")],
            "mark": {"type": "line", "strokeWidth": 1.8, "interpolate": "step-after", "clip": True},
        },
        {
            "name": chart.HOVER,
            "mark": {"type": "circle", "size": 120, "clip": True},
            "encoding": {"tooltip": tooltip, "opacity": {"value": 0}},
        },
    ]
    spec = chart.spec(
        layers,
        height=_HEIGHT,
        title={
            "text": {"expr": _CHOSEN},
            "anchor": "start",
            "fontSize": 12,
            "fontWeight": "normal",
            "color": Ink.MUTED.css,
        },
        params=[{"name": _CHOSEN, "value": trials[0], **_choice(trials)}],
        data={"values": rows},
        transform=[{"filter": f"datum.trial === {_CHOSEN}"}],
        encoding={
            "x": {"field": "second", "type": "quantitative", "title": "seconds after the trial's start"},
            "y": {"field": "frames", **chart.axis("", Unit.FPS), "title": "frames in a second"},
            **chart.series("series", names, marks=False),
        },
    )
    return Chart(name, "One trial's course", f"{trials[0]}: frames sent and received in each second", spec)


def _choice(trials: Sequence[str]) -> Spec:
    if len(trials) == 1:
        return {}
    return {"bind": {"input": "select", "options": list(trials), "name": "Trial: "}}


def _words(repetition: RepetitionRecord, trial: TrialRecord) -> str:
    attempt = f", attempt {trial.attempt}" if trial.attempt > 1 else ""
    where = f"repetition {repetition.number}, step {trial.number}{attempt}"
    return f"{where}, {wording.number(trial.rate_fps)} frames/s: {trial.verdict.value}"


def _trials(experiment: ExperimentRecord) -> list[tuple[RepetitionRecord, TrialRecord]]:
    """Returns the decisive trial, then all others, those of later repetitions first."""
    decisive = _deciding_trial(experiment)
    if decisive is None:
        return []
    others = [
        (repetition, trial)
        for repetition in reversed(experiment.repetitions)
        for trial in repetition.trials
        if trial.kind is TrialKind.TRAFFIC and trial is not decisive[1]
    ]
    return [decisive, *others][:_MOST_TRIALS]


def _deciding_trial(experiment: ExperimentRecord) -> tuple[RepetitionRecord, TrialRecord] | None:
    """Returns the last trial that passed at the rate found, or otherwise the last valid trial."""
    for repetition in reversed(experiment.repetitions):
        valid = [t for t in repetition.trials if t.kind is TrialKind.TRAFFIC and not t.undecided]
        if repetition.measured and valid:
            decisive = [t for t in valid if t.verdict is Verdict.PASS and t.step_rate == repetition.lower_bound]
            return repetition, (decisive or valid)[-1]
    return None


def _rows(trial: TrialRecord) -> Iterator[Row]:
    for stream in trial.result.streams:
        for what, counts in (("sent", stream.sent_per_second), ("received", stream.received_per_second)):
            # The rest after the last whole second is not a rate; the last frame leaves a little before the end.
            whole = counts[: math.floor(trial.duration_s + _LAST_GAP_S)]
            if len(whole) < _LEAST_SECONDS:
                continue
            for second, frames in _averaged(whole):
                yield {"series": f"{stream.name}, {what}", "second": second, "frames": frames}


def _averaged(counts: Sequence[int]) -> Iterator[tuple[int, float]]:
    step = math.ceil(len(counts) / _MOST_POINTS)
    for start in range(0, len(counts), step):
        part = counts[start : start + step]
        yield start, sum(part) / len(part)
