# SPDX-License-Identifier: Apache-2.0
"""Tests the costs that are computed from trials in which instructions were counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.results.analysis.instructions import (
    Round,
    Spent,
    burst_cost,
    by_function,
    by_module,
    cycles,
    instructions,
)
from natxy.results.dut_load import InstructionCount


def spent(elapsed_s: float, frames: int, cost: float, per_s: float, **by: dict[str, int]) -> Spent:
    count = round(cost * frames + per_s * elapsed_s)
    return Spent(InstructionCount(count=count, elapsed_s=elapsed_s, cycles=2 * count, **by), frames)


def near(value: float) -> object:
    """Counts are whole numbers."""
    return pytest.approx(value, rel=1e-6, abs=0.01)


@given(
    single=st.integers(1, 10**5),
    burst=st.integers(1, 10**5),
    connection=st.integers(1, 10**6),
    per_s=st.integers(0, 10**7),
    lengths_s=st.tuples(*[st.floats(1, 3)] * 4),
)
def test_the_costs_are_those_that_were_put_in(
    single: int, burst: int, connection: int, per_s: int, lengths_s: tuple[float, float, float, float]
) -> None:
    many, few, bursts, phase1 = (
        spent(length_s, frames, cost, per_s)
        for length_s, frames, cost in zip(
            lengths_s, (4000, 1000, 3968, 2000), (single, single, burst, connection), strict=True
        )
    )
    found = Round(many, few, bursts, (phase1,))
    assert found.single(instructions) == near(single)
    assert found.in_bursts(instructions) == near(burst)
    assert found.connection(instructions) == near(connection)
    assert found.background(instructions) == pytest.approx(per_s, rel=1e-6, abs=20)
    assert found.in_bursts(cycles) == near(2 * burst)
    assert Round(many, few, bursts).connection(instructions) is None


def test_each_place_has_its_own_cost() -> None:
    def trial(elapsed_s: float, frames: int) -> Spent:
        own = {
            "modules": {"[nf_nat]": 300 * frames, "kernel": 1000 * frames},
            "functions": {"tick": round(50 * elapsed_s)},
        }
        return spent(elapsed_s, frames, 1300, 50, **own)

    rounds = [Round(trial(2, 4000), trial(2, 1000), trial(2, 4000))]
    assert by_module(rounds) == {"kernel": pytest.approx(1000), "[nf_nat]": pytest.approx(300)}
    assert by_function(rounds) == {"tick": pytest.approx(0, abs=1e-6)}


def test_what_runs_in_few_rounds_does_not_count() -> None:
    def trial(frames: int, rare: int) -> Spent:
        own = {"ip_forward": 500 * frames, **({"gc_worker": rare} if rare else {})}
        return spent(2, frames, 500 + rare / frames, 0, functions=own)

    rounds = [Round(trial(4000, 0), trial(1000, 0), trial(4000, rare)) for rare in (0, 400_000, 0, 10_000, 0)]
    assert burst_cost(rounds) == pytest.approx(500)


def test_without_functions_it_is_the_median_of_the_rounds() -> None:
    rounds = [
        Round(spent(2, 4000, 700, 9), spent(2, 1000, 700, 9), spent(2, 4000, cost, 9)) for cost in (500, 501, 600)
    ]
    assert burst_cost(rounds) == pytest.approx(501)
