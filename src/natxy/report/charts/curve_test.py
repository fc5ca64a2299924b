# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.units import Unit
from natxy.report.charts.chart import HOVER, Chart
from natxy.report.charts.curve import RepeatedCurve, curve_chart, repeated_curves
from natxy.results.curves import Axis, Curve

LOSS = ((100.0, 37.5), (90.0, 12.25), (80.0, 0.0))


def curve(points: tuple[tuple[float, float], ...] = LOSS, y: Unit = Unit.PERCENT, name: str = "loss") -> Curve:
    return Curve(name, f"<{name}>", Axis("offered", Unit.PERCENT), Axis("lost", y), points)


def drawn(*repetitions: tuple[int, Curve]) -> Chart:
    return curve_chart(RepeatedCurve("loss", "<loss>", repetitions), name="chart-1")


def test_the_same_curve_of_all_repetitions_is_one_chart() -> None:
    both = (curve(name="forward"), curve(name="reverse"))
    found = list(repeated_curves([(1, both), (2, both), (3, both[:1])]))
    assert [(chart.title, [number for number, _ in chart.repetitions]) for chart in found] == [
        ("<forward>", [1, 2, 3]),
        ("<reverse>", [1, 2]),
    ]


def test_every_point_is_there_in_its_order() -> None:
    rows = drawn((1, curve()), (4, curve())).spec["data"]["values"]
    assert [(row["order"], row["x"], row["y"]) for row in rows if row["repetition"] == "4"] == [
        (0, 100.0, 37.5), (1, 90.0, 12.25), (2, 80.0, 0.0),
    ]  # fmt: skip


def test_percentages_are_drawn_from_0_to_100() -> None:
    encoding = drawn((1, curve())).spec["encoding"]
    assert encoding["x"]["scale"] == encoding["y"]["scale"] == {"domain": [0, 100]}


def test_delays_are_drawn_in_milliseconds() -> None:
    chart = drawn((1, curve(((50.0, 35_000.0),), Unit.NS)))
    assert chart.spec["data"]["values"][0]["y"] == 0.035
    assert chart.spec["encoding"]["y"]["title"] == "lost (ms)"


@pytest.mark.parametrize(("longest_ns", "scale"), [(650_000.0, {"zero": True}), (750_000.0, {"type": "log"})])
def test_a_few_long_delays_do_not_press_the_others_to_zero(longest_ns: float, scale: dict[str, Any]) -> None:
    points = ((50.0, 30_000.0), (90.0, 35_000.0), (100.0, longest_ns))
    assert drawn((1, curve(points, Unit.NS))).spec["encoding"]["y"]["scale"] == scale
    for without in (((0.0, 0.0), *points), ()):
        assert drawn((1, curve(without, Unit.NS))).spec["encoding"]["y"]["scale"] == {"zero": True}


def test_twenty_repetitions_look_different() -> None:
    encoding = drawn(*((number, curve()) for number in range(1, 21))).spec["encoding"]
    channels = [encoding[channel]["scale"]["range"] for channel in ("color", "strokeDash")]
    assert len({str(look) for look in zip(*channels, strict=True)}) == 20


def test_long_curves_are_lines_alone_whose_points_the_mouse_finds() -> None:
    points = tuple((float(percent), 1000.0 + percent) for percent in range(101))
    chart = drawn((1, curve(points)))
    assert "shape" not in chart.spec["encoding"]
    assert [layer.get("name") for layer in chart.spec["layer"]] == [None, HOVER]
    assert [layer.get("name") for layer in drawn((1, curve())).spec["layer"]] == [None, None]
