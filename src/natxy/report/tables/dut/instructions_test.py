# SPDX-License-Identifier: Apache-2.0
"""Tests the tables of where a gateway's instructions are, from runs in virtual time with counts put in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.tables.dut.instructions import instruction_tables
from natxy.results.dut_load import DutLoad
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan
from natxy.testbeds import simulated

Places = Callable[[int], dict[str, int]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRecord:
    """A run of two gateways, of which the one with more instructions has a module of its own."""
    load = simulated.SimulatedLoad.load

    def with_places(self: simulated.SimulatedLoad) -> DutLoad:
        found = load(self)
        assert found.instructions
        count = found.instructions.count
        nat = count // 4 if self._dut.config.frame_instructions == 2000 else 0
        modules, functions = {"kernel": count - nat}, {"ip_forward": count - nat}
        if nat:
            modules["[nf_nat]"] = functions["nf_nat_packet [nf_nat]"] = nat
        counted = found.instructions.model_copy(update={"modules": modules, "functions": functions})
        return found.model_copy(update={"instructions": counted})

    monkeypatch.setattr(simulated.SimulatedLoad, "load", with_places)
    return measured(tmp_path, 1500, 2000)


def measured(folder: Path, *costs: int) -> RunRecord:
    experiments = [
        {
            "name": f"e{cost}",
            "procedure": {"name": "frame-cost", "rounds": 1},
            "gateway": {"driver": "simulated", "frame_instructions": cost, "buffer_frames": 2000},
        }
        for cost in costs
    ]
    head = {"name": "p", "repeat": 1, "timing": {"preset": "lab", "trial": "2s"}, "testbed": {"kind": "simulated"}}
    plan = Plan.model_validate(head | {"experiments": experiments})
    assert run_plan(resolve(plan), folder / "run", RunListener()) == 0
    return RunReader(folder / "run").run


def test_modules_and_functions_have_a_row_each(run: RunRecord) -> None:
    modules, functions = instruction_tables(run)
    assert [column.title for column in modules.columns] == ["Module", "e1500", "e2000"]
    assert modules.rows == (("kernel", "1,500", "1,500"), ("[nf_nat]", "–", "500"))
    assert functions.rows == (("ip_forward", "1,500", "1,500"), ("nf_nat_packet [nf_nat]", "–", "500"))


def test_there_are_none_where_only_sums_are_counted(tmp_path: Path) -> None:
    assert instruction_tables(measured(tmp_path, 1500)) == []
