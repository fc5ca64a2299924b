# SPDX-License-Identifier: Apache-2.0
"""Follows the results of transfers between hosts from the run to the export."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from natxy.events.listener import RunListener
from natxy.export import ExportFormat
from natxy.export.document import document
from natxy.export.files import write
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.text import terminal
from natxy.results.reader import RunReader
from natxy.run.run import run_plan


def test_every_test_between_hosts_is_kept_and_exported_by_direction(tmp_path: Path) -> None:
    tcp: dict[str, Any] = {
        "name": "tcp",
        "gateway": "simulated",
        "procedure": {"name": "tcp-goodput", "best_of": 2, "duration": "3s"},
        "repeat": 2,
    }
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": [tcp]}
    assert run_plan(resolve(Plan.model_validate(plan)), tmp_path / "run", RunListener()) == 0
    run = RunReader(tmp_path / "run").run
    out = io.BytesIO()
    write([("run", run)], ExportFormat.CSV, out, io.BytesIO())
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode())))
    assert [(row["repetition"], row["test"], row["direction"]) for row in rows] == [
        (repetition, test, direction)
        for repetition in "12" for test in "12" for direction in ("forward", "reverse")
    ]  # fmt: skip
    first = run.experiments[0].repetitions[0]
    assert float(rows[0]["goodput_bps"]) == first.figures["goodput_forward"]
    assert (rows[0]["duration_s"], rows[0]["retransmitted_segments"]) == ("3.0", "0")
    assert all(row["started_at"] >= run.started_at for row in rows)
    kept = document(run)["experiments"][0]["repetitions"][1]["transfers"]
    assert [each["number"] for each in kept] == [1, 1, 2, 2]
    parquet = io.BytesIO()
    write([("run", run)], ExportFormat.PARQUET, parquet, io.BytesIO())
    assert parquet.getvalue()[:4] == b"PAR1"
    assert "4 tests between hosts" in terminal.count(run)
