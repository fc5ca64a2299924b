# SPDX-License-Identifier: Apache-2.0
"""The picture of an experiment's searches: every step's rate in the order of time, and how the bracket closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from natxy.engine.messages import Verdict
from natxy.report.svg import Ink, inline_svg

# Shape and colour both tell the verdict, so that neither colour-blind eyes nor a grey printer lose it.
_MARKERS: Final = {
    Verdict.PASS: ("o", Ink.PASS, "pass"),
    Verdict.FAIL: ("X", Ink.FAIL, "fail"),
    Verdict.INVALID: ("D", Ink.INVALID, "invalid (tester)"),
}
_INCHES_HIGH: Final = 3.5
_LEAST_INCHES_WIDE: Final = 10.5
_INCHES_A_STEP: Final = 0.085


@dataclass(frozen=True)
class SearchStep:
    """`rate` is what the search varied, in the unit of its result; `explanation` is one line for a tooltip."""

    repetition: int
    rate: float
    verdict: Verdict
    explanation: str


def search_chart(steps: Sequence[SearchStep], *, name: str, unit: str, median: float | None) -> str:
    """Inline SVG. `steps` in the order they were tried; `name` is unique in the page; `unit` labels the axis."""
    width = max(_LEAST_INCHES_WIDE, len(steps) * _INCHES_A_STEP + 1)
    figure = Figure(figsize=(width, _INCHES_HIGH), layout="constrained")
    axes = figure.add_subplot()
    _style(axes, unit)
    for number, (repetition, indices) in enumerate(groupby(range(len(steps)), lambda i: steps[i].repetition)):
        _draw_repetition(axes, list(indices), steps, repetition, shaded=number % 2 == 1)
    if median is not None:
        axes.axhline(median, color=Ink.TEXT.value, linewidth=1, linestyle=(0, (4, 3)), label="median", zorder=2)
    tooltips = _draw_steps(axes, steps)
    axes.set_xlim(-0.5, max(len(steps), 1) - 0.5)
    axes.set_ylim(0, max((step.rate for step in steps), default=1) * 1.12)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=5, frameon=False, labelcolor=Ink.TEXT.value, borderaxespad=0.2
    )
    description = f"{len(steps)} search steps, rate in {unit} against their order"
    return inline_svg(figure, name=name, description=description, tooltips=tooltips)


def _style(axes: Axes, unit: str) -> None:
    axes.set_ylabel(unit, color=Ink.TEXT.value)
    axes.set_xlabel("steps in the order they were tried, repetition by repetition", color=Ink.MUTED.value)
    axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.grid(axis="y", color=Ink.GRID.value, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, labelcolor=Ink.MUTED.value)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(Ink.MUTED.value)
    axes.set_xticks([])


def _draw_repetition(
    axes: Axes, indices: Sequence[int], steps: Sequence[SearchStep], repetition: int, *, shaded: bool
) -> None:
    first, last = indices[0] - 0.5, indices[-1] + 0.5
    if shaded:
        axes.axvspan(first, last, color=Ink.BAND.value, linewidth=0, zorder=0)
    axes.annotate(
        f"repetition {repetition}" if indices[0] == 0 else f"{repetition}",
        ((first + last) / 2, 1), xycoords=("data", "axes fraction"),
        xytext=(0, -9), textcoords="offset points", ha="center", color=Ink.MUTED.value, fontsize=8,
    )  # fmt: skip
    lows, highs = _bracket([steps[index] for index in indices])
    axes.fill_between(
        [index + shift for index in indices for shift in (-0.5, 0.5)],
        [low for low in lows for _ in range(2)],
        [high for high in highs for _ in range(2)],
        color=Ink.BRACKET.value, alpha=0.28, linewidth=0, zorder=1,
        label="bracket" if indices[0] == 0 else None,
    )  # fmt: skip


def _bracket(steps: Sequence[SearchStep]) -> tuple[list[float], list[float]]:
    """Highest rate passed and lowest rate failed after each step; invalid steps move neither."""
    low, high = 0.0, max(step.rate for step in steps)
    lows, highs = [], []
    for step in steps:
        if step.verdict is Verdict.PASS:
            low = max(low, step.rate)
        elif step.verdict is Verdict.FAIL:
            high = min(high, step.rate)
        lows.append(low)
        highs.append(max(low, high))
    return lows, highs


def _draw_steps(axes: Axes, steps: Sequence[SearchStep]) -> dict[str, list[str]]:
    tooltips: dict[str, list[str]] = {}
    for verdict, (marker, ink, label) in _MARKERS.items():
        chosen = [(index, step) for index, step in enumerate(steps) if step.verdict is verdict]
        if not chosen:
            continue
        axes.plot(
            [index for index, _ in chosen], [step.rate for _, step in chosen],
            linestyle="none", marker=marker, markersize=7, label=label, gid=verdict.value, zorder=3,
            markerfacecolor=(Ink.PAPER if verdict is Verdict.INVALID else ink).value,
            markeredgecolor=(ink if verdict is Verdict.INVALID else Ink.PAPER).value,
            markeredgewidth=1.6 if verdict is Verdict.INVALID else 0.7,
        )  # fmt: skip
        tooltips[verdict.value] = [step.explanation for _, step in chosen]
    return tooltips
