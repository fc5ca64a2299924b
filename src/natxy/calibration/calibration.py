# SPDX-License-Identifier: Apache-2.0
"""Measures the cases of a calibration over one wiring, and repeats those that pauses of a core disturbed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from natxy.calibration.case import Case
from natxy.calibration.listener import CalibrationListener, TimeIsUpError
from natxy.calibration.reading import Reading
from natxy.calibration.scale import MAX_PAUSE_S, Scale
from natxy.calibration.truths import TRUTHS
from natxy.calibration.truths.faults import faults
from natxy.calibration.truths.map_t import map_t
from natxy.calibration.truths.softwires import softwires
from natxy.calibration.wiring import Wiring
from natxy.errors import PlanError
from natxy.plan.model.repeat import RunOrder
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.run.run import run_plan
from natxy.untrusted.validation import guess

# The reference gateway is ten times as fast over shared memory as over a lab's veth pairs.
SCALES: Final = {
    Wiring.MEMIF: Scale(rate_fps=100_000, high_fps=1_000_000),
    Wiring.VETH: Scale(rate_fps=20_000, connections=10_000),
}
_TESTBEDS: Final = {Wiring.MEMIF: "memif", Wiring.VETH: "lab"}
# Frames are in shared memory no longer than the gateway holds them, and its buffer is soon empty.
_TIMINGS: Final[Mapping[Wiring, Mapping[str, Any]]] = {
    Wiring.MEMIF: {"drain": 0.05, "settle": 0.03, "learning_pause": 0.02},
    Wiring.VETH: {},
}

NOT_OVER_VETH: Final = ("latency", "single-tag-latency", "pdv", "ipdv")
WHY_NOT: Final = (
    f"Not measured over veth pairs: {', '.join(NOT_OVER_VETH)}. Delays there include the kernel's, which are unknown."
)

_MOST_RUNS: Final = 4


@dataclass(frozen=True)
class Calibration:
    """Holds the cases to measure, over one wiring and at one scale, and measures them."""

    wiring: Wiring
    scale: Scale
    cases: tuple[Case, ...]

    @classmethod
    def choose(cls, wiring: Wiring, scale: Scale | None = None, only: Sequence[str] = ()) -> Calibration:
        """Chooses the cases whose names or procedures are in `only`, or all.

        Cases whose truth is unknown over the wiring are left out. Raises PlanError for an unknown name, and if no case
        is left. The default scale is that of the wiring.
        """
        scale = scale or SCALES[wiring]
        by_procedure = (case for truth in TRUTHS.values() for case in truth(scale))
        every = [*by_procedure, *faults(scale), *softwires(scale), *map_t(scale)]
        known = dict.fromkeys([*(case.procedure for case in every), *(case.name for case in every)])
        if unknown := [name for name in only if name not in known]:
            near = guess(unknown[0], known) or ";"
            raise PlanError(f"unknown procedure or row {unknown[0]!r}{near} expected one of {', '.join(known)}")
        chosen = [case for case in every if not only or {case.name, case.procedure} & set(only)]
        if wiring == Wiring.VETH:
            chosen = [case for case in chosen if case.procedure not in NOT_OVER_VETH]
        if not chosen:
            raise PlanError(WHY_NOT)
        return cls(wiring, scale, tuple(chosen))

    @property
    def plan(self) -> ResolvedPlan:
        """The plan whose experiments are the cases."""
        timing = {"preset": "lab", "trial": self.scale.trial_s, "max_pause": MAX_PAUSE_S, **_TIMINGS[self.wiring]}
        plan = {
            "name": "calibrate",
            "description": "Every procedure on the reference gateway, whose truth is known",
            "repeat": 1,
            "order": RunOrder.EXPERIMENTS,
            "timing": timing,
            "testbed": {"kind": _TESTBEDS[self.wiring]},
            "experiments": [{"max_invalid": 10} | case.planned() for case in self.cases],
        }
        return resolve(Plan.model_validate(plan))

    def measure(self, folder: Path, listener: CalibrationListener) -> list[Reading]:
        """Measures the cases in a run in `folder`, and disturbed ones again in runs in folders within it, until the
        listener's time is up."""
        with suppress(TimeIsUpError):
            self._measure_once(folder, listener)
            for number in range(2, _MOST_RUNS + 1):
                disturbed = tuple(filter(listener.is_disturbed, self.cases))
                if not disturbed:
                    break
                replace(self, cases=disturbed)._measure_once(folder / f"again-{number}", listener)
        return [reading for case in self.cases for reading in listener.readings_of(case)]

    def _measure_once(self, folder: Path, listener: CalibrationListener) -> None:
        run_plan(self.plan, folder, listener)
