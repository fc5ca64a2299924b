# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from natxy.events.listener import RunListener
from natxy.plan.yaml.loading import load_plan
from natxy.report.tables import results as results_tables
from natxy.report.tables import sweep as sweep_tables
from natxy.report.tables.table import Table
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan
from tests.support.sample_runs import SampleRun, Sought, quickstart
from tests.support.sample_sweeps import sweeps


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return RunReader(sweeps(tmp_path_factory.mktemp("run"))).run


def table(run: RunRecord, title: str) -> Table:
    return next(table for table in sweep_tables.sweep_tables(run) if table.title.startswith(title))


def rows(table: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in table.rows}


def test_rows_that_give_different_fields_stand_by_those_that_all_have(tmp_path: Path) -> None:
    experiment = {
        "name": "rate", "gateway": "simulated", "procedure": "throughput", "repeat": 1,
        "search": {"min_rate": "1k", "max_rate": "200k", "error": "1k"},
        "sweep": [{"ttl": 64, "loss_tolerance": {"reverse": "1%"}}, {"ttl": 32, "loss_tolerance": None}],
    }  # fmt: skip
    plan = tmp_path / "plan.yaml"
    plan.write_text(json.dumps({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}))
    run_plan(load_plan(plan), tmp_path / "run", RunListener())
    run = RunReader(tmp_path / "run").run
    (measured, *_) = sweep_tables.sweep_tables(run)
    assert [column.title for column in measured.columns] == ["Ttl", "64", "32"]


def test_sweeps_over_cores_stand_in_one_table_as_in_the_papers(run: RunRecord) -> None:
    cores = table(run, "Linux IPv4 forwarding; NAT44 rate; NAT44 throughput")
    assert [column.title for column in cores.columns] == ["CPU cores", "1", "2", "4"]
    found = rows(cores)
    assert found["NAT44 rate, connections/s: Median"] == ("43,750", "71,875", "140,625")
    scale_up = found["NAT44 rate, connections/s: Relative scale-up"]
    assert [cell.split(" [")[0] for cell in scale_up] == ["1.000", "0.821", "0.804"]
    assert scale_up[1] == "0.821 [0.767, 0.857]"
    ratios = found["NAT44 throughput, frames/s per direction: Throughput ratio (to the baseline)"]
    assert [cell.split(" [")[0] for cell in ratios] == ["44.8 %", "48.5 %", "≤ 68.8 %"]
    assert len(cores.emphasis) == 3


def test_a_comparison_of_cells_has_an_interval_and_its_method(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    for connections, rate in ((50_000, 200e3), (200_000, 199e3), (800_000, 100e3)):
        cell = {"connections": connections}
        sample.experiment(
            f"many/connections={connections}", Sought(rate), title="Many", cell=cell, connections=connections
        )
    for addresses, rate in (("single", 200e3), ("multiple", 201e3), ("64", 100e3)):
        sample.experiment(f"spread/addresses={addresses}", Sought(rate), title="Spread", cell={"addresses": addresses})
    run = RunReader(sample.end()).run
    for title, row, narrow in (("Many:", "Degradation", "degr."), ("Spread:", "Relative performance", "rel.")):
        wide = table(run, title)
        overview = next(found for found in results_tables.overview(run) if found.title.startswith(title))
        at = [column.title for column in overview.columns].index(narrow)
        assert ["[" in cell for cell in rows(wide)[row]] == [False, True, True]
        assert ["[" in line[at] for line in overview.rows] == [False, True, True]
        assert "were not measured in blocks" in wide.note


def test_connections_stand_with_ports_tables_and_their_ratio(run: RunRecord) -> None:
    found = table(run, "Connection rate")
    assert [column.title for column in found.columns][:3] == ["Connections", "50,000", "200,000"]
    labels = [row[0] for row in found.rows]
    assert labels[:6] == [
        "Source ports", "Destination ports", "Connection tracking table size", "Hash table size",
        "Connections / table size", "Connections / hash table size",
    ]  # fmt: skip
    degradation = [cell.split(" [")[0] for cell in rows(found)["Degradation"]]
    assert degradation == ["0.0 %", "5.3 %", "6.6 %", "42.1 %", "–"]
    assert rows(found)["State"][-1] == "failed"


def test_frame_sizes_are_rows(run: RunRecord) -> None:
    sizes = table(run, "Forwarding")
    assert sizes.columns[0].title == "Frame size"
    assert [row[0] for row in sizes.rows] == ["64", "128", "256", "512", "1024", "1280", "1518"]
    latency = table(run, "Latency")
    titles = [column.title for column in latency.columns]
    assert any(title.startswith("Worst case latency, reverse") for title in titles)


def test_two_swept_fields_are_two_rows_of_coordinates(run: RunRecord) -> None:
    spread = table(run, "Addresses and ports")
    assert [column.title for column in spread.columns] == ["IP addresses", "single", "single", "multiple", "multiple"]
    assert spread.rows[0] == ("Source ports", "fixed", "random", "fixed", "random")
    relative = [cell.split(" [")[0] for cell in rows(spread)["Relative performance"]]
    assert relative == ["100.0 %", "330.0 %", "216.7 %", "330.0 %"]


def test_what_is_the_same_everywhere_is_said_once(run: RunRecord) -> None:
    same = rows(table(run, "Validated rate: Maximum connection establishment rate, connections/s: common"))
    assert same["Gateway"] == ("nftables",)
    assert "Validation rate" not in same
    for each in sweep_tables.sweep_tables(run):
        labels = [row[0] for row in each.rows]
        assert len(labels) == len(set(labels)), each.title


def test_a_terminal_has_room_for_every_cell(run: RunRecord) -> None:
    found = results_tables.overview(run)
    assert sum(len(table.rows) for table in found) == len(run.experiments)
    for each in (table.narrower or table for table in found):
        widths = [max(len(cell) for cell in column) for column in zip(*each.rows, strict=True)]
        titles = [len(column.title) for column in each.columns]
        assert sum(map(max, widths, titles)) + len(titles) <= 80


def test_no_sweep_no_table(tmp_path: Path) -> None:
    assert sweep_tables.sweep_tables(RunReader(quickstart(tmp_path)).run) == []
