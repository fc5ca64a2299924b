# SPDX-License-Identifier: Apache-2.0
"""Tests which repetitions are measured, and when an experiment ends, without measuring anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from natxy.events.listener import RunListener
from natxy.events.run import BlockStarted
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.records import State
from natxy.results.statistics import Headline
from natxy.run.experiment import ExperimentRun
from natxy.run.schedule import repeat_all

BASE: dict[str, Any] = {"gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
Result = Callable[[int], float | None]
PRECISE: Result = lambda number: 100.0  # noqa: E731
WIDE: Result = lambda number: 100.0 if number % 2 else 200.0  # noqa: E731


class Run:
    """Replaces an experiment's run: its repetition `number` has the result `result(number)`."""

    def __init__(self, experiment: Experiment, result: Result, log: list[str]) -> None:
        self.experiment = experiment
        self.state: State | None = None
        self.headlines: dict[int, Headline] = {}
        self._result = result
        self._log = log

    def repeat(self, number: int) -> None:
        self._log.append(f"{self.experiment.name}{number}")
        value = self._result(number)
        if value is None:
            self.state = State.FAILED
        else:
            self.headlines[number] = Headline(value)

    def finish(self) -> None:
        if self.state is None:
            self._log.append(f"end {self.experiment.name}")
            self.state = State.DONE


class Blocks(RunListener):
    def __init__(self) -> None:
        self.sizes: list[int] = []

    def block_started(self, event: BlockStarted) -> None:
        assert event.number == len(self.sizes) + 1
        self.sizes.append(event.experiments)


def plan_of(repeats: dict[str, Any], order: str, baseline: str | None = None) -> ResolvedPlan:
    experiments = [BASE | {"name": name, "repeat": repeat} for name, repeat in repeats.items()]
    if baseline:
        experiments[-1]["baseline"] = baseline
    return resolve(Plan.model_validate({"name": "p", "order": order, "experiments": experiments}))


def scheduled(plan: ResolvedPlan, **results: Result) -> tuple[list[str], list[int]]:
    """Returns what was repeated and ended, in this order, and the sizes of the blocks."""
    log: list[str] = []
    blocks = Blocks()
    runs = {each.name: Run(each, results.get(each.name, PRECISE), log) for each in plan.experiments}
    repeat_all(plan, cast("dict[str, ExperimentRun]", runs), blocks)
    assert all(run.state is not None for run in runs.values())
    return log, blocks.sizes


def count(log: list[str], name: str) -> int:
    return sum(entry.startswith(name) for entry in log)


def test_one_experiment_after_the_other() -> None:
    log, sizes = scheduled(plan_of({"a": 2, "b": 1}, "experiments"))
    assert log == ["a1", "a2", "end a", "b1", "end b"]
    assert sizes == []


def test_blocks_have_those_that_are_still_repeated() -> None:
    log, sizes = scheduled(plan_of({"a": 3, "b": 1}, "blocks"))
    assert sizes == [2, 1, 1]
    # The last repetition ends an experiment at once.
    assert log.index("end b") == log.index("b1") + 1
    assert [entry for entry in log if "a" in entry] == ["a1", "a2", "a3", "end a"]


UNTIL = {"at_most": 9, "until": "10%"}


@pytest.mark.parametrize("order", ["experiments", "blocks"])
def test_a_precise_result_ends_after_the_least_number_of_repetitions(order: str) -> None:
    plan = plan_of({"a": UNTIL, "b": UNTIL}, order)
    log, _ = scheduled(plan, a=PRECISE, b=WIDE)
    assert (count(log, "a"), count(log, "b")) == (6, 9)
    assert log.index("end a") < log.index("b9")


@pytest.mark.parametrize("order", ["experiments", "blocks"])
def test_an_experiment_that_has_ended_is_not_repeated(order: str) -> None:
    log, _ = scheduled(plan_of({"a": 5, "b": 2}, order), a=lambda number: None if number == 2 else 1.0)
    assert [entry for entry in log if "a" in entry] == ["a1", "a2"]
    assert count(log, "b") == 2


def test_a_baseline_is_repeated_as_long_as_its_ratio_is_imprecise() -> None:
    log, sizes = scheduled(plan_of({"base": UNTIL, "x": UNTIL}, "blocks", baseline="base"), base=PRECISE, x=WIDE)
    assert (count(log, "base"), count(log, "x"), sizes) == (9, 9, [2] * 9)


def test_a_baseline_is_not_repeated_for_a_fixed_number() -> None:
    log, _ = scheduled(plan_of({"base": UNTIL, "x": 8}, "blocks", baseline="base"), base=PRECISE, x=WIDE)
    assert (count(log, "base"), count(log, "x")) == (6, 8)


def test_the_precision_is_that_of_the_ratio_in_blocks() -> None:
    # Both vary alike, so that their ratio does not.
    log, _ = scheduled(plan_of({"base": 9, "x": UNTIL}, "blocks", baseline="base"), base=WIDE, x=WIDE)
    assert (count(log, "base"), count(log, "x")) == (9, 6)
    log, _ = scheduled(plan_of({"base": 9, "x": UNTIL}, "experiments", baseline="base"), base=WIDE, x=WIDE)
    assert count(log, "x") == 9
