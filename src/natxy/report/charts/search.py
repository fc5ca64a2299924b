# SPDX-License-Identifier: Apache-2.0
"""The chart of an experiment's searches: the rates of all steps in their order, and the bracket after each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Ink, Row, Spec
from natxy.search.outcome import Outcome

# Both shape and colour show the outcome, for colour-blind readers and for printing in grey.
_LOOKS: Final = {
    "pass": (Ink.PASS, "circle"),
    "fail": (Ink.FAIL, "cross"),
    "invalid (tester)": (Ink.INVALID, "diamond"),
    "disturbed (gateway's core)": (Ink.DISTURBED, "square"),
    "phase 1 failed": (Ink.MUTED, "triangle-up"),
}
# An invalid preparation looks as an invalid trial does.
_WORDS: Final = dict(zip(Outcome, (*_LOOKS, "invalid (tester)"), strict=True))
_HEIGHT: Final = 260
_LEAST_STEP_WIDTH: Final = 6
_AXIS_WIDTH: Final = 80
# About 6 pixels of the narrowest axis on a page.
_LETTER: Final = 0.016


@dataclass(frozen=True)
class SearchStep:
    """Holds one step; `rate` is the searched quantity, `step` and `reason` are lines for the tooltip."""

    repetition: int
    rate: float
    outcome: Outcome
    step: str
    reason: str


def search_chart(steps: Sequence[SearchStep], *, name: str, title: str, unit: str, median: float | None) -> Chart:
    """Draws `steps` in the order in which they were tried; `unit` labels the axis."""
    repetitions = [(number, list(group)) for number, group in groupby(steps, lambda step: step.repetition)]
    # The numbers of the repetitions need room above the highest mark.
    highest = max((step.rate for step in steps), default=1.0) * 1.12
    scale = {"domain": [0, highest], "nice": False}
    rate = {"type": "quantitative", "title": unit, "axis": {"format": "~s"}, "scale": scale}
    across = {
        "type": "quantitative",
        "title": "steps in their order",
        "axis": {"labels": False, "grid": False},
        "scale": {"domain": [-0.5, max(len(steps), 1) - 0.5], "nice": False},
    }
    layers: list[Spec] = [
        {
            "data": {"values": list(_bands(repetitions))},
            "transform": [{"filter": "datum.shaded"}],
            "mark": {"type": "rect", "color": Ink.BAND.css, "clip": True},
            "encoding": {"x": {"field": "first", **across}, "x2": {"field": "last"}},
        },
        {
            "data": {"values": list(_brackets(repetitions))},
            "mark": {"type": "rect", "color": Ink.BRACKET.css, "opacity": 0.28, "clip": True},
            "encoding": {
                "x": {"field": "from", **across}, "x2": {"field": "to"}, "y": {"field": "low", **rate},
                "y2": {"field": "high"},
            },
        },
        {
            "data": {"values": list(_bands(repetitions))},
            "mark": {"type": "text", "y": 8, "align": "left", "dx": 3, "clip": True},
            "encoding": {"x": {"field": "first", **across}, "text": {"field": "repetition"}},
        },
    ]  # fmt: skip
    if median is not None:
        layers.append(
            {
                "data": {"values": [{"median": median}]},
                "mark": {"type": "rule", "color": Ink.TEXT.css, "strokeDash": [4, 3], "clip": True},
                "encoding": {"y": {"field": "median", **rate}, "tooltip": {"field": "median", "format": ",.0f"}},
            }
        )
    layers.append(_marks(steps, rate, across))
    width = _AXIS_WIDTH + len(steps) * _LEAST_STEP_WIDTH
    description = f"{len(steps)} search steps, rate in {unit} against their order"
    return Chart(name, title, description, chart.spec(layers, height=_HEIGHT), least_width=width)


def _marks(steps: Sequence[SearchStep], rate: Spec, across: Spec) -> Spec:
    met = {step.outcome for step in steps}
    looks = {_WORDS[outcome]: _LOOKS[_WORDS[outcome]] for outcome in Outcome if outcome in met}
    scales = {"color": [ink.css for ink, _ in looks.values()], "shape": [shape for _, shape in looks.values()]}
    rows = [
        {"order": order, "rate": step.rate, "outcome": _WORDS[step.outcome], "step": step.step, "reason": step.reason}
        for order, step in enumerate(steps)
    ]
    return {
        "params": [chart.standing_out("outcome"), chart.zoom("x")],
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "clip": True},
        "encoding": {
            "x": {"field": "order", **across},
            "y": {"field": "rate", **rate},
            "tooltip": [{"field": field} for field in ("step", "rate", "outcome", "reason")],
            "opacity": {"condition": {"param": "picked", "value": 1}, "value": 0.15},
            **{
                channel: {
                    "field": "outcome",
                    "scale": {"domain": list(looks), "range": values},
                    "legend": {"title": None, "columns": 2},
                }
                for channel, values in scales.items()
            },
        },
    }


def _bands(repetitions: Sequence[tuple[int, Sequence[SearchStep]]]) -> Iterator[Row]:
    """Yields the part of the axis for each repetition, with a label where there is room; every second one is shaded."""
    count = sum(len(steps) for _, steps in repetitions)
    first, free = 0, 0.0
    for index, (number, steps) in enumerate(repetitions):
        last = first + len(steps)
        text = f"repetition {number}" if index == 0 else f"{number}"
        ends = first + _LETTER * (len(text) + 1) * count
        # A number that has no room is left out: it would be written over the next.
        fits = index == 0 or (free <= first and ends <= count)
        free = ends if fits else free
        yield {
            "repetition": text if fits else "", "first": first - 0.5, "last": last - 0.5, "shaded": index % 2 == 1,
        }  # fmt: skip
        first = last


def _brackets(repetitions: Sequence[tuple[int, Sequence[SearchStep]]]) -> Iterator[Row]:
    """Yields the highest rate that passed and the lowest that failed after each step.

    Steps that decide nothing do not change the bracket.
    """
    order = 0
    for _, steps in repetitions:
        low, high = 0.0, max(step.rate for step in steps)
        for step in steps:
            if step.outcome is Outcome.PASS:
                low = max(low, step.rate)
            elif step.outcome is Outcome.FAIL:
                high = min(high, step.rate)
            yield {"from": order - 0.5, "to": order + 0.5, "low": low, "high": max(low, high)}
            order += 1
