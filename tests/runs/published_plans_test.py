# SPDX-License-Identifier: Apache-2.0
"""Runs the plans that repeat published measurements on a simulated gateway: reports show the published tables too."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from natxy.events.listener import RunListener
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.plan.yaml.loading import load_plan
from natxy.published import published_table
from natxy.report.page.html import write_report
from natxy.report.text import terminal
from natxy.results.reader import RunReader
from natxy.run.run import run_plan

PLANS = [
    file for file in sorted((Path(__file__).parents[2] / "plans").glob("*.yaml")) if "\npublished:" in file.read_text()
]
TESTBED = SimulatedTestbedConfig(kind="simulated", dut_cores=4)
GATEWAY = SimulatedConfig(forwarding_fps=2e5, connection_rate_fps=1e5, table_capacity=10**6)


@pytest.mark.parametrize("file", PLANS, ids=lambda file: file.stem)
def test_published_figures_stand_beside_the_plans_own(file: Path, tmp_path: Path) -> None:
    plan = load_plan(file, repeat=1)
    simulated = [experiment.model_copy(update={"gateway": GATEWAY}) for experiment in plan.experiments]
    run_plan(plan.model_copy(update={"testbed": TESTBED, "experiments": simulated}), tmp_path / "run", RunListener())
    reader = RunReader(tmp_path / "run")
    assert all(experiment.statistics for experiment in reader.run.experiments)
    out = io.StringIO()
    Console(file=out, width=80).print(terminal.render(reader))
    shown, page = " ".join(out.getvalue().split()), write_report(RunReader(tmp_path / "run")).read_text()
    for table in map(published_table, plan.published):
        assert f"Published: {table.title}" in shown
        assert table.where in shown
        assert table.where in page
