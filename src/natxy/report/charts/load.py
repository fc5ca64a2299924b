# SPDX-License-Identifier: Apache-2.0
"""Draws the load of the DUT's cores against the rate: where the packets went, and which core was the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import Unit, counted
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Row, Spec
from natxy.results.analysis.dut_cost import SHARES, ns_per_frame, shares
from natxy.results.dut_load import CoreLoad
from natxy.results.records import ExperimentRecord, RepetitionRecord
from natxy.results.trials import Purpose, TrialRecord

_HEIGHT: Final = 240
# The cores of larger machines are drawn as the busiest one and the mean.
_MOST_CORES: Final = 8
# The most that a page with a hundred of these charts can hold.
_MOST_ROWS: Final = 1500


def load_chart(experiment: ExperimentRecord, *, name: str) -> Chart | None:
    """Draws a mark for each core and trial, or for some trials of the whole run; None when no load is known."""
    found = [[*_rows(repetition, trial)] for repetition in experiment.repetitions for trial in repetition.trials]
    trials = [each for each in found if each]
    if not trials:
        return None
    drawn = _thinned(trials)
    rows = [row for each in drawn for row in each]
    names = sorted({str(row["core"]) for row in rows}, key=lambda core: (len(core), core))
    tooltip: list[Spec] = [
        {"field": "trial"},
        {"field": "core"},
        {"field": "rate", "title": "frames/s per direction", "format": ",.0f"},
        *({"field": each, "title": f"{each}, %", "format": ".1f"} for each in SHARES),
        {"field": "frames", "title": "frames processed here", "format": ",.0f"},
        {"field": "dropped", "title": "dropped in its queue", "format": ",.0f"},
        {"field": "cost", "title": "ns of all cores per frame", "format": ",.0f"},
    ]
    layer: Spec = {
        "params": [chart.standing_out("core"), chart.zoom("x")],
        "mark": {"type": "point", "filled": True, "size": 60, "clip": True},
        "encoding": {"tooltip": tooltip},
    }
    spec = chart.spec(
        [layer],
        height=_HEIGHT,
        data={"values": rows},
        encoding={
            "x": {"field": "rate", **chart.axis("rate", Unit.FPS)},
            # Marks at 100 % are whole.
            "y": {"field": "busy", **chart.axis("busy", Unit.PERCENT), "scale": {"domain": [0, 104], "nice": False}},
            **{channel: value for channel, value in chart.series("core", names).items() if channel != "strokeDash"},
        },
    )
    description = f"Time in which the DUT's cores were busy, in % of each trial, against its rate: {', '.join(names)}"
    title = "Load of the DUT's cores"
    if len(drawn) < len(trials):
        title = f"{title}, in {len(drawn):,} of {counted(len(trials), 'trial')}"
    return Chart(name, title, description, spec)


def _thinned(trials: Sequence[list[Row]]) -> list[list[Row]]:
    """Returns all trials, or as many as fit, at even distances from the first to the last."""
    most = max(1, _MOST_ROWS // max(map(len, trials)))
    if len(trials) <= most:
        return [*trials]
    return [trials[number * len(trials) // most] for number in range(most)]


def _rows(repetition: RepetitionRecord, trial: TrialRecord) -> Iterator[Row]:
    """Yields a row for each core of a trial that counted and that the search decides by."""
    load = trial.dut_load
    if load is None or trial.purpose is not Purpose.MEASURE or trial.verdict is Verdict.INVALID or not trial.duration_s:
        return
    shared: Row = {
        "trial": f"repetition {repetition.number}, step {trial.number}, {trial.kind.value}: {trial.verdict.value}",
        "rate": trial.rate_fps,
        "cost": ns_per_frame([trial]),
    }
    if len(load.cores) <= _MOST_CORES:
        for core in load.cores:
            yield {"core": f"core {core.core}", **shared, **_shares([core], trial.duration_s)}
        return
    busiest = max(load.cores, key=lambda core: core.busy_s)
    yield {"core": "busiest core", **shared, **_shares([busiest], trial.duration_s)}
    yield {"core": f"mean of {len(load.cores)} cores", **shared, **_shares(load.cores, trial.duration_s)}


def _shares(cores: Sequence[CoreLoad], duration_s: float) -> Row:
    known = {
        name: [count for core in cores if (count := getattr(core, name)) is not None] for name in ("frames", "dropped")
    }
    return {
        **{name: 100 * part for name, part in shares(cores, duration_s).items()},
        **{name: sum(counts) if counts else None for name, counts in known.items()},
    }
