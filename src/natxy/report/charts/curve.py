# SPDX-License-Identifier: Apache-2.0
"""The pictures of what a repetition is more than a few numbers: one chart a curve, all repetitions in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Spec
from natxy.results.curves import Axis, Curve

_HEIGHT: Final = 280
# More would be a band and no marks; such a curve is its line alone.
_MOST_MARKS: Final = 30


@dataclass(frozen=True)
class RepeatedCurve:
    """One curve as every repetition found it, by the repetition's number."""

    name: str
    title: str
    repetitions: tuple[tuple[int, Curve], ...]


def repeated_curves(repetitions: Sequence[tuple[int, Sequence[Curve]]]) -> Iterator[RepeatedCurve]:
    """In the order in which the curves first appear."""
    found: dict[str, list[tuple[int, Curve]]] = {}
    for number, drawn in repetitions:
        for curve in drawn:
            found.setdefault(curve.name, []).append((number, curve))
    for same in found.values():
        yield RepeatedCurve(same[0][1].name, same[0][1].title, tuple(same))


def curve_chart(repeated: RepeatedCurve, *, name: str) -> Chart:
    first = repeated.repetitions[0][1]
    numbers = [str(number) for number, _ in repeated.repetitions]
    marked = all(len(curve.points) <= _MOST_MARKS for _, curve in repeated.repetitions)
    rows = [
        {"repetition": str(number), "x": chart.base(x, first.x.unit), "y": chart.base(y, first.y.unit), "order": order}
        for number, curve in repeated.repetitions
        for order, (x, y) in enumerate(curve.points)
    ]
    told = [
        {"field": "repetition", "title": "repetition"}, _told("x", first.x), _told("y", first.y),
    ]  # fmt: skip
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 60, "clip": True},
        "encoding": {"tooltip": told},
    }
    if not marked:
        # The mouse finds what the eye doesn't see.
        points = {
            "name": chart.HOVER,
            "mark": {"type": "circle", "size": 120, "clip": True},
            "encoding": {"tooltip": told, "opacity": {"value": 0}},
        }
    line: Spec = {
        "params": [chart.standing_out("repetition"), chart.zoom("x", "y")],
        "mark": {"type": "line", "strokeWidth": 1.8, "clip": True},
        "encoding": {"order": {"field": "order"}},
    }
    spec = chart.spec(
        [line, points],
        height=_HEIGHT,
        data={"values": rows},
        encoding={
            "x": {"field": "x", **chart.axis(first.x.title, first.x.unit)},
            "y": {"field": "y", **chart.axis(first.y.title, first.y.unit)},
            **chart.series("repetition", numbers, title="repetition", marks=marked),
        },
    )
    description = f"{repeated.title}: {first.y.title} against {first.x.title}, {len(numbers)} repetitions"
    return Chart(name, repeated.title, description, spec)


def _told(field: str, axis: Axis) -> Spec:
    return {
        "field": field,
        "title": chart.unit_title(axis.title, axis.unit),
        "format": chart.quantity_format(axis.unit),
    }
