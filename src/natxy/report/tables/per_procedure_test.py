# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.report.page.cards import cards
from natxy.report.tables.per_procedure import latency_tables
from natxy.results.reader import RunReader
from tests.support.sample_runs import SampleRun, Sought, measured_latency
from tests.support.sample_sweeps import sweeps


def test_both_latencies_stand_side_by_side_for_each_direction(tmp_path: Path) -> None:
    (table,) = latency_tables(RunReader(sweeps(tmp_path)).run)
    assert [column.title for column in table.columns[1:]] == [
        "TL forward", "WCL forward", "TL reverse", "WCL reverse",
    ]  # fmt: skip
    assert table.rows[0] == ("Latency, 64-byte frames", "0.031400", "0.037680", "0.030500", "0.034540")


def test_a_card_has_both_for_each_direction(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    run.experiment("forwarding", Sought(100e3), title="Forwarding")
    measured_latency(run, "latency", 31_000, title="Latency")
    forwarding, latency = cards(RunReader(run.end()).run)
    assert forwarding.more == ()
    assert latency.more == ("forward: TL 31.4 µs, WCL 37.68 µs", "reverse: TL 30.5 µs, WCL 34.54 µs")
