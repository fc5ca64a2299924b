# SPDX-License-Identifier: Apache-2.0
"""The pictures of what a repetition is more than a few numbers: one chart a curve, all repetitions in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from natxy.plan.units import Unit, format_quantity
from natxy.report.svg import Ink, inline_svg
from natxy.results import curves
from natxy.results.curves import Curve

# Colour, line and mark tell twenty repetitions apart, the usual number.
_INKS: Final = (Ink.PASS, Ink.FAIL, Ink.INVALID, Ink.TEXT)
_LINES: Final = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 3)))
_MARKERS: Final = ("o", "s", "^", "D", "v")
_INCHES: Final = (10.5, 3.8)
# More would be a band and no marks; such a curve is its line alone.
_MOST_MARKS: Final = 30
_SHORT_UNITS: Final = {Unit.FPS: "frames/s", Unit.CPS: "connections/s", Unit.NS: "s", Unit.PERCENT: "%"}


@dataclass(frozen=True)
class RepeatedCurve:
    """One curve as every repetition found it, by the repetition's number."""

    title: str
    repetitions: tuple[tuple[int, Curve], ...]


def repeated_curves(repetitions: Sequence[tuple[int, Sequence[Curve]]]) -> Iterator[RepeatedCurve]:
    """In the order in which the curves first appear."""
    found: dict[str, list[tuple[int, Curve]]] = {}
    for number, drawn in repetitions:
        for curve in drawn:
            found.setdefault(curve.name, []).append((number, curve))
    for same in found.values():
        yield RepeatedCurve(same[0][1].title, tuple(same))


def curve_chart(repeated: RepeatedCurve, *, name: str) -> str:
    """Inline SVG. `name` is unique in the page."""
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    first = repeated.repetitions[0][1]
    _style(axes, first)
    tooltips = {}
    for index, (number, curve) in enumerate(repeated.repetitions):
        marked = len(curve.points) <= _MOST_MARKS
        gid = f"repetition-{number}"
        axes.plot(
            [_base(curve.x, x) for x, _ in curve.points], [_base(curve.y, y) for _, y in curve.points],
            color=_INKS[index % len(_INKS)].value, linestyle=_LINES[index // len(_INKS) % len(_LINES)],
            linewidth=1.6, label=f"repetition {number}" if index == 0 else f"{number}", gid=gid, clip_on=False,
            marker=_MARKERS[index // len(_INKS) % len(_MARKERS)] if marked else None, markersize=6,
            markeredgecolor=Ink.PAPER.value, markeredgewidth=0.7, zorder=3,
        )  # fmt: skip
        if marked:
            tooltips[gid] = [_explain(number, curve, point) for point in curve.points]
    _limit(axes, first)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=10, frameon=False, labelcolor=Ink.TEXT.value, borderaxespad=0.2
    )
    description = f"{repeated.title}: {first.y.title} against {first.x.title}, {len(repeated.repetitions)} repetitions"
    return inline_svg(figure, name=name, description=description, tooltips=tooltips)


def _style(axes: Axes, curve: Curve) -> None:
    axes.set_ylabel(_label(curve.y), color=Ink.TEXT.value)
    axes.set_xlabel(_label(curve.x), color=Ink.TEXT.value)
    for axis, measured in ((axes.xaxis, curve.x), (axes.yaxis, curve.y)):
        axis.set_major_locator(MaxNLocator(6))
        if measured.unit != Unit.PERCENT:
            axis.set_major_formatter(EngFormatter(sep=" "))
    axes.grid(color=Ink.GRID.value, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, labelcolor=Ink.MUTED.value)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(Ink.MUTED.value)


def _limit(axes: Axes, curve: Curve) -> None:
    """Percentages are always drawn from 0 to 100 (RFC 2544 §26.3), everything else from 0 where it can be."""
    if curve.x.unit == Unit.PERCENT:
        axes.set_xlim(0, 100)
    if curve.y.unit == Unit.PERCENT:
        axes.set_ylim(0, 100)
    elif axes.get_ylim()[0] > 0:
        axes.set_ylim(bottom=0)


def _label(axis: curves.Axis) -> str:
    return f"{axis.title} ({_SHORT_UNITS.get(axis.unit, axis.unit.value)})"


def _base(axis: curves.Axis, value: float) -> float:
    """Times in seconds, which the axis' prefixes then scale."""
    return value / 1e9 if axis.unit == Unit.NS else value


def _explain(number: int, curve: Curve, point: tuple[float, float]) -> str:
    x, y = (format_quantity(value, axis.unit) for value, axis in zip(point, (curve.x, curve.y), strict=True))
    return f"repetition {number}\n{curve.x.title}: {x}\n{curve.y.title}: {y}"
