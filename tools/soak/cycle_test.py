# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.model.terms import Family
from tools.soak.cycle import CAPACITIES, trials


@pytest.mark.parametrize("family", list(Family))
def test_a_cycle_has_every_kind_of_trial(family: Family) -> None:
    results = [*trials(SimulatedEngine(SimulatedDut(SimulatedConfig())), family, seed=1)]
    assert {result.verdict for result in results} == {Verdict.PASS}
    assert [result.established for result in results if result.established] == [*CAPACITIES]
    both_ways = [result for result in results if [stream.name for stream in result.streams] == [*Side]]
    assert len(both_ways) == 2 + len(CAPACITIES)


def test_an_incomplete_phase_1_is_followed_by_nothing() -> None:
    lossy = SimulatedEngine(SimulatedDut(SimulatedConfig(forward_loss_ratio=0.5)))
    results = [*trials(lossy, Family.IPV4, seed=1)]
    assert len(results) == 2 + len(CAPACITIES)
    assert {result.verdict for result in results} == {Verdict.FAIL}
