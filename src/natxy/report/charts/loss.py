# SPDX-License-Identifier: Apache-2.0
"""Draws the loss of each trial against its rate, by the counter that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from natxy.causes.counted import outcome_or_counters
from natxy.causes.facts import missing
from natxy.plan.model.units import Unit
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Row, Spec
from natxy.results.records import ExperimentRecord, RepetitionRecord
from natxy.results.trials import MAKING, TrialRecord

_HEIGHT: Final = 240
# More would make the page slow, and lie on each other.
_MOST_ROWS: Final = 1500
# Marks at the ends of the axes are whole.
_ROOM: Final = 1.05


def loss_chart(experiment: ExperimentRecord, *, name: str) -> Chart | None:
    """Returns the chart of an experiment in which a repetition has no figure; None where none lacks it, or no trial
    lost anything."""
    rows = [
        _row(repetition, trial)
        for _, repetition, trial in experiment.all_trials
        if without_figure(repetition) and trial.planned
    ]
    if not any(row["share"] for row in rows):
        return None
    rows = rows[:: -(-len(rows) // _MOST_ROWS)]
    unit = Unit.CPS if all(row["kind"] in MAKING for row in rows) else Unit.FPS
    names = list(dict.fromkeys(str(row["cause"]) for row in rows))
    tooltip: list[Spec] = [
        {"field": "trial"},
        {"field": "rate", "title": chart.unit_words(unit), "format": ",.0f"},
        {"field": "share", "title": "lost, %", "format": ".4~r"},
        {"field": "lost", "format": ",.0f"},
        {"field": "reason"},
    ]
    spec = chart.spec(
        [
            {
                "params": [chart.standing_out("cause"), chart.zoom("x")],
                "mark": {"type": "point", "filled": True, "size": 70, "clip": True},
                "encoding": {"tooltip": tooltip},
            }
        ],
        height=_HEIGHT,
        data={"values": rows},
        encoding={
            "x": {"field": "rate", **chart.axis("rate", unit), "scale": _scale(rows, "rate")},
            # A few per mille would lie on the axis of a scale to 100 %.
            "y": {"field": "share", "type": "quantitative", "title": "lost (%)", "scale": _scale(rows, "share")},
            **{channel: value for channel, value in chart.series("cause", names).items() if channel != "strokeDash"},
        },
    )
    return Chart(name, "Loss against rate", f"Share of frames lost in % against the rate: {'; '.join(names)}", spec)


def without_figure(repetition: RepetitionRecord) -> bool:
    """Returns True for a repetition that ended without a rate that passed."""
    return repetition.finished_at is not None and repetition.lower_bound is None


def _scale(rows: Sequence[Row], field: str) -> Spec:
    return {"domain": [0, _ROOM * max(row[field] for row in rows)], "nice": False}


def _row(repetition: RepetitionRecord, trial: TrialRecord) -> Row:
    return {
        "trial": f"repetition {repetition.number}, step {trial.number}, {trial.kind.value}: {trial.verdict.value}",
        "kind": trial.kind.value,
        "rate": trial.rate_fps,
        "share": 100 * max(0, missing(trial)) / trial.planned,
        "lost": missing(trial),
        "cause": outcome_or_counters(trial),
        "reason": trial.reason,
    }
