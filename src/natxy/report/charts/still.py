# SPDX-License-Identifier: Apache-2.0
"""Draws charts as pictures: SVG inside a page, in the page's colours, or files for papers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import vl_convert

from natxy.report.charts.chart import HOVER, SCHEMA, Chart, Ink, Spec
from natxy.report.charts.chart_format import ChartFormat
from natxy.system.whole_file import whole_file
from natxy.untrusted.texts import json_text, plain_within

VEGA_LITE: Final = "6.4"
_PAGE_WIDTH: Final = 980
_PAPER_WIDTH: Final = 640
# A specification may not fetch anything.
_NOWHERE: Final[list[str]] = []


def page_svg(chart: Chart) -> str:
    """Returns SVG for use in HTML: as wide as its container, in the page's colours, with unique ids."""
    text = _svg(_still(chart.spec, max(_PAGE_WIDTH, chart.least_width)))
    text = _numbered_from_1(text)
    text = re.sub(r'(\bid="|url\(#)', lambda match: f"{match[0]}{chart.name}-", text)
    return re.sub(r'<svg [^>]*?width="[^"]*" height="[^"]*"', '<svg xmlns="http://www.w3.org/2000/svg"', text, count=1)


def _numbered_from_1(svg: str) -> str:
    """Returns SVG with its own numbers of clip paths: Vega goes on counting from picture to picture of a process."""
    numbers: dict[str, int] = {}
    return re.sub(
        r'(\bid="|url\(#)clip(\d+)',
        lambda match: f"{match[1]}clip{numbers.setdefault(match[2], len(numbers) + 1)}",
        svg,
    )


def write_charts(charts: Iterable[Chart], form: ChartFormat, folder: Path) -> list[Path]:
    """Writes a file for each chart. OSError when one cannot be written, or when the folder is a link."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in charts:
        file = folder / f"{chart.name}.{form}"
        with whole_file(file, own_folder=True) as out:
            out.write(_on_paper(chart, form))
        written.append(file)
    return written


def _on_paper(chart: Chart, form: ChartFormat) -> bytes:
    width = max(_PAPER_WIDTH, chart.least_width)
    if form is ChartFormat.JSON:
        whole = {"$schema": SCHEMA, "description": chart.description, "width": width} | chart.spec
        return (_inked(json_text(whole)) + "\n").encode()
    svg = _inked(_numbered_from_1(_svg(_still(chart.spec, width))))
    return svg.encode() if form is ChartFormat.SVG else vl_convert.svg_to_pdf(svg)


def _still(spec: Spec, width: int) -> Spec:
    return spec | {"width": width, "layer": [layer for layer in spec["layer"] if layer.get("name") != HOVER]}


def _svg(spec: Spec) -> str:
    return vl_convert.vegalite_to_svg(plain_within(spec), vl_version=VEGA_LITE, allowed_base_urls=_NOWHERE)


def _inked(text: str) -> str:
    """Replaces the page's colours by those of paper."""
    for ink in Ink:
        text = text.replace(ink.css, ink.value)
    return text
