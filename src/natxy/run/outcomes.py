# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of a run's experiments: the rates of other experiments and the exit code depend on them."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Final

from natxy.errors import DutError, EngineDiedError, HostError, PlanError, TesterLimitError
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import RunOrder
from natxy.results.records import State

# All of these may have repetitions with a result.
_MEASURED: Final = {State.DONE, State.TESTER_LIMIT, State.NO_RESULT}
_ENDED_EARLY: Final = {State.TESTER_LIMIT, State.HOST_FAILED, State.FAILED, State.SKIPPED}

_EXIT_CODES: Final = (
    (State.FAILED, DutError.exit_code),
    # What disturbs the tester of a lab disturbs its gateway as well, so this comes before NO_RESULT.
    (State.TESTER_LIMIT, TesterLimitError.exit_code),
    (State.HOST_FAILED, HostError.exit_code),
    (State.NO_RESULT, DutError.exit_code),
    (State.SKIPPED, DutError.exit_code),
)


@dataclass(frozen=True)
class Missing:
    """Says which result a repetition lacks; `for_good` if no later repetition will have it either."""

    reason: str
    for_good: bool


class Outcomes:
    """`measured`: a repetition has begun, in this session or before the run was resumed."""

    def __init__(self, order: RunOrder, *, measured: bool = False) -> None:
        self.measured = measured
        self._in_blocks = order == RunOrder.BLOCKS
        self._results: dict[str, dict[int, float | None]] = {}
        self._states: dict[str, State] = {}
        self._any_engine_died = False
        self._last_engine_died = False
        self._plan_unfit = False

    def add_result(self, experiment: Experiment, number: int, headline: float | None) -> None:
        """Adds a repetition that was measured to the end; None if it has no headline."""
        self._results.setdefault(experiment.name, {})[number] = headline
        self._last_engine_died = False

    def add_end(self, experiment: Experiment, state: State) -> None:
        """Adds the state that an experiment ended with."""
        self._states[experiment.name] = state
        if state == State.TESTER_LIMIT:
            self._last_engine_died = False

    def add_dead_engine(self) -> bool:
        """Records that the engine died; returns True when the run may continue with the next experiment.

        An engine that died before anything was measured, or in two experiments in a row, will not work for the others
        either.
        """
        if self._last_engine_died or not self.measured:
            return False
        self._any_engine_died = self._last_engine_died = True
        return True

    def add_unfit_plan(self) -> None:
        """Records that a gateway cannot do what its experiment asks of it."""
        self._plan_unfit = True

    def rates(self, experiment: Experiment, number: int) -> dict[str, float | None]:
        """Returns the known rates of repetition `number` by field; None where another experiment has no result."""
        return {
            field: rate.given_by(self._supplied(rate.experiment, number))
            for field, rate in experiment.known_rates.items()
        }

    def missing_result(self, experiment: Experiment, number: int) -> Missing | None:
        """Returns why a rate that repetition `number` takes from another experiment is unknown; None if it is known."""
        for field, rate in experiment.known_rates.items():
            if rate.experiment is None or rate.given_by(self._supplied(rate.experiment, number)) is not None:
                continue
            state = self._states.get(rate.experiment)
            for_good = state in _ENDED_EARLY or not self._in_blocks
            where = "" if for_good else " in the same block"
            why = ": the tester's limit was reached" if state == State.TESTER_LIMIT else ""
            return Missing(
                f"its {field} is a share of {rate.experiment!r}, which has no result{where}{why}", for_good=for_good
            )
        return None

    def _supplied(self, source: str | None, number: int) -> float | None:
        """Returns the result of the experiment `source` that repetition `number` of another one takes its rate from.

        In blocks, this is the result of `source` in the same block. If `source` has fewer repetitions, its median is
        used for the rest.
        """
        results = self._results.get(source or "", {})
        state = self._states.get(source or "")
        if self._in_blocks and (number in results or state in _ENDED_EARLY):
            return results.get(number)
        known = [result for result in results.values() if result is not None]
        return statistics.median(known) if known and state in _MEASURED else None

    def exit_code(self) -> int:
        """Returns 0, or the code of the worst outcome; `run_plan` lists them."""
        if self._any_engine_died:
            return EngineDiedError.exit_code
        if self._plan_unfit:
            return PlanError.exit_code
        return next((code for state, code in _EXIT_CODES if state in self._states.values()), 0)
