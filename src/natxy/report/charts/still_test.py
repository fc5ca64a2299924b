# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest

from natxy.plan.model.units import Unit
from natxy.report.charts.chart import Chart, Ink
from natxy.report.charts.chart_format import ChartFormat
from natxy.report.charts.curve import RepeatedCurve, curve_chart
from natxy.report.charts.search import SearchStep, search_chart
from natxy.report.charts.still import page_svg, write_charts
from natxy.results.curves import Axis, Curve
from natxy.search.outcome import Outcome

SVG = "{http://www.w3.org/2000/svg}"


def search(name: str) -> Chart:
    steps = [SearchStep(1, 1000.0 * rate, outcome, "<step>", "<reason>") for rate, outcome in enumerate(Outcome, 1)]
    return search_chart(steps, name=name, title="Search", unit="<frames/s>", median=1000)


def delays(points: int) -> Chart:
    axes = Axis("<percentile>", Unit.PERCENT), Axis("delay", Unit.NS)
    curve = Curve("delay", "Delay", *axes, tuple((float(x), 1000.0 + x) for x in range(points)))
    return curve_chart(RepeatedCurve("delay", "Delay", ((1, curve), (2, curve))), name="delay")


def test_the_page_decides_every_colour_and_the_width() -> None:
    text = page_svg(search("c"))
    assert re.findall(r"#[0-9a-f]{6}\b", text) == []
    assert all(ink.css in text for ink in (Ink.PASS, Ink.FAIL, Ink.INVALID, Ink.BRACKET))
    root = ElementTree.fromstring(text)
    assert root.get("viewBox") is not None
    assert root.get("width") is root.get("height") is None


def test_two_charts_in_a_page_share_no_id_and_refer_only_to_their_own() -> None:
    texts = [page_svg(search(name)) for name in ("a", "b")]
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in texts]
    assert ids[0]
    assert ids[0].isdisjoint(ids[1])
    for text, own in zip(texts, ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= own


def test_the_same_chart_is_the_same_picture() -> None:
    assert page_svg(search("c")) == page_svg(search("c"))


@pytest.mark.parametrize("chart", [search("c"), delays(101)])
def test_nothing_reaches_out_of_the_picture_and_texts_stay_texts(chart: Chart) -> None:
    text = page_svg(chart)
    assert "<style" not in text
    assert "<script" not in text
    assert "http" not in re.sub(r"http://www\.w3\.org/[\w/]+", "", text)
    assert any(element.text in ("<frames/s>", "<percentile> (%)") for element in ElementTree.fromstring(text).iter())


def test_what_is_only_for_the_mouse_is_in_no_still_picture() -> None:
    assert len(page_svg(delays(101))) < 2 * len(page_svg(delays(30)))
    assert page_svg(delays(101)).count("mark-symbol role-mark") == 0


def test_files_have_the_colours_of_paper(tmp_path: Path) -> None:
    written = [file for form in ChartFormat for file in write_charts([search("one"), delays(3)], form, tmp_path / form)]
    assert [file.name for file in written] == [
        "one.svg", "delay.svg", "one.pdf", "delay.pdf", "one.json", "delay.json",
    ]  # fmt: skip
    texts = [file.read_bytes() for file in written]
    assert all(b"var(--" not in text for text in texts)
    assert Ink.PASS.value.encode() in texts[0]
    assert all(text.startswith(b"%PDF") for text in texts[2:4])
    assert json.loads(texts[4])["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


def test_paper_and_page_mean_the_same_inks() -> None:
    style = resources.files("natxy.report.page").joinpath("templates/report.css").read_text(encoding="utf-8")
    light = style[: style.index("}")]
    for ink in Ink:
        assert f"--{ink.name.lower()}: {ink.value};" in light
