# SPDX-License-Identifier: Apache-2.0
"""Charts of the curves that repetitions measured, with all repetitions of a curve in one chart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from natxy.plan.model.units import Unit
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Spec
from natxy.results.curves import Axis, Curve

_HEIGHT: Final = 280
# Curves with more points are drawn without marks, which would overlap.
_MOST_MARKS: Final = 30
# A linear axis would then show most delays as 0.
_MANY_TIMES: Final = 20


@dataclass(frozen=True)
class RepeatedCurve:
    """Holds one curve as the repetitions measured it, with their numbers."""

    name: str
    title: str
    repetitions: tuple[tuple[int, Curve], ...]


def repeated_curves(repetitions: Sequence[tuple[int, Sequence[Curve]]]) -> Iterator[RepeatedCurve]:
    """Yields the curves in the order in which they first appear."""
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
    tooltip = [{"field": "repetition", "title": "repetition"}, _line("x", first.x), _line("y", first.y)]
    points: Spec = {
        "mark": {"type": "point", "filled": True, "size": 60, "clip": True},
        "encoding": {"tooltip": tooltip},
    }
    if not marked:
        # Invisible marks show their tooltip to the mouse.
        points = {
            "name": chart.HOVER,
            "mark": {"type": "circle", "size": 120, "clip": True},
            "encoding": {"tooltip": tooltip, "opacity": {"value": 0}},
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
            "y": {
                "field": "y",
                **_value_axis(first.y, [y for _, curve in repeated.repetitions for _, y in curve.points]),
            },
            **chart.series("repetition", numbers, title="repetition", marks=marked),
        },
    )
    description = f"{repeated.title}: {first.y.title} against {first.x.title}, {len(numbers)} repetitions"
    return Chart(name, repeated.title, description, spec)


def _value_axis(axis: Axis, values: Sequence[float]) -> Spec:
    """Returns the axis of the values, a logarithmic one for delays of which a few are many times as long as most."""
    linear = chart.axis(axis.title, axis.unit)
    if axis.unit is not Unit.NS or min(values, default=0) <= 0 or max(values) < _MANY_TIMES * median(values):
        return linear
    return linear | {"scale": {"type": "log"}, "axis": {"format": "~r"}}


def _line(field: str, axis: Axis) -> Spec:
    """Returns a line of a tooltip."""
    return {
        "field": field,
        "title": chart.unit_title(axis.title, axis.unit),
        "format": chart.quantity_format(axis.unit),
    }
