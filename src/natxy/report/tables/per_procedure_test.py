# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.events.listener import RunListener
from natxy.plan.model.units import Unit
from natxy.procedures.truth_test import plan_of
from natxy.report.tables.per_procedure import drop_rates_table, latency_tables
from natxy.report.words import wording
from natxy.results.reader import RunReader
from natxy.run.run import run_plan
from tests.support.sample_sweeps import sweeps


def test_both_latencies_stand_side_by_side_for_each_direction(tmp_path: Path) -> None:
    (table,) = latency_tables(RunReader(sweeps(tmp_path)).run)
    assert [column.title for column in table.columns[1:]] == [
        "TL forward", "WCL forward", "TL reverse", "WCL reverse",
    ]  # fmt: skip
    assert table.rows[0] == ("Latency, 64-byte frames", "0.031400", "0.037680", "0.030500", "0.034540")


def test_a_terminal_shows_both_drop_rates(tmp_path: Path) -> None:
    """The other tables of a terminal have headlines alone."""
    plan = plan_of("ndr-pdr", {"forwarding_fps": 200_000}, phase2=False)
    run_plan(plan, tmp_path / "run", RunListener())
    run = RunReader(tmp_path / "run").run
    table = drop_rates_table(run)
    assert table
    [(title, lossless, partial, allowed)] = table.rows
    [experiment] = run.experiments
    assert (title, allowed) == (experiment.title, "2%")
    [repetition] = experiment.repetitions
    for shown, name in ((lossless, "rate"), (partial, "partial_drop_rate")):
        value = repetition.figures[name]
        assert value
        assert shown == wording.quantity(value, Unit.FPS)
    assert drop_rates_table(RunReader(sweeps(tmp_path / "other")).run) is None
