# SPDX-License-Identifier: Apache-2.0
"""The chart of a sweep: medians and spreads against the swept values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from natxy.plan.model.terms import CellValue
from natxy.plan.model.units import Unit
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Ink, Row, Spec
from natxy.report.words import headlines, wording
from natxy.results.analysis.sweeps import Sweep, as_number

_HEIGHT: Final = 300
# The swept fields that are preferred for the x axis; the others distinguish lines.
_AXES: Final = ("cores", "frame_size", "connections", "flows", "pairs", "alpha")
# These fields are swept by factors.
_LOGARITHMIC: Final = {"connections", "flows", "gateway.conntrack_max", "gateway.hash_size"}
# Above this ratio of longest to shortest frame, as in RFC 8219's list up to 9216 bytes, the axis is logarithmic.
_MOST_LINEAR: Final = 50
_CATEGORY_WIDTH: Final = 60
_CURVE_STEPS: Final = 8

_Points = tuple[tuple[float, float], ...]


def sweep_chart(sweep: Sweep, *, name: str) -> Chart | None:
    """Returns None when no cell has a result."""
    index = _axis(sweep)
    unit = Unit(sweep.cells[0].unit)
    rows = list(_rows(sweep, index, unit))
    if not rows:
        return None
    headline = sweep.cells[0].declaration.headline()
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    x = _x(sweep, index, sorted({number for row in rows if (number := as_number(row["x"])) is not None}))
    numeric = x["type"] == "quantitative"
    looks = chart.series("series", names)
    layers = [
        *_references(sweep, index, unit, x),
        *([_line(looks)] if numeric else []),
        _spread(looks),
        _medians(sweep, index, unit, looks),
    ]
    spec = chart.spec(
        layers,
        height=_HEIGHT,
        data={"values": rows},
        encoding={
            "x": {"field": "x", **x},
            # The title of the headline may be too long for an axis; the chart has it.
            "y": {"field": "median", **chart.axis("", unit), "title": chart.unit_words(unit)},
        },
    )
    words = wording.field(sweep.fields[index])
    title = f"{sweep.title}: {headline.title} against {words}"
    width = 0 if numeric else _CATEGORY_WIDTH * len(sweep.cells)
    return Chart(name, title, f"{title}, median and spread of {len(rows)} experiments", spec, width)


def _axis(sweep: Sweep) -> int:
    """Returns the index of the field for the x axis, a numeric one if there is any."""
    numeric = [
        field
        for index, field in enumerate(sweep.fields)
        if len({of_cell[index] for of_cell in sweep.coordinates}) > 1 and _is_number(sweep, index)
    ]
    chosen = next((field for field in _AXES if field in numeric), (*numeric, sweep.fields[0])[0])
    return sweep.fields.index(chosen)


def _is_number(sweep: Sweep, index: int) -> bool:
    return all(as_number(of_cell[index]) is not None for of_cell in sweep.coordinates)


def _rows(sweep: Sweep, index: int, unit: Unit) -> Iterator[Row]:
    for cell, coordinates in zip(sweep.cells, sweep.coordinates, strict=True):
        summary = cell.statistics
        if summary is None:
            continue
        yield {
            "x": coordinates[index],
            "series": _series(coordinates, index) or sweep.title,
            "median": chart.base(summary.median, unit),
            "minimum": chart.base(summary.minimum, unit),
            "maximum": chart.base(summary.maximum, unit),
            "shown": headlines.headline(cell),
            "repetitions": summary.count,
        }


def _series(coordinates: Sequence[CellValue], index: int) -> str:
    """Returns the name of a line: the coordinates that are not on the x axis."""
    return ", ".join(wording.coordinate(other) for number, other in enumerate(coordinates) if number != index)


def _x(sweep: Sweep, index: int, values: Sequence[float]) -> Spec:
    field = sweep.fields[index]
    if not values:
        return {"type": "nominal", "title": wording.field(field), "sort": None, "axis": {"labelAngle": 0}}
    wide = field == "frame_size" and values[-1] > _MOST_LINEAR * values[0]
    logarithmic = wide or field in _LOGARITHMIC
    scale: Spec = {"type": "log", "nice": False} if logarithmic else {"zero": field != "frame_size"}
    # The `format` of an axis takes its precision from the distance between ticks and would write 0.25 as 0.3.
    form = "~s" if field in _LOGARITHMIC else "~f"
    # All values are ticks; labels without room are left out.
    axis = {
        "values": list(values),
        "tickCount": len(values),
        "labelExpr": f"format(datum.value, '{form}')",
        "labelOverlap": "greedy",
    }
    unit = ", bytes with FCS" if field == "frame_size" else ""
    title = wording.field(field) + unit
    return {"type": "quantitative", "title": title, "scale": scale | {"padding": 14}, "axis": axis}


def _line(looks: Spec) -> Spec:
    drawn = {channel: looks[channel] for channel in ("color", "strokeDash", "opacity")}
    return {"mark": {"type": "line", "strokeWidth": 1.8}, "encoding": drawn | {"order": {"field": "x"}}}


def _spread(looks: Spec) -> Spec:
    """Draws lines from the lowest to the highest repetition."""
    drawn = {channel: looks[channel] for channel in ("color", "opacity")}
    ends = {"y": {"field": "minimum"}, "y2": {"field": "maximum"}}
    return {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": drawn | ends}


def _medians(sweep: Sweep, index: int, unit: Unit, looks: Spec) -> Spec:
    shape = {"format": chart.quantity_format(unit)}
    tooltip: list[Spec] = [{"field": "series", "title": "series"}] if len(sweep.fields) > 1 else []
    tooltip += [
        {
            "field": "x",
            "title": wording.field(sweep.fields[index]),
            **({"format": ",~f"} if _is_number(sweep, index) else {}),
        },
        {"field": "shown", "title": "median"},
        {"field": "minimum", **shape},
        {"field": "maximum", **shape},
        {"field": "repetitions"},
    ]
    return {
        "params": [chart.standing_out("series")],
        "mark": {"type": "point", "filled": True, "size": 80},
        "encoding": {"tooltip": tooltip, **{channel: looks[channel] for channel in ("color", "shape", "opacity")}},
    }


def _references(sweep: Sweep, index: int, unit: Unit, x: Spec) -> Iterator[Spec]:
    """Yields lines of reference: the theoretical maximum (RFC 2544 §26.1), or the ideal scale-up."""
    field = sweep.fields[index]
    if field == "frame_size" and unit is Unit.FPS:
        curves = _maxima(sweep, index)
        for known, series in curves.items():
            whose = f", {'; '.join(series)}" if len(curves) > 1 else ""
            yield from _reference(list(_curve(known)), f"theoretical maximum{whose}", x)
    if field == "cores":
        alone = [
            cell.statistics.median
            for cell, coordinates in zip(sweep.cells, sweep.coordinates, strict=True)
            if cell.statistics and coordinates[index] == 1
        ]
        cores = sorted({as_number(of_cell[index]) or 0 for of_cell in sweep.coordinates})
        for median in alone:
            yield from _reference([{"x": n, "y": chart.base(n * median, unit)} for n in cores], "ideal", x)


def _maxima(sweep: Sweep, index: int) -> dict[_Points, list[str]]:
    """Returns theoretical maxima by frame size, with the lines that they apply to.

    Another coordinate, such as the size convention, may change the maximum.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for cell, coordinates in zip(sweep.cells, sweep.coordinates, strict=True):
        size, maximum = as_number(coordinates[index]), headlines.theoretical_maximum_fps(cell)
        if size is not None and maximum is not None:
            found.setdefault(_series(coordinates, index), []).append((size, maximum))
    curves: dict[_Points, list[str]] = {}
    for series, points in found.items():
        curves.setdefault(tuple(sorted(points)), []).append(series)
    return curves


