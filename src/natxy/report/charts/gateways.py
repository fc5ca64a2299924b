# SPDX-License-Identifier: Apache-2.0
"""Charts of gateways side by side: bars of medians with the spread of the repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.plan.model.units import Unit
from natxy.report.charts import chart
from natxy.report.charts.chart import Chart, Ink, Row, Spec
from natxy.report.tables.gateways import label, short_kernel
from natxy.report.words import headlines
from natxy.results.analysis.gateways import SideBySide, side_by_side
from natxy.results.records import RunRecord

_BAR_HEIGHT: Final = 26
_AXIS_HEIGHT: Final = 50
_LEGEND_LINE: Final = 20
# A colour for each kernel, because rates on different kernels cannot be compared.
_INKS: Final = (Ink.BRACKET, Ink.INVALID, Ink.MUTED)
_ROOM: Final = 1.25
_LABEL_LIMIT: Final = 340
_LETTER_WIDTH: Final = 7
_LEAST_BARS_WIDTH: Final = 240


def gateways_charts(run: RunRecord) -> Iterator[Chart]:
    """Yields a chart for each procedure, because units differ."""
    compared = side_by_side(run)
    if compared is None:
        return
    for procedure in compared.procedures:
        rows = list(_rows(compared, procedure))
        if rows:
            yield _chart(procedure, rows, compared)


def _rows(compared: SideBySide, procedure: str) -> Iterator[Row]:
    several = len(compared.kernels) > 1
    for row in compared.rows:
        experiment = row.experiments.get(procedure)
        summary = experiment.statistics if experiment else None
        if experiment is None or summary is None:
            continue
        unit = Unit(experiment.unit)
        yield {
            "gateway": ", ".join((label(row), row.traffic, *([short_kernel(row)] if several and row.kernel else []))),
            "kernel": row.kernel or "unknown",
            "median": chart.base(summary.median, unit),
            "minimum": chart.base(summary.minimum, unit),
            "maximum": chart.base(summary.maximum, unit),
            "shown": headlines.headline(experiment),
            "repetitions": summary.count,
        }


def _chart(procedure: str, rows: list[Row], compared: SideBySide) -> Chart:
    experiments = (row.experiments[procedure] for row in compared.rows if procedure in row.experiments)
    headline = next(experiments).declaration.headline()
    unit = Unit(headline.unit)
    y: Spec = {"field": "gateway", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": _LABEL_LIMIT}}
    # The number of the longest bar needs room.
    most = _ROOM * max(float(row["maximum"]) for row in rows)
    scale: Spec = {"zero": True, **({"domainMax": most} if most else {})}
    x: Spec = {"field": "median", **chart.axis("", unit), "title": chart.unit_words(unit), "scale": scale}
    kernels = list(dict.fromkeys(str(row["kernel"]) for row in rows))
    spec = chart.spec(
        [_bars(unit, kernels), _spread(), _numbers()],
        height=_AXIS_HEIGHT + _BAR_HEIGHT * len(rows) + (_LEGEND_LINE * len(kernels) if len(kernels) > 1 else 0),
        data={"values": rows},
        encoding={"y": y, "x": x},
    )
    description = f"{headline.title} of {len(rows)} gateways, median and spread"
    labels = min(_LABEL_LIMIT, _LETTER_WIDTH * max(len(row["gateway"]) for row in rows))
    return Chart(f"00-gateways-{procedure}", headline.title, description, spec, labels + _LEAST_BARS_WIDTH)


def _bars(unit: Unit, kernels: list[str]) -> Spec:
    shape = {"format": chart.quantity_format(unit)}
    tooltip: list[Spec] = [
        {"field": "gateway"},
        {"field": "kernel"},
        {"field": "shown", "title": "median"},
        {"field": "minimum", **shape},
        {"field": "maximum", **shape},
        {"field": "repetitions"},
    ]
    colour: Spec = {
        "field": "kernel",
        "type": "nominal",
        "scale": {"domain": kernels, "range": [_INKS[index % len(_INKS)].css for index in range(len(kernels))]},
        "legend": {"title": "kernel", "columns": 1} if len(kernels) > 1 else None,
    }
    return {
        "mark": {"type": "bar", "height": {"band": 0.62}},
        "encoding": {"color": colour, "tooltip": tooltip},
    }


def _spread() -> Spec:
    """Draws a line from the lowest to the highest repetition."""
    ends = {"x": {"field": "minimum"}, "x2": {"field": "maximum"}}
    return {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": {"color": {"value": Ink.TEXT.css}, **ends}}


def _numbers() -> Spec:
    return {
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {"text": {"field": "shown"}, "x": {"field": "maximum"}},
    }
