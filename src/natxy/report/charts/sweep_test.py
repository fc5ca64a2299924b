# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from natxy.plan.yaml.frame_size_lists import FRAME_SIZE_LISTS
from natxy.report.charts.chart import Chart, Row, Spec
from natxy.report.charts.still import page_svg
from natxy.report.charts.sweep import sweep_chart
from natxy.results.analysis.sweeps import Sweep, sweeps
from natxy.results.reader import RunReader
from tests.support.sample_runs import replanned
from tests.support.sample_sweeps import sweeps as sample


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sweep]:
    return {sweep.name: sweep for sweep in sweeps(RunReader(sample(tmp_path_factory.mktemp("run"))).run)}


def drawn(sweep: Sweep) -> Chart:
    chart = sweep_chart(sweep, name="c")
    assert chart is not None
    return chart


def x(chart: Chart) -> Spec:
    encoding: Spec = chart.spec["encoding"]["x"]
    return encoding


def reference(chart: Chart, words: str) -> list[Row]:
    """The points of the line that is called so."""
    layers = chart.spec["layer"]
    named = [n for n, layer in enumerate(layers) if layer.get("data", {}).get("values", [{}])[0].get("words") == words]
    points: list[Row] = layers[named[0] - 1]["data"]["values"]
    return points


def test_cores_stand_against_the_ideal(found: dict[str, Sweep]) -> None:
    chart = drawn(found["rate"])
    assert [(row["x"], row["median"]) for row in chart.spec["data"]["values"]] == [
        (1, 43_750), (2, 71_875), (4, 140_625),
    ]  # fmt: skip
    assert [(row["x"], row["y"]) for row in reference(chart, "ideal")] == [(1, 43_750), (2, 87_500), (4, 175_000)]


def test_frame_sizes_stand_against_the_theoretical_maximum(found: dict[str, Sweep]) -> None:
    maxima = {row["x"]: round(row["y"]) for row in reference(drawn(found["sizes"]), "theoretical maximum")}
    assert (maxima[64], maxima[1518]) == (1_488_095, 81_274)


def test_where_what_the_line_carries_differs_each_series_has_its_own_maximum(found: dict[str, Sweep]) -> None:
    sizes = found["sizes"]
    both = [
        replanned(cell, cell={**cell.cell, "line": line}, line_rate=rate)
        for line, rate in (("slow", 1e9), ("fast", 1e10))
        for cell in sizes.cells
    ]
    chart = drawn(replace(sizes, fields=("frame_size", "line"), cells=tuple(both)))
    for line, at_64 in (("slow", 1_488_095), ("fast", 14_880_952)):
        maxima = [row["y"] for row in reference(chart, f"theoretical maximum, {line}")]
        assert round(maxima[0]) == at_64
        assert maxima == sorted(maxima, reverse=True)


def test_connections_stand_on_a_logarithmic_axis_and_what_failed_nowhere(found: dict[str, Sweep]) -> None:
    chart = drawn(found["many"])
    assert x(chart)["scale"]["type"] == "log"
    assert x(chart)["axis"]["values"] == [50_000, 200_000, 800_000, 3_200_000]


def test_jumbo_frames_don_t_crowd_the_others(found: dict[str, Sweep]) -> None:
    sizes = found["sizes"]
    assert x(drawn(sizes))["scale"].get("type") is None
    jumbo = replanned(sizes.cells[-1], cell={"frame_size": 9216})
    assert x(drawn(replace(sizes, cells=(*sizes.cells, jumbo))))["scale"]["type"] == "log"


def test_flows_stand_on_a_logarithmic_axis_too(found: dict[str, Sweep]) -> None:
    flows = [replanned(cell, cell={"flows": cell.cell["connections"]}) for cell in found["many"].cells]
    chart = drawn(replace(found["many"], fields=("flows",), cells=tuple(flows)))
    assert x(chart)["scale"]["type"] == "log"


def test_every_coordinate_stands_on_the_axis_as_it_is(found: dict[str, Sweep]) -> None:
    svg = page_svg(drawn(found["alpha"]))
    assert [text for text in ("0.25", "0.5", "0.6", "0.8") if f">{text}<" not in svg] == []


def test_every_frame_size_of_rfc_2544_stands_on_the_axis(found: dict[str, Sweep]) -> None:
    listed = FRAME_SIZE_LISTS["rfc2544"]
    cells = [replanned(found["sizes"].cells[0], cell={"frame_size": size}) for size in listed]
    svg = page_svg(drawn(replace(found["sizes"], cells=tuple(cells))))
    assert [size for size in listed if f">{size}<" not in svg] == []


def test_words_are_categories_and_other_coordinates_series(found: dict[str, Sweep]) -> None:
    chart = drawn(found["spread"])
    assert x(chart)["type"] == "nominal"
    rows = chart.spec["data"]["values"]
    assert [(row["x"], row["series"]) for row in rows] == [
        ("single", "fixed"), ("single", "random"), ("multiple", "fixed"), ("multiple", "random"),
    ]  # fmt: skip


def test_delays_are_drawn_in_milliseconds(found: dict[str, Sweep]) -> None:
    rows = drawn(found["latency"]).spec["data"]["values"]
    assert rows[0]["median"] == pytest.approx(31.4e-3)
    assert rows[0]["minimum"] < rows[0]["median"] < rows[0]["maximum"]


def test_without_any_result_there_is_no_chart(found: dict[str, Sweep]) -> None:
    failed = [replace(cell, repetitions=[]) for cell in found["rate"].cells]
    assert sweep_chart(replace(found["rate"], cells=tuple(failed)), name="c") is None