def _curve(known: _Points) -> Iterator[Row]:
    """Interpolates between two frame sizes; the time that a frame takes is linear, not the rate."""
    for (size, maximum), (next_size, next_maximum) in pairwise(known):
        for step in range(_CURVE_STEPS):
            share = step / _CURVE_STEPS
            frame_s = (1 - share) / maximum + share / next_maximum
            yield {"x": size + share * (next_size - size), "y": 1 / frame_s}
    for size, maximum in known[-1:]:
        yield {"x": size, "y": maximum}


def _reference(rows: Sequence[Row], words: str, x: Spec) -> Iterator[Spec]:
    """Yields the layers of a dashed line with its name at the end."""
    if not rows:
        return
    encoding = {"x": {"field": "x", **x}, "y": {"field": "y", "type": "quantitative"}}
    ink = {"color": {"value": Ink.MUTED.css}}
    yield {
        "data": {"values": list(rows)},
        "mark": {"type": "line", "strokeWidth": 1.4, "strokeDash": [5, 4]},
        "encoding": encoding | ink,
    }
    yield {
        "data": {"values": [max(rows, key=lambda row: float(row["y"])) | {"words": words}]},
        "mark": {"type": "text", "align": "left", "dx": 8, "dy": 2},
        "encoding": encoding | ink | {"text": {"field": "words"}},
    }
