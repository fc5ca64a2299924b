# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import RunOrder
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.records import State
from natxy.run.outcomes import Missing, Outcomes

NAT: dict[str, Any] = {"gateway": "nftables", "connections": "20k", "search": {"max_rate": "1M"}}
RATE = NAT | {"name": "rate", "procedure": "connection-rate"}
PHASE2 = NAT | {"name": "phase2", "procedure": "throughput", "phase1_rate": {"experiment": "rate", "percent": 50}}
BLOCKS, EXPERIMENTS = RunOrder.BLOCKS, RunOrder.EXPERIMENTS


def experiments() -> list[Experiment]:
    return resolve(Plan.model_validate({"name": "p", "experiments": [RATE, PHASE2]})).experiments


def given(order: RunOrder, results: list[float | None], state: State | None = None) -> tuple[Outcomes, Experiment]:
    """Returns the outcomes when `rate` has these results and, perhaps, has ended; and the experiment that needs it."""
    rate, phase2 = experiments()
    outcomes = Outcomes(order)
    for number, result in enumerate(results, 1):
        outcomes.add_result(rate, number, result)
    if state is not None:
        outcomes.add_end(rate, state)
    return outcomes, phase2


@pytest.mark.parametrize("state", [State.DONE, State.NO_RESULT, State.TESTER_LIMIT])
def test_one_experiment_after_the_other_takes_the_median_of_all_results(state: State) -> None:
    outcomes, phase2 = given(EXPERIMENTS, [100e3, None, 300e3, 140e3], state)
    assert outcomes.rates(phase2, 1) == outcomes.rates(phase2, 9) == {"phase1_rate": 70e3}
    assert outcomes.missing_result(phase2, 1) is None


@pytest.mark.parametrize("state", [None, State.FAILED, State.SKIPPED, State.HOST_FAILED])
def test_an_experiment_that_did_not_end_well_supplies_nothing(state: State | None) -> None:
    outcomes, phase2 = given(EXPERIMENTS, [100e3], state)
    assert outcomes.rates(phase2, 1) == {"phase1_rate": None}
    assert outcomes.missing_result(phase2, 1) == Missing(
        "its phase1_rate is a share of 'rate', which has no result", for_good=True
    )


def test_the_testers_limit_is_named_as_the_reason() -> None:
    outcomes, phase2 = given(EXPERIMENTS, [None], State.TESTER_LIMIT)
    missing = outcomes.missing_result(phase2, 1)
    assert missing is not None
    assert missing.reason.endswith("which has no result: the tester's limit was reached")


def test_a_result_of_zero_is_none() -> None:
    outcomes, phase2 = given(EXPERIMENTS, [0.0], State.DONE)
    assert outcomes.missing_result(phase2, 1) is not None


def test_in_blocks_a_repetition_takes_the_result_of_its_own_block() -> None:
    outcomes, phase2 = given(BLOCKS, [100e3, None])
    assert outcomes.rates(phase2, 1) == {"phase1_rate": 50e3}
    assert outcomes.missing_result(phase2, 2) == Missing(
        "its phase1_rate is a share of 'rate', which has no result in the same block", for_good=False
    )


def test_in_blocks_an_experiment_with_fewer_repetitions_supplies_their_median() -> None:
    outcomes, phase2 = given(BLOCKS, [100e3, 300e3, 140e3], State.DONE)
    assert outcomes.rates(phase2, 4) == {"phase1_rate": 70e3}
    assert outcomes.rates(phase2, 2) == {"phase1_rate": 150e3}


@pytest.mark.parametrize("state", [State.TESTER_LIMIT, State.FAILED])
def test_in_blocks_an_experiment_that_ended_early_supplies_no_later_block(state: State) -> None:
    outcomes, phase2 = given(BLOCKS, [100e3], state)
    assert outcomes.rates(phase2, 1) == {"phase1_rate": 50e3}
    assert outcomes.rates(phase2, 2) == {"phase1_rate": None}
    missing = outcomes.missing_result(phase2, 2)
    assert missing is not None
    assert missing.for_good
    assert "in the same block" not in missing.reason


def test_the_exit_code_is_that_of_the_worst_outcome() -> None:
    rate, _ = experiments()

    def code(*states: State) -> int:
        outcomes = Outcomes(EXPERIMENTS)
        for number, state in enumerate(states):
            outcomes.add_end(rate.model_copy(update={"name": str(number)}), state)
        return outcomes.exit_code()

    from_the_worst = [State.FAILED, State.TESTER_LIMIT, State.HOST_FAILED, State.NO_RESULT, State.SKIPPED, State.DONE]
    assert [code(state) for state in from_the_worst] == [4, 3, 3, 4, 4, 0]
    assert code() == 0
    for worse, better in pairwise(from_the_worst):
        assert code(better, worse) == code(worse)


def test_an_unfit_plan_comes_before_states_and_a_dead_engine_before_all() -> None:
    outcomes, _ = given(EXPERIMENTS, [1.0], State.FAILED)
    outcomes.add_unfit_plan()
    assert outcomes.exit_code() == 2
    outcomes.measured = True
    assert outcomes.add_dead_engine()
    assert outcomes.exit_code() == 5


def test_an_engine_that_dies_twice_in_a_row_ends_the_run() -> None:
    rate, _ = experiments()
    outcomes = Outcomes(EXPERIMENTS, measured=True)
    assert outcomes.add_dead_engine()
    assert not outcomes.add_dead_engine()
    outcomes.add_result(rate, 1, None)
    assert outcomes.add_dead_engine()
    outcomes.add_end(rate, State.FAILED)
    assert not outcomes.add_dead_engine()
    outcomes.add_end(rate, State.TESTER_LIMIT)
    assert outcomes.add_dead_engine()


def test_an_engine_that_dies_before_anything_is_measured_ends_the_run() -> None:
    outcomes = Outcomes(EXPERIMENTS)
    assert not outcomes.add_dead_engine()
    assert outcomes.exit_code() == 0
