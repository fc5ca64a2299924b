# SPDX-License-Identifier: Apache-2.0
"""What a procedure is to the runner, and what it hands back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from natxy.plan.experiment import Experiment
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.procedures.common.repetition import Repetition
from natxy.results.curves import Curve


@dataclass(frozen=True)
class ProcedureResult:
    """Of one repetition. `figures` by their declared names; None: this repetition has no such number.

    The bounds are the headline's: of a search, the highest that passed and the lowest that failed. Bounded from below
    only, the headline is printed as "at least".
    """

    figures: Mapping[str, float | None]
    lower_bound: float | None = None
    upper_bound: float | None = None
    remark: str = ""
    curves: tuple[Curve, ...] = ()


class Procedure(ABC):
    """Stateless: everything is in the repetition. `declaration` says what plans, estimates and reports need to know."""

    declaration: ClassVar[type[ProcedureDeclaration]]
    replayable: ClassVar[bool] = True
    """Whether its result follows from its trials alone; if not, a repetition that was cut short starts over."""

    @abstractmethod
    def measure(self, repetition: Repetition) -> ProcedureResult:
        """One repetition. TesterLimitReached where the tester cannot do what is asked, NeverPrepared where phase 1
        fails again and again; DutError passes through."""

    @abstractmethod
    def expected_steps(self, experiment: Experiment) -> int:
        """How many steps a repetition takes, about."""

    @abstractmethod
    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        """Traffic and waits of one step, but for the rest before it."""
