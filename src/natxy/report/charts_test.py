# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from natxy.engine.messages import Verdict
from natxy.report.charts import SearchStep, search_chart
from natxy.report.svg import Ink

SVG = "{http://www.w3.org/2000/svg}"


def steps(*verdicts: Verdict, repetition: int = 1) -> list[SearchStep]:
    return [
        SearchStep(repetition, 1000.0 * (index + 1), verdict, f"r{repetition} s{index} <{verdict}>")
        for index, verdict in enumerate(verdicts)
    ]


def chart(tried: list[SearchStep], name: str = "c") -> ElementTree.Element:
    return ElementTree.fromstring(search_chart(tried, name=name, unit="connections/s", median=1500))


def tooltips(root: ElementTree.Element, verdict: Verdict) -> list[str | None]:
    group = root.find(f".//{SVG}g[@id='c-{verdict.value}']")
    return [] if group is None else [title.text for title in group.iter(f"{SVG}title")]


def test_every_step_is_drawn_once_with_its_explanation() -> None:
    tried = steps(Verdict.FAIL, Verdict.PASS, Verdict.INVALID, Verdict.PASS)
    root = chart(tried + steps(Verdict.PASS, Verdict.FAIL, repetition=2))
    assert tooltips(root, Verdict.PASS) == ["r1 s1 <pass>", "r1 s3 <pass>", "r2 s0 <pass>"]
    assert tooltips(root, Verdict.FAIL) == ["r1 s0 <fail>", "r2 s1 <fail>"]
    assert tooltips(root, Verdict.INVALID) == ["r1 s2 <invalid>"]


def test_verdicts_differ_in_shape_and_in_colour() -> None:
    root = chart(steps(Verdict.FAIL, Verdict.PASS, Verdict.INVALID))
    shapes, colours = set(), set()
    for verdict in Verdict:
        group = root.find(f".//{SVG}g[@id='c-{verdict.value}']")
        assert group is not None
        path = group.find(f".//{SVG}path")
        assert path is not None
        shapes.add(path.get("d"))
        colours.add(re.sub(r"var\(--paper\)", "", ElementTree.tostring(group, encoding="unicode")))
        assert f"var(--{verdict.value})" in ElementTree.tostring(group, encoding="unicode")
    assert len(shapes) == len(colours) == 3


def test_the_page_decides_every_colour() -> None:
    text = search_chart(steps(*Verdict), name="c", unit="u", median=1000)
    assert all(ink.value not in text for ink in Ink)
    assert re.findall(r"#[0-9a-f]{6}", text) == []


def test_two_charts_in_a_page_share_no_id_and_refer_only_to_their_own() -> None:
    first, second = (chart(steps(*Verdict), name) for name in ("a", "b"))
    ids = [{element.get("id") for element in root.iter()} - {None} for root in (first, second)]
    assert ids[0].isdisjoint(ids[1])
    for root, own in zip((first, second), ids, strict=True):
        text = ElementTree.tostring(root, encoding="unicode")
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= own


def test_nothing_reaches_out_of_the_picture() -> None:
    text = search_chart(steps(*Verdict), name="c", unit="u", median=None)
    assert "<style" not in text
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("repetitions", [1, 20])
def test_a_wide_run_gets_a_wide_picture_of_one_height(repetitions: int) -> None:
    tried = [step for number in range(repetitions) for step in steps(*[Verdict.PASS] * 12, repetition=number + 1)]
    view_box = chart(tried).get("viewBox")
    assert view_box is not None
    width, height = map(float, view_box.split()[2:])
    assert height == pytest.approx(252)
    assert width == pytest.approx(756 if repetitions == 1 else (240 * 0.085 + 1) * 72)
