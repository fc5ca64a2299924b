# SPDX-License-Identifier: Apache-2.0
"""Defines the base class of all procedures, and the result of a repetition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar, get_args

from natxy.plan.caveats import Caveat, limitation
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import Repeat
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.procedures.common.phase1 import phase1_s
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.searches import search_of
from natxy.results.curves import Curve

Config = TypeVar("Config", bound=ProcedureDeclaration)

USUAL_REPEAT: Final = 20


@dataclass(frozen=True)
class ProcedureResult:
    """Holds the result of one repetition: its figures by their declared names, None for a figure without a value.

    The bounds are the headline's. A search sets them to the highest value that passed and the lowest that failed. A
    headline with only a lower bound is reported as "at least". `explained` is true if the remark says why there is no
    figure, so that nothing more is looked for.
    """

    figures: Mapping[str, float | None]
    lower_bound: float | None = None
    upper_bound: float | None = None
    remark: str = ""
    curves: tuple[Curve, ...] = ()
    explained: bool = False


def no_result(declaration: ProcedureDeclaration, remark: str, *, explained: bool = False) -> ProcedureResult:
    """Returns the result of a repetition without any figure; `remark` says why."""
    figures = dict.fromkeys(figure.name for figure in declaration.figures)
    return ProcedureResult(figures, remark=remark, explained=explained)


class Procedure(ABC, Generic[Config]):
    """Carries out one procedure with the settings in `config`; an instance keeps no state between repetitions.

    A subclass names its declaration as the type argument: `class Latency(Procedure[LatencyConfig])`.
    """

    declaration: ClassVar[type[ProcedureDeclaration]]
    replayable: ClassVar[bool] = True
    """True if the result follows from the trials alone; if not, a repetition that was cut short starts over."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for argument in (argument for base in getattr(cls, "__orig_bases__", ()) for argument in get_args(base)):
            # The argument of an abstract subclass is a type variable.
            if isinstance(argument, type):
                cls.declaration = argument

    @abstractmethod
    def measure(self, repetition: Repetition) -> ProcedureResult:
        """Carries out one repetition.

        Raises TesterLimitReached if the tester cannot send what is needed, NeverPrepared if phase 1 fails in too many
        attempts, and DutError.
        """

    def expected_steps(self, experiment: Experiment) -> int:
        """Returns about how many steps a repetition has: those of its search, or one."""
        return search_of(experiment).expected_steps() if experiment.search else 1

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        """Returns about how long the traffic and the waits of a step last, without the rest before it.

        By default, a step is one trial of the experiment's `traffic_s` after its phase 1.
        """
        return phase1_s(experiment, phase1_fps) + experiment.traffic_s + experiment.timing.expected_drain_s

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        """Returns each way in which this experiment departs from the procedure's RFC."""
        return []

    def repeat_caveats(self, repeat: Repeat) -> list[Caveat]:
        """Returns a caveat if there are fewer repetitions than the RFC asks for, or than is usual."""
        if repeat.least >= USUAL_REPEAT:
            return []
        return [limitation(f"Experiments are measured {repeat.text}; at least {USUAL_REPEAT} repetitions are usual.")]
