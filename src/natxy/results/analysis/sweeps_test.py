# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest

from natxy.results.analysis.ratios import Ratio
from natxy.results.analysis.sweeps import Computed, Sweep, as_number, computed, shared_fields, sweep_groups, sweeps
from natxy.results.bounded import Bound
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from tests.support.sample_runs import replanned
from tests.support.sample_sweeps import sweeps as sample


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return RunReader(sample(tmp_path_factory.mktemp("run"))).run


def of(run: RunRecord, name: str) -> Computed:
    by_name = {experiment.name: experiment.id for experiment in run.experiments}
    return computed(run)[by_name[name]]


def value(ratio: Ratio | None) -> float:
    assert ratio is not None
    return ratio.value


def median(run: RunRecord, name: str) -> float:
    summary = next(experiment.statistics for experiment in run.experiments if experiment.name == name)
    assert summary is not None
    return summary.median


def test_relative_scale_up_is_the_papers(run: RunRecord) -> None:
    alone = median(run, "rate/cores=1")
    assert value(of(run, "rate/cores=1").relative_scale_up) == (1)
    assert value(of(run, "rate/cores=4").relative_scale_up) == (median(run, "rate/cores=4") / (4 * alone))


def test_a_scale_up_to_what_the_search_did_not_reach_is_a_bound(run: RunRecord) -> None:
    reached = of(run, "forward/cores=4").relative_scale_up
    assert reached is not None
    assert reached.bound == Bound.AT_LEAST


@pytest.mark.parametrize(
    ("cell", "column", "unit", "factor"),
    [
        ("rate/cores=4", "relative_scale_up", "", 1),
        ("many/connections=3200000", "degradation", "_percent", 100),
    ],
)
def test_columns_are_in_percent_except_a_scale_up(
    run: RunRecord, cell: str, column: str, unit: str, factor: int
) -> None:
    found = of(run, cell)
    ratio: Ratio | None = getattr(found, column)
    assert ratio is not None
    assert ratio.interval is not None
    columns = found.columns()
    assert (columns[f"{column}{unit}"], columns[f"{column}_bound"]) == (factor * ratio.value, ratio.bound.value)
    assert columns[f"{column}_low{unit}"] == factor * ratio.interval.low
    assert columns[f"{column}_high{unit}"] == factor * ratio.interval.high
    assert (columns["relative_performance_percent"], columns["relative_performance_low_percent"]) == (None, None)


def test_degradation_is_against_the_fewest_connections(run: RunRecord) -> None:
    fewest = median(run, "many/connections=50000")
    assert value(of(run, "many/connections=50000").degradation) == (0)
    assert value(of(run, "many/connections=3200000").degradation) == (
        1 - median(run, "many/connections=3200000") / fewest
    )
    assert of(run, "many/connections=12800000").degradation is None


def test_times_degrade_upwards(run: RunRecord) -> None:
    slow = [
        replanned(cell, procedure="latency")
        for cell in run.experiments
        if cell.name.startswith("many/") and cell.statistics
    ]
    found = computed(replace(run, experiments=slow))
    last = found[slow[-1].id].degradation
    assert last is not None
    assert last.value == pytest.approx(
        median(run, "many/connections=3200000") / median(run, "many/connections=50000") - 1
    )


def test_what_is_compared_with_itself_has_no_interval(run: RunRecord) -> None:
    first = run.experiments[0]
    assert first.ratio_to(first) == first.ratio_to(replace(first)) == Ratio(1)


def test_a_degradation_has_the_mirrored_interval(run: RunRecord) -> None:
    few, many = (one for one in run.experiments if one.name in ("many/connections=50000", "many/connections=3200000"))
    ratio, degradation = many.ratio_to(few), of(run, many.name).degradation
    assert ratio is not None
    assert ratio.interval
    assert degradation is not None
    assert degradation.interval
    assert degradation.interval.low == pytest.approx(1 - ratio.interval.high)
    assert degradation.interval.low < degradation.value < degradation.interval.high


