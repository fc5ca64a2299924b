# SPDX-License-Identifier: Apache-2.0
"""Charts with a row for each experiment: its median, the median's interval and every repetition, with the numbers.

The numbers are in the line of the label if the chart is wide enough, and below it otherwise, as on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.plan.model.units import Unit
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Ink, Row, Spec
from natxy.report.words import headlines, states, wording
from natxy.results.records import ExperimentRecord, State
from natxy.results.statistics import Headline

_Domain = tuple[float, float]

_ROW_HEIGHT: Final = 50
# A printed page has room for these below the head of the report.
_MOST_ROWS: Final = 12
_AXIS_HEIGHT: Final = 44
# Below this point of a row is the line with the marks, above it are the words.
_LINE: Final = 0.78
# The first repetition is this far above the line and the last below it, so that equal results do not hide each other.
_JITTER: Final = 0.11
# An interval of three repetitions may be many times as long as the axis would be without it.
_MOST_BEYOND: Final = 0.5
# Room for the marks at the ends of the axis.
_MARGIN: Final = 0.02
_LETTER_WIDTH: Final = 6.9
_LABEL_SIZE: Final = 13
# 45 letters fit on a phone.
_NARROW_LABEL_SIZE: Final = 11.5
_NUMBERS_SIZE: Final = 12.5
_LEFT: Final[Spec] = {"value": 0}
# The area of a repetition's mark in square pixels. A triangle is a bound, and points to where the truth is.
_DOT: Final = ("circle", 34)
_AT_LEAST: Final = ("triangle-right", 90)
_BELOW: Final = ("triangle-left", 90)


@dataclass(frozen=True)
class Entry:
    """Holds the experiment of a row with its label. `doubt` is a short remark on the result."""

    label: str
    experiment: ExperimentRecord
    ink: Ink = Ink.PASS
    doubt: str = ""


def interval_charts(name: str, title: str, entries: Sequence[Entry]) -> Iterator[Chart]:
    """Yields the charts of experiments whose headlines have the same unit, in the order of the entries.

    It is one chart, or several on the same axis if there are too many rows for a printed page.
    """
    parts = math.ceil(len(entries) / _MOST_ROWS)
    rows_each = math.ceil(len(entries) / parts)
    domain = _domain([entry.experiment for entry in entries])
    for part in range(parts):
        of_part = entries[part * rows_each : (part + 1) * rows_each]
        number, which = (f"-{part + 1}", f" ({part + 1} of {parts})") if parts > 1 else ("", "")
        yield _chart(name + number, title + which, of_part, domain)


def _chart(name: str, title: str, entries: Sequence[Entry], domain: _Domain) -> Chart:
    unit = entries[0].experiment.unit
    rows = [_row(entry, number, unit) for number, entry in enumerate(entries)]
    dots = [dot for number, entry in enumerate(entries) for dot in _dots(entry, number, unit)]
    layers = [*(_marks(unit, dots, domain) if dots else []), *_words(rows)]
    spec = chart.spec(
        layers,
        height=_ROW_HEIGHT * len(rows) + (_AXIS_HEIGHT if dots else 0),
        data={"values": rows},
        encoding={"y": _y(len(rows))},
    )
    alternative = "; ".join(f"{row['label']}: {row['whole']}" for row in rows)
    return Chart(name, title, f"{title}, median, 95 % interval and repetitions. {alternative}", spec)


def _row(entry: Entry, number: int, unit: Unit) -> Row:
    experiment, summary = entry.experiment, entry.experiment.statistics
    row: Row = {"row": number + _LINE, "label": entry.label}
    if summary is None:
        words = states.STATE_WORDS[experiment.state]
        is_bad = experiment.state not in (State.PENDING, State.RUNNING)
        if experiment.state is State.DONE:
            # Scripts of siitperf go on although a step decided nothing.
            words = "no trial decided anything"
        why = f"no result: {words}" if is_bad and experiment.state is not State.NO_RESULT else words
        return row | {"short": why, "whole": why, "is_bad": is_bad}
    short = headlines.with_interval(experiment) + headlines.short_mark(experiment)
    share = headlines.baseline_ratio(experiment)
    baseline = f" of {experiment.baseline.title}" if experiment.baseline and share != wording.ABSENT else ""
    remarks = filter(None, (_repetitions(experiment), entry.doubt))
    row |= {
        "short": " · ".join(filter(None, (short, share if baseline else ""))),
        "whole": " · ".join(filter(None, (short, share + baseline if baseline else "", *remarks))),
        "is_bad": False,
        "median": chart.base(summary.bounded_median.value, unit),
        "repetitions": summary.count,
        "ink": entry.ink.css,
    }
    if interval := summary.shown_interval:
        row |= {"low": chart.base(interval.low, unit), "high": chart.base(interval.high, unit)}
    return row


def _repetitions(experiment: ExperimentRecord) -> str:
    """States why there is no interval, and how many repetitions have a result if there are fewer than planned."""
    found, summary = states.repetitions(experiment), experiment.statistics
    if "/" in found:
        return f"{found} repetitions"
    if summary is None or summary.shown_interval or summary.bounded_median.bound:
        return ""
    if summary.interval:
        return f"{summary.count} repetitions, too few for an interval"
    return "1 repetition" if summary.count == 1 else "a repetition is only a bound"


def _dots(entry: Entry, number: int, unit: Unit) -> Iterator[Row]:
    headlines_of = entry.experiment.headlines
    last = max(len(headlines_of) - 1, 1)
    for position, (repetition, headline) in enumerate(headlines_of.items()):
        shape, area = _AT_LEAST if headline.is_at_least else _BELOW if headline.is_below_the_search else _DOT
        yield {
            "row": number + _LINE + _JITTER * (2 * position / last - 1 if len(headlines_of) > 1 else 0),
            "label": entry.label,
            "value": chart.base(_drawn(headline), unit),
            "repetition": repetition,
            "ink": entry.ink.css,
            "shape": shape,
            "area": area,
        }


def _drawn(headline: Headline) -> float:
    """Returns the headline, or of a search that found nothing, the lowest rate that it tried."""
    return headline.upper_bound or 0.0 if headline.is_below_the_search else headline.value


def _domain(experiments: Sequence[ExperimentRecord]) -> _Domain:
    """Returns the ends of the axis, which contains 0; an interval that is far longer is cut off."""
    summaries = [(each.statistics, each.unit) for each in experiments if each.statistics]
    values = [chart.base(_drawn(found), each.unit) for each in experiments for found in each.headlines.values()]
    intervals = [(each, unit) for summary, unit in summaries if (each := summary.shown_interval)]
    beyond = [chart.base(end, unit) for interval, unit in intervals for end in (interval.low, interval.high)]
    lowest, highest = min([0.0, *values]), max([0.0, *values])
    reach = _MOST_BEYOND * (highest - lowest)
    least = max(min([lowest, *beyond]), lowest - reach)
    most = min(max([highest, *beyond]), highest + reach)
    margin = _MARGIN * (most - least)
    return least - (margin if least < 0 else 0), most + margin or 1.0


def _marks(unit: Unit, dots: Sequence[Row], domain: _Domain) -> Iterator[Spec]:
    axis = chart.axis("", unit) | {"title": chart.unit_words(unit), "scale": {"domain": list(domain), "nice": False}}
    x = {"field": "median", **axis}
    ink = {"field": "ink", "type": "nominal", "scale": None}
    number_format = {"format": chart.quantity_format(unit)}
    tooltip: list[Spec] = [
        {"field": "label", "title": "experiment"},
        {"field": "whole", "title": "median"},
        {"field": "repetitions"},
    ]
    yield {
        "mark": {"type": "rule", "strokeWidth": 1},
        "encoding": {"x": _LEFT, "x2": {"value": "width"}, "color": {"value": Ink.GRID.css}},
    }
    yield {
        "transform": [{"filter": "isValid(datum.high)"}],
        "mark": {"type": "rule", "strokeWidth": 11, "opacity": 0.3, "clip": True},
        "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, "color": ink, "tooltip": tooltip},
    }
    yield {
        "transform": [{"filter": "isValid(datum.median)"}],
        "mark": {"type": "tick", "orient": "vertical", "thickness": 2.5, "size": 19},
        "encoding": {"x": x, "color": {"value": Ink.TEXT.css}, "tooltip": tooltip},
    }
    repetition: list[Spec] = [
        {"field": "label", "title": "experiment"},
        {"field": "repetition"},
        {"field": "value", **number_format},
    ]
    yield {
        "data": {"values": list(dots)},
        "mark": {"type": "point", "filled": True, "opacity": 1, "stroke": Ink.PAPER.css, "strokeWidth": 0.8},
        "encoding": {
            "x": x | {"field": "value"},
            "color": ink,
            "shape": {"field": "shape", "type": "nominal", "scale": None},
            "size": {"field": "area", "type": "quantitative", "scale": None},
            "tooltip": repetition,
        },
    }


def _words(rows: Sequence[Row]) -> Iterator[Spec]:
    """Yields the labels and the numbers; an expression chooses their places by the width of the chart."""
    longest = max(len(str(row["label"])) + len(str(row["whole"])) for row in rows)
    narrow = f"width < {round(_LETTER_WIDTH * (longest + 3))}"
    yield {
        "mark": {
            "type": "text", "align": "left", "baseline": "middle", "fontWeight": "bold",
            "fontSize": {"expr": f"{narrow} ? {_NARROW_LABEL_SIZE} : {_LABEL_SIZE}"},
            "dy": {"expr": f"{narrow} ? -31 : -19"}, "limit": {"expr": "width"},
        },
        "encoding": {"x": _LEFT, "text": {"field": "label"}, "color": {"value": Ink.TEXT.css}},
    }  # fmt: skip
    yield {
        "mark": {
            "type": "text", "baseline": "middle", "fontSize": _NUMBERS_SIZE, "limit": {"expr": "width"},
            "align": {"expr": f"{narrow} ? 'left' : 'right'"}, "dy": {"expr": f"{narrow} ? -16 : -19"},
            "x": {"expr": f"{narrow} ? 0 : width"}, "text": {"expr": f"{narrow} ? datum.short : datum.whole"},
        },
        "encoding": {
            "color": {"condition": {"test": "datum.is_bad", "value": Ink.FAIL.css}, "value": Ink.TEXT.css},
        },
    }  # fmt: skip


def _y(count: int) -> Spec:
    return {
        "field": "row",
        "type": "quantitative",
        "scale": {"domain": [0, count], "reverse": True, "nice": False},
        "axis": None,
    }
