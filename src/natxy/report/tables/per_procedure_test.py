# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.report.tables.per_procedure import latency_tables
from natxy.results.reader import RunReader
from tests.support.sample_sweeps import sweeps


def test_both_latencies_stand_side_by_side_for_each_direction(tmp_path: Path) -> None:
    (table,) = latency_tables(RunReader(sweeps(tmp_path)).run)
    assert [column.title for column in table.columns[1:]] == [
        "TL forward", "WCL forward", "TL reverse", "WCL reverse",
    ]  # fmt: skip
    assert table.rows[0] == ("Latency, 64-byte frames", "0.031400", "0.037680", "0.030500", "0.034540")
