# SPDX-License-Identifier: Apache-2.0
"""The model of a chart, a Vega-Lite specification, and the parts that several charts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from natxy.plan.model.units import Unit

Spec = dict[str, Any]
Row = dict[str, Any]

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
HOVER: Final = "hover"
"""The name of a layer for the mouse, which still pictures leave out."""


class Ink(Enum):
    """The colours of a page, with their values on paper.

    A specification refers to the page's CSS custom property of the same name, which depends on light, dark or print.
    """

    TEXT = "#16202c"
    MUTED = "#5b6875"
    GRID = "#e3e7ec"
    BAND = "#f3f5f8"
    BRACKET = "#56b4e9"
    PASS = "#0072b2"
    FAIL = "#d55e00"
    INVALID = "#a0408e"
    DISTURBED = "#00805d"
    PAPER = "#ffffff"

    @property
    def css(self) -> str:
        return f"var(--{self.name.lower()})"


@dataclass(frozen=True)
class Chart:
    """Holds the specification of a chart without its width, which is at least `least_width` pixels.

    `name` is that of its file and unique in a run.
    """

    name: str
    title: str
    description: str
    spec: Spec
    least_width: int = 0


# Colour, dashes and marks distinguish twenty lines, the usual number of repetitions.
_INKS: Final = (Ink.PASS, Ink.FAIL, Ink.INVALID, Ink.TEXT)
_DASHES: Final = ([1, 0], [5, 2], [1, 1.5], [6, 2, 1, 2], [2, 3])
_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down")
# (longest name, columns): so many columns of such names fit on a phone.
_LEGEND_COLUMNS: Final = ((4, 10), (10, 4), (20, 2), (10_000, 1))
_SHORT_UNITS: Final = {
    Unit.FPS: "frames/s per direction",
    Unit.CPS: "connections/s",
    Unit.QPS: "queries/s",
    Unit.BPS: "bit/s",
    Unit.NS: "ms",
    Unit.SECONDS: "s",
    Unit.PERCENT: "%",
}

_UNPREFIXED: Final = {Unit.PERCENT, Unit.NS, Unit.SECONDS}

_FADED: Final = 0.12
# Without Shift the wheel scrolls the page.
_SHIFT_WHEEL: Final = "wheel![event.shiftKey]"


def spec(layers: Sequence[Spec], *, height: int, **more: Any) -> Spec:
    """Returns the specification of layers on common axes."""
    return {
        "$schema": SCHEMA,
        "background": None,
        "autosize": {"type": "fit", "contains": "padding"},
        "height": height,
        "config": _CONFIG,
        "layer": list(layers),
        **more,
    }


def unit_words(unit: Unit) -> str:
    return _SHORT_UNITS.get(unit, unit.value)


def unit_title(title: str, unit: Unit) -> str:
    """Returns the title of an axis."""
    return f"{title} ({unit_words(unit)})"


def base(value: float, unit: Unit) -> float:
    """Converts a value to the unit of its axis: delays are in milliseconds (RFC 8219 §7.3)."""
    return value / 1e6 if unit is Unit.NS else value


def quantity_format(unit: Unit) -> str:
    """Returns a d3 format with four significant digits and a prefix, without one for percentages and times."""
    return ".4~r" if unit in _UNPREFIXED else ".4~s"


def axis(title: str, unit: Unit) -> Spec:
    """Returns an axis from 0, for percentages always to 100 (RFC 2544 §26.3)."""
    percent = unit is Unit.PERCENT
    return {
        "type": "quantitative",
        "title": unit_title(title, unit),
        "scale": {"domain": [0, 100]} if percent else {"zero": True},
        "axis": {"format": "~f" if unit in _UNPREFIXED else "~s"},
    }


def series(field: str, names: Sequence[str], *, title: str | None = None, marks: bool = True) -> Spec:
    """Returns encodings that distinguish `names`, with one legend for all of them.

    A click on a name in the legend highlights it, if one of the layers has the parameter `standing_out`.
    """
    longest = max(map(len, names))
    legend = {"title": title, "columns": next(columns for most, columns in _LEGEND_COLUMNS if longest <= most)}
    count = len(names)
    scales: dict[str, list[Any]] = {
        "color": [_INKS[index % len(_INKS)].css for index in range(count)],
        "strokeDash": [_DASHES[index // len(_INKS) % len(_DASHES)] for index in range(count)],
    }
    if marks:
        scales["shape"] = [_SHAPES[index % len(_SHAPES)] for index in range(count)]
    return {
        channel: {
            "field": field,
            "type": "nominal",
            "scale": {"domain": list(names), "range": values},
            "legend": legend if count > 1 else None,
        }
        for channel, values in scales.items()
    } | {"opacity": {"condition": {"param": "picked", "value": 1}, "value": _FADED}}


def standing_out(field: str) -> Spec:
    """Returns the parameter that `series` needs in one layer."""
    return {"name": "picked", "select": {"type": "point", "fields": [field]}, "bind": "legend"}


def zoom(*encodings: str) -> Spec:
    """Returns a parameter by which dragging moves the axes and the wheel with Shift scales them."""
    select = {"type": "interval", "encodings": list(encodings), "zoom": _SHIFT_WHEEL}
    return {"name": "zoom", "select": select, "bind": "scales"}


_CONFIG: Final[Spec] = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    # The chart as a whole has a description; its hundreds of marks need none.
    "aria": False,
    "mark": {"aria": False},
    "view": {"stroke": None},
    "axis": {
        "aria": False,
        "domainColor": Ink.MUTED.css, "gridColor": Ink.GRID.css, "labelColor": Ink.MUTED.css, "ticks": False,
        "titleColor": Ink.TEXT.css, "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12,
        "labelPadding": 6, "titlePadding": 8, "tickCount": 6,
    },
    "axisY": {"domain": False},
    "legend": {
        "aria": False, "orient": "top", "labelColor": Ink.TEXT.css, "titleColor": Ink.MUTED.css,
        "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12, "titleOrient": "left", "labelLimit": 340,
        "symbolStrokeWidth": 2, "columnPadding": 14, "titlePadding": 10,
    },
    "text": {"color": Ink.MUTED.css, "fontSize": 11},
}  # fmt: skip
