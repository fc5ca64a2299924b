# SPDX-License-Identifier: Apache-2.0
"""Tests that a procedure without a headline says why, whatever the gateway does."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from natxy.events.listener import RunListener
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.procedures import DECLARATIONS
from natxy.procedures.truth_test import cases, plan_of
from natxy.results.reader import RunReader
from natxy.run.run import run_plan

MISBEHAVING: Final[dict[str, st.SearchStrategy[Any]]] = {
    "forward_loss_ratio": st.sampled_from([0, 1e-3, 0.5, 1]),
    "reverse_loss_ratio": st.sampled_from([0, 1e-3, 0.5, 1]),
    "forwarding_fps": st.sampled_from([1, 500, 20_000, 500_000]),
    "connection_rate_fps": st.sampled_from([1, 500, 900_000]),
    "validation_fps": st.sampled_from([1, 900_000]),
    "table_capacity": st.sampled_from([1, 900, 20_000]),
    "table_policy": st.sampled_from(TablePolicy),
    "tear_down_rate": st.sampled_from([1.0, 1e6]),
}


@pytest.mark.parametrize(("procedure", "phase2"), [*cases()])
@settings(max_examples=3, phases=[Phase.generate])
@given(data=st.data())
def test_without_a_headline_there_is_a_reason(procedure: str, phase2: bool, data: st.DataObject) -> None:
    drawn = data.draw(st.fixed_dictionaries({}, optional=MISBEHAVING))
    with TemporaryDirectory() as folder:
        run_plan(plan_of(procedure, drawn, phase2=phase2), Path(folder) / "run", RunListener())
        [experiment] = RunReader(Path(folder) / "run").run.experiments
    headline = DECLARATIONS[procedure].headline().name
    without = [each for each in experiment.repetitions if each.figures.get(headline) is None]
    assert [each for each in without if not each.reason.strip()] == []
    assert experiment.repetitions or experiment.reason
