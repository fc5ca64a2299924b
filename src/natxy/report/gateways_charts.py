# SPDX-License-Identifier: Apache-2.0
"""Gateways side by side as bars: medians, and how far the repetitions spread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.plan.units import Unit
from natxy.report import chart, headlines
from natxy.report.chart import Chart, Ink, Row, Spec
from natxy.report.gateways_table import label
from natxy.results.gateways import SideBySide, side_by_side
from natxy.results.records import RunRecord

_BAR_HEIGHT: Final = 26
_AXIS_HEIGHT: Final = 50
_ROOM: Final = 1.25


def gateways_charts(run: RunRecord) -> Iterator[Chart]:
    """One a procedure: their units differ."""
    compared = side_by_side(run)
    if compared is None:
        return
    for procedure in compared.procedures:
        rows = list(_rows(compared, procedure))
        if rows:
            yield _chart(procedure, rows, compared)


def _rows(compared: SideBySide, procedure: str) -> Iterator[Row]:
    for row in compared.rows:
        experiment = row.experiments.get(procedure)
        summary = experiment.statistics if experiment else None
        if experiment is None or summary is None:
            continue
        unit = Unit(experiment.unit)
        yield {
            "gateway": f"{label(row)}, {row.traffic}",
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
    y: Spec = {"field": "gateway", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 340}}
    # The longest bar leaves room for its number.
    most = _ROOM * max(float(row["maximum"]) for row in rows)
    scale: Spec = {"zero": True, **({"domainMax": most} if most else {})}
    x: Spec = {"field": "median", **chart.axis("", unit), "title": chart.unit_words(unit), "scale": scale}
    spec = chart.spec(
        [_bars(unit), _spread(), _numbers()],
        height=_AXIS_HEIGHT + _BAR_HEIGHT * len(rows),
        data={"values": rows},
        encoding={"y": y, "x": x},
    )
    description = f"{headline.title} of {len(rows)} gateways, median and spread"
    return Chart(f"00-gateways-{procedure}", headline.title, description, spec)


def _bars(unit: Unit) -> Spec:
    shape = {"format": chart.quantity_format(unit)}
    told: list[Spec] = [
        {"field": "gateway"},
        {"field": "shown", "title": "median"},
        {"field": "minimum", **shape},
        {"field": "maximum", **shape},
        {"field": "repetitions"},
    ]
    return {
        "mark": {"type": "bar", "height": {"band": 0.62}},
        "encoding": {"color": {"value": Ink.BRACKET.css}, "tooltip": told},
    }


def _spread() -> Spec:
    """From the least to the greatest repetition."""
    ends = {"x": {"field": "minimum"}, "x2": {"field": "maximum"}}
    return {"mark": {"type": "rule", "strokeWidth": 1.5}, "encoding": {"color": {"value": Ink.TEXT.css}, **ends}}


def _numbers() -> Spec:
    return {
        "mark": {"type": "text", "align": "left", "dx": 6},
        "encoding": {"text": {"field": "shown"}, "x": {"field": "maximum"}},
    }