def test_flows_degrade_as_connections_do(run: RunRecord) -> None:
    many = [cell for cell in run.experiments if cell.name.startswith("many/")]
    flows = [replanned(cell, cell={"flows": cell.cell["connections"]}) for cell in many]
    found = computed(replace(run, experiments=flows))
    degradations = [found[cell.id].degradation for cell in many]
    assert degradations == [of(run, cell.name).degradation for cell in many]
    assert any(degradations)
    assert all(found[cell.id].relative_performance is None for cell in many)


def test_relative_performance_is_against_the_first_cell(run: RunRecord) -> None:
    first = median(run, "spread/addresses=single,source=fixed")
    last = median(run, "spread/addresses=multiple,source=random")
    assert value(of(run, "spread/addresses=single,source=fixed").relative_performance) == (1)
    assert value(of(run, "spread/addresses=multiple,source=random").relative_performance) == (last / first)


def test_sizes_have_no_relative_performance(run: RunRecord) -> None:
    for name in ("sizes/frame_size=1518", "rate/cores=2", "many/connections=800000"):
        assert of(run, name).relative_performance is None


def test_connections_are_compared_with_the_tables(run: RunRecord) -> None:
    found = of(run, "many/connections=800000")
    assert (found.table_size, found.hash_size) == (1_072_000, 1_072_000)
    assert found.connections_per_table_entry == pytest.approx(0.746, abs=0.001)
    assert of(run, "sizes/frame_size=64").connections_per_table_entry is None


def test_the_throughput_ratio_is_to_the_baselines_own_cell(run: RunRecord) -> None:
    expected = median(run, "nat44/cores=2") / median(run, "forward/cores=2")
    assert value(of(run, "nat44/cores=2").throughput_ratio) == (expected)


def test_columns_are_plain_and_carry_units(run: RunRecord) -> None:
    columns = of(run, "nat44/cores=4").columns()
    assert columns["relative_scale_up"] == pytest.approx(0.846, abs=0.001)
    assert columns["throughput_ratio_percent"] == pytest.approx(68.75, abs=0.1)
    assert columns["throughput_ratio_bound"] == "≤"
    assert columns["degradation_percent"] is None


def test_cells_of_a_sweep_are_found_together_and_know_their_numbers(run: RunRecord) -> None:
    found = {sweep.name: sweep for sweep in sweeps(run)}
    assert [as_number(place[0]) for place in found["alpha"].coordinates] == [0.8, 0.6, 0.5, 0.25]
    assert found["alpha"].title == "Validated rate"
    assert [as_number(place[1]) for place in found["spread"].coordinates] == [None] * 4
    assert found["spread"].title == "Addresses and ports"


def test_sweeps_over_the_same_coordinates_are_a_group(run: RunRecord) -> None:
    names = [[sweep.name for sweep in group.sweeps] for group in sweep_groups(run)]
    assert names == [["forward", "rate", "nat44"], ["many"], ["sizes"], ["alpha"], ["spread"], ["latency"]]


def test_what_changes_together_is_one_coordinate(run: RunRecord) -> None:
    (many,) = (sweep for sweep in sweeps(run) if sweep.name == "many")
    together = [
        replanned(cell, cell={**cell.cell, "gateway.hash_size": 7 * number}) for number, cell in enumerate(many.cells)
    ]
    (found,) = sweeps(replace(run, experiments=together))
    assert found.fields == ("connections",)
    degraded = computed(replace(run, experiments=together))[together[3].id]
    assert degraded == of(run, "many/connections=3200000")
    (spread,) = (sweep for sweep in sweeps(run) if sweep.name == "spread")
    assert spread.fields == ("addresses", "ports.source")


def test_frame_sizes_are_rows_of_tables_of_their_own(run: RunRecord) -> None:
    (sizes,) = (sweep for sweep in sweeps(run) if sweep.name == "sizes")
    doubled = [
        replace(replanned(cell, name=cell.name + "-2", sweep="sizes-2"), id=100 + cell.id) for cell in sizes.cells
    ]
    groups = sweep_groups(replace(run, experiments=[*sizes.cells, *doubled]))
    assert [len(group.sweeps) for group in groups] == [1, 1]


