# SPDX-License-Identifier: Apache-2.0
"""Keeps how the experiments of a run ended: later experiments and the exit code depend on it."""

from __future__ import annotations

from typing import Final

from natxy.errors import DutError, EngineDiedError, HostError, PlanError, TesterLimitError
from natxy.plan.experiment import Experiment
from natxy.results.records import State
from natxy.results.statistics import Summary

ENDED: Final = {State.DONE, State.TESTER_LIMIT}
"""States of experiments that a resumed run does not measure again."""
# A NO_RESULT experiment may have some repetitions with a result.
_MEASURED: Final = {*ENDED, State.NO_RESULT}

_EXIT_CODES: Final = (
    (State.FAILED, DutError.exit_code),
    # What disturbs the tester of a lab disturbs its gateway as well, so this comes before NO_RESULT.
    (State.TESTER_LIMIT, TesterLimitError.exit_code),
    (State.HOST_FAILED, HostError.exit_code),
    (State.NO_RESULT, DutError.exit_code),
    (State.SKIPPED, DutError.exit_code),
)


class Outcomes:
    """`measured`: a repetition has begun, in this session or before the run was resumed."""

    def __init__(self, *, measured: bool = False) -> None:
        self.measured = measured
        self._medians: dict[str, float] = {}
        self._states: dict[str, State] = {}
        self._any_engine_died = False
        self._last_engine_died = False
        self._plan_unfit = False

    def add(self, experiment: Experiment, state: State, summary: Summary | None) -> None:
        self._states[experiment.name] = state
        if state not in _MEASURED:
            # The median of a failed experiment may change when the run is resumed.
            return
        self._last_engine_died = False
        if summary:
            self._medians[experiment.name] = summary.median

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

    def rates(self, experiment: Experiment) -> dict[str, float | None]:
        """Returns the known rates of `experiment` by field; None where another experiment has no result."""
        return {field: rate.given_by(self._medians) for field, rate in experiment.known_rates.items()}

    def missing_result(self, experiment: Experiment) -> str:
        """Returns why a rate that `experiment` takes from another one is unknown, or an empty string."""
        for field, rate in experiment.known_rates.items():
            if rate.given_by(self._medians) is None:
                limited = self._states.get(rate.experiment or "") == State.TESTER_LIMIT
                why = ": the tester's limit was reached" if limited else ""
                return f"its {field} is a share of {rate.experiment!r}, which has no result{why}"
        return ""

    def exit_code(self) -> int:
        """Returns 0, or the code of the worst outcome; `run_plan` lists them."""
        if self._any_engine_died:
            return EngineDiedError.exit_code
        if self._plan_unfit:
            return PlanError.exit_code
        return next((code for state, code in _EXIT_CODES if state in self._states.values()), 0)
