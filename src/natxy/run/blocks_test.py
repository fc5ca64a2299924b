# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.run.blocks import block_order
from natxy.run.setup import setup_key

GATEWAYS: list[dict[str, Any]] = [{"driver": "simulated", "forwarding_fps": rate} for rate in ("100k", "200k", "300k")]
COMMON: dict[str, Any] = {"search": {"max_rate": "1M"}}


def experiments() -> list[Experiment]:
    """Returns two throughputs, a connection rate and a throughput at a share of it, for each of three gateways."""
    given: list[dict[str, Any]] = []
    for number, gateway in enumerate(GATEWAYS):
        own = COMMON | {"gateway": gateway}
        given += [
            own | {"name": f"a{number}", "procedure": "throughput"},
            own | {"name": f"rate{number}", "procedure": "connection-rate", "connections": 1000},
            own
            | {
                "name": f"shared{number}",
                "procedure": "throughput",
                "connections": 1000,
                # The rate comes from another gateway's experiment.
                "phase1_rate": {"experiment": f"rate{max(0, number - 1)}", "percent": 50},
            },
        ]
    plan = {"name": "p", "testbed": {"kind": "simulated"}, "experiments": given}
    return resolve(Plan.model_validate(plan)).experiments


EXPERIMENTS = experiments()


@given(seed=st.integers(0, 2**64 - 1), number=st.integers(1, 10_000))
def test_a_block_has_every_experiment_after_those_that_it_takes_rates_from(seed: int, number: int) -> None:
    ordered = block_order(EXPERIMENTS, seed, number)
    names = [experiment.name for experiment in ordered]
    assert sorted(names) == sorted(experiment.name for experiment in EXPERIMENTS)
    for experiment in ordered:
        for rate in experiment.known_rates.values():
            assert rate.experiment is not None
            assert names.index(rate.experiment) < names.index(experiment.name)
    assert block_order(EXPERIMENTS[::-1], seed, number) == ordered


@given(seed=st.integers(0, 2**64 - 1))
def test_a_set_up_changes_only_between_gateways(seed: int) -> None:
    alone = [experiment for experiment in EXPERIMENTS if not experiment.name.startswith("shared")]
    groups = [len([*group]) for _, group in groupby(block_order(alone, seed, 1), setup_key)]
    assert groups == [2, 2, 2]


def test_every_gateway_and_experiment_is_first_in_some_blocks() -> None:
    alone = [experiment for experiment in EXPERIMENTS if not experiment.name.startswith("shared")]
    first = Counter(block_order(alone, 7, number)[0].name for number in range(1, 601))
    assert set(first) == {experiment.name for experiment in alone}
    assert min(first.values()) > 60


@given(seed=st.integers(0, 2**64 - 1))
def test_a_baseline_and_what_is_compared_with_it_follow_each_other(seed: int) -> None:
    alone = [experiment for experiment in EXPERIMENTS if not experiment.name.startswith("shared")]
    compared = [each.model_copy(update={"baseline": "a0"}) if each.name == "a2" else each for each in alone]
    gateways = [name[-1] for name in (each.name for each in block_order(compared, seed, 1))]
    assert abs(gateways.index("0") - gateways.index("2")) <= 2


def test_settings_that_are_lists_are_compared_too() -> None:
    delays = ["1ms", "2ms", "1ms"]
    given = [
        {
            "name": f"x{number}", "procedure": "throughput", **COMMON,
            "gateway": {"driver": "reference", "forward": {"delay": [{"min": delay}]}},
        }
        for number, delay in enumerate(delays)
    ]  # fmt: skip
    plan = Plan.model_validate({"name": "p", "testbed": {"kind": "memif"}, "experiments": given})
    order = [experiment.name for experiment in block_order(resolve(plan).experiments, 1, 1)]
    assert abs(order.index("x0") - order.index("x2")) == 1