def test_what_is_alone_has_nothing_to_compare(run: RunRecord) -> None:
    alone: list[ExperimentRecord] = [
        replace(replanned(experiment, sweep=None, cell={}), baseline=None) for experiment in run.experiments
    ]
    assert sweeps(replace(run, experiments=alone)) == []
    for found in computed(replace(run, experiments=alone)).values():
        assert (found.relative_scale_up, found.relative_performance, found.degradation) == (None, None, None)


def test_without_a_cell_of_one_core_there_is_no_scale_up(run: RunRecord) -> None:
    four = [cell for cell in run.experiments if cell.sweep == "rate" and cell.cell["cores"] != 1]
    assert four
    found = computed(replace(run, experiments=[*four, *(replace(each, id=1000 + each.id) for each in four)]))
    assert {found[cell.id].relative_scale_up for cell in four} == {None}


def test_a_group_has_the_fields_and_coordinates_of_each_of_its_sweeps(run: RunRecord) -> None:
    for group in sweep_groups(run):
        for sweep in group.sweeps:
            assert (group.fields, group.coordinates) == (sweep.fields, sweep.coordinates)


@pytest.mark.parametrize(
    ("fields", "count", "in_rows"), [(("x",), 8, False), (("x",), 9, True), (("frame_size",), 1, True)]
)
def test_more_than_eight_cells_need_rows(
    run: RunRecord, fields: tuple[str, ...], count: int, *, in_rows: bool
) -> None:  # fmt: skip
    assert Sweep("s", "S", fields, (run.experiments[0],) * count).has_cells_in_rows == in_rows


def test_a_single_cell_is_a_sweep_with_nothing_to_compare(run: RunRecord) -> None:
    for name in ("rate/cores=1", "sizes/frame_size=64"):
        one = replace(run, experiments=[cell for cell in run.experiments if cell.name == name])
        [sweep] = sweeps(one)
        assert (sweep.name, len(sweep.cells)) == (name.split("/")[0], 1)
        assert [group.sweeps for group in sweep_groups(one)] == [(sweep,)]
        [found] = computed(one).values()
        assert (found.relative_scale_up, found.relative_performance) == (None, None)
    two = replace(run, experiments=[cell for cell in run.experiments if cell.name in ("rate/cores=1", "rate/cores=4")])
    assert all(each.relative_scale_up for each in computed(two).values())


def test_only_fields_that_all_cells_have_are_shared(run: RunRecord) -> None:
    (rate,) = (sweep for sweep in sweeps(run) if sweep.name == "rate")
    first, *others = rate.cells
    further = replanned(first, cell={**first.cell, "addresses": "multiple"})
    assert shared_fields([further, *others]) == ["cores"]


def test_a_reference_differs_in_the_varied_field_only(run: RunRecord) -> None:
    (rate,) = (sweep for sweep in sweeps(run) if sweep.name == "rate")
    places = [(cores, size) for size in ("small", "large") for cores in (1, 2)]
    sources = [*rate.cells, *rate.cells][:4]
    cells = [
        replace(replanned(cell, cell={"cores": cores, "addresses": size}), id=number)
        for number, (cell, (cores, size)) in enumerate(zip(sources, places, strict=True))
    ]
    cells[3] = replace(cells[3], repetitions=rate.cells[0].repetitions)
    found = computed(replace(run, experiments=cells))
    ratio = cells[3].ratio_to(cells[2])
    assert ratio is not None
    assert ratio.value != 1
    assert value(found[3].relative_scale_up) == pytest.approx(ratio.value / 2)


def test_columns_have_the_sizes_of_tables(run: RunRecord) -> None:
    found = of(run, "many/connections=800000")
    assert found.connections_per_hash_bucket == pytest.approx(800_000 / 1_072_000)
    columns = found.columns()
    assert (columns["table_size"], columns["hash_size"]) == (1_072_000, 1_072_000)


def test_only_rates_have_a_relative_performance(run: RunRecord) -> None:
    spread = [cell for cell in run.experiments if cell.sweep == "spread"]
    delays = [replanned(cell, procedure="latency") for cell in spread]
    assert all(computed(replace(run, experiments=spread))[cell.id].relative_performance for cell in spread)
    assert not any(computed(replace(run, experiments=delays))[cell.id].relative_performance for cell in delays)
