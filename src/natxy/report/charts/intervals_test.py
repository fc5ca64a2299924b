# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from natxy.plan.model.units import Unit
from natxy.report.charts.chart import Chart, Row
from natxy.report.charts.intervals import Entry, interval_charts
from natxy.report.charts.overview import overview_charts
from natxy.report.charts.still import page_svg
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from tests.support.repetitions import experiment
from tests.support.sample_runs import quickstart
from tests.support.sample_sweeps import sweeps

STEADY = experiment([200e3, 204e3, 196e3, 202e3, 198e3, 201e3])


@pytest.fixture(scope="module")
def overview(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Chart]:
    return {chart.name: chart for chart in overview_charts(RunReader(quickstart(tmp_path_factory.mktemp("run"))).run)}


def drawn(*experiments: ExperimentRecord) -> Chart:
    (chart,) = interval_charts("c", "Title", [Entry(each.title, each) for each in experiments])
    return chart


def rows(chart: Chart) -> dict[str, Row]:
    return {row["label"]: row for row in chart.spec["data"]["values"]}


def dots(chart: Chart) -> Sequence[Row]:
    found: Sequence[Row] = next(layer["data"]["values"] for layer in chart.spec["layer"] if "data" in layer)
    return found


def domain(chart: Chart) -> tuple[float, float]:
    low, high = next(layer["encoding"]["x"]["scale"]["domain"] for layer in chart.spec["layer"] if "data" in layer)
    return low, high


def test_there_is_a_chart_for_each_unit_in_the_order_of_the_plan(overview: dict[str, Chart]) -> None:
    assert list(overview) == ["00-overview-fps", "00-overview-cps"]
    assert list(rows(overview["00-overview-fps"])) == [
        "Linux IPv4 forwarding", "NAT44 throughput", "A gateway faster than the search", "NAT44, many addresses",
    ]  # fmt: skip


def test_a_row_says_the_median_with_its_interval_and_the_ratio(overview: dict[str, Chart]) -> None:
    found = rows(overview["00-overview-fps"])
    assert found["Linux IPv4 forwarding"]["whole"] == "228.1 kfps [224.7, 236.8]"
    nat = found["NAT44 throughput"]
    assert nat["whole"].startswith("150 kfps [")
    assert nat["whole"].endswith(" of Linux IPv4 forwarding")
    assert " · 65.8 %" in nat["short"]
    assert nat["low"] <= nat["median"] <= nat["high"]


def test_bounds_and_missing_results_are_words(overview: dict[str, Chart]) -> None:
    found = rows(overview["00-overview-fps"])
    bound, missing = found["A gateway faster than the search"], found["NAT44, many addresses"]
    assert bound["whole"] == "≥ 400 kfps"
    assert "low" not in bound
    assert missing["whole"] == "no result: tester limit reached"
    assert missing["is_bad"]
    assert not any(dot["label"] == "NAT44, many addresses" for dot in dots(overview["00-overview-fps"]))
    shapes = {dot["label"]: dot["shape"] for dot in dots(overview["00-overview-fps"])}
    assert shapes["A gateway faster than the search"] != shapes["Linux IPv4 forwarding"]


def test_the_description_has_what_the_picture_shows(overview: dict[str, Chart]) -> None:
    text = overview["00-overview-fps"].description
    for row in rows(overview["00-overview-fps"]).values():
        assert f"{row['label']}: {row['whole']}" in text


def test_cells_of_a_sweep_have_no_row(tmp_path: Path) -> None:
    assert list(overview_charts(RunReader(sweeps(tmp_path)).run)) == []


def test_repetitions_stand_below_each_other_in_their_order() -> None:
    found = dots(drawn(STEADY))
    assert [dot["value"] for dot in found] == STEADY.values
    assert [dot["row"] for dot in found] == sorted({dot["row"] for dot in found})


def test_one_repetition_says_that_it_is_one() -> None:
    (row,) = rows(drawn(experiment([200e3]))).values()
    assert row["whole"] == "200 kfps · 1 repetition"
    assert "low" not in row


def test_two_repetitions_have_no_band() -> None:
    """Student's interval of two values is 13 times as long as they are apart."""
    chart = drawn(experiment([1e6, 1.1e6]))
    (row,) = rows(chart).values()
    assert row["whole"].endswith(" · 2 repetitions, too few for an interval")
    assert "[" not in row["whole"]
    assert "low" not in row
    assert len(dots(chart)) == 2
    (row,) = rows(drawn(experiment([1e6, 1.1e6, 1.2e6]))).values()
    assert "low" in row


def test_an_experiment_that_waits_is_not_marked_as_bad() -> None:
    (row,) = rows(drawn(replace(experiment([]), state=State.PENDING))).values()
    assert (row["whole"], row["is_bad"]) == ("not started", False)


def test_an_interval_far_beyond_the_repetitions_does_not_shrink_the_picture() -> None:
    three = experiment([10e3, 10e3, 300e3])
    assert three.statistics is not None
    assert three.statistics.interval is not None
    low, high = domain(drawn(three))
    assert low == 0
    assert 300e3 < high < 500e3 < three.statistics.interval.high


def test_the_axis_contains_all_repetitions_of_a_figure_that_may_be_negative() -> None:
    low, high = domain(drawn(experiment([-2.0, 1.0, 4.0], procedure={"name": "overload", "flows": 10_000})))
    assert low < -2
    assert high > 4


def test_results_of_zero_have_an_axis() -> None:
    assert domain(drawn(experiment([0.0, 0.0]))) == (0, 1)


def test_a_search_that_found_nothing_is_below_the_lowest_rate_that_it_tried() -> None:
    nothing = experiment([0.0])
    repetition = replace(nothing.repetitions[0], upper_bound=5000.0)
    chart = drawn(replace(nothing, repetitions=[repetition]))
    (dot,) = dots(chart)
    assert (dot["shape"], dot["value"]) == ("triangle-left", 5000)
    assert rows(chart)["x"]["median"] == 5000
    assert domain(chart)[1] >= 5000


@pytest.mark.parametrize(("count", "parts"), [(12, 1), (13, 2), (30, 3)])
def test_many_rows_are_split_on_one_axis(count: int, parts: int) -> None:
    entries = [Entry(f"e{number}", experiment([1000.0 * number, 1010.0 * number])) for number in range(1, count + 1)]
    charts = list(interval_charts("c", "Title", entries))
    assert len({chart.name for chart in charts}) == len(charts) == parts
    assert [label for chart in charts for label in rows(chart)] == [entry.label for entry in entries]
    assert len({domain(chart) for chart in charts}) == 1


@pytest.mark.parametrize("unit", [Unit.FPS, Unit.NS])
def test_it_is_drawn_with_all_its_words(unit: Unit) -> None:
    given = STEADY if unit is Unit.FPS else experiment([35e3, 36e3], procedure={"name": "pdv"}, rate={"rate": 1e5})
    chart = drawn(given, replace(experiment([], title="Missing"), state=State.SKIPPED))
    words = [element.text for element in ElementTree.fromstring(page_svg(chart)).iter()]
    for row in rows(chart).values():
        assert row["label"] in words
        assert row["whole"] in words
