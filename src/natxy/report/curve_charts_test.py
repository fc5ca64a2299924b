# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from xml.etree import ElementTree

import pytest

from natxy.plan.units import Unit
from natxy.report.curve_charts import RepeatedCurve, curve_chart, repeated_curves
from natxy.results.curves import Axis, Curve

SVG = "{http://www.w3.org/2000/svg}"
LOSS = ((100.0, 37.5), (90.0, 12.25), (80.0, 0.0))


def curve(points: tuple[tuple[float, float], ...] = LOSS, y: Unit = Unit.PERCENT, name: str = "loss") -> Curve:
    return Curve(name, f"<{name}>", Axis("offered", Unit.PERCENT), Axis("lost", y), points)


def drawn(repeated: RepeatedCurve) -> ElementTree.Element:
    return ElementTree.fromstring(curve_chart(repeated, name="chart-1"))


def group(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(element for element in root.iter(f"{SVG}g") if element.get("id") == f"chart-1-{name}")


def test_the_same_curve_of_all_repetitions_is_one_chart() -> None:
    both = (curve(name="forward"), curve(name="reverse"))
    found = list(repeated_curves([(1, both), (2, both), (3, both[:1])]))
    assert [(chart.title, [number for number, _ in chart.repetitions]) for chart in found] == [
        ("<forward>", [1, 2, 3]),
        ("<reverse>", [1, 2]),
    ]


def test_every_point_says_what_it_is() -> None:
    root = drawn(RepeatedCurve("loss", ((1, curve()), (4, curve()))))
    told = [title.text for title in group(root, "repetition-4").iter(f"{SVG}title")]
    assert told[1] == "repetition 4\noffered: 90 %\nlost: 12.25 %"
    assert len(told) == 3


def test_percentages_are_drawn_from_0_to_100() -> None:
    texts = [text.text for text in drawn(RepeatedCurve("loss", ((1, curve()),))).iter(f"{SVG}text")]
    assert texts.count("100") == 2
    assert texts.count("0") == 2


def test_twenty_repetitions_look_different() -> None:
    root = drawn(RepeatedCurve("loss", tuple((number, curve()) for number in range(1, 21))))
    looks = set()
    for number in range(1, 21):
        line = next(group(root, f"repetition-{number}").iter(f"{SVG}path"))
        looks.add(line.get("style"))
    assert len(looks) == 20


@pytest.mark.parametrize(("unit", "label"), [(Unit.NS, "lost (s)"), (Unit.FRAMES, "lost (frames)")])
def test_long_curves_are_lines_alone(unit: Unit, label: str) -> None:
    points = tuple((float(percent), 1000.0 + percent) for percent in range(101))
    root = drawn(RepeatedCurve("delay", ((1, curve(points, unit)),)))
    assert not list(group(root, "repetition-1").iter(f"{SVG}use"))
    assert label in [text.text for text in root.iter(f"{SVG}text")]
