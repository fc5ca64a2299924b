# SPDX-License-Identifier: Apache-2.0
"""A calibration as a plan: its cases are experiments like any other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from natxy.calibration.case import Case
from natxy.calibration.proofs import proofs
from natxy.calibration.scale import MAX_PAUSE_S, Scale
from natxy.calibration.truths import TRUTHS
from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan


class Wiring(StrEnum):
    """`memif`: shared memory, no kernel. `veth`: a lab's virtual cables, which the kernel carries frames over."""

    MEMIF = "memif"
    VETH = "veth"


# The reference gateway on a lab's veth pairs is a tenth as fast as on shared memory.
SCALES: Final = {
    Wiring.MEMIF: Scale(rate_fps=100_000, high_fps=1_000_000),
    Wiring.VETH: Scale(rate_fps=20_000, connections=10_000),
}
# Through shared memory nothing is under way for longer than the gateway keeps it, and its buffer is soon empty.
_TIMINGS: Final = {Wiring.MEMIF: {"drain": 0.05, "settle": 0.03, "learning_pause": 0.02}, Wiring.VETH: {}}
_TESTBEDS: Final = {Wiring.MEMIF: "memif", Wiring.VETH: "lab"}


NOT_OVER_VETH: Final = ("latency", "single-tag-latency", "pdv", "ipdv")
WHY_NOT: Final = (
    f"Not over veth pairs: {', '.join(NOT_OVER_VETH)}. Every delay has the kernel's own in it, which nobody knows."
)


def cases(wiring: Wiring, scale: Scale, only: Sequence[str] = ()) -> list[Case]:
    """Those whose names or procedures `only` has, or all, as far as their truth is known over such a wiring. PlanError
    for another word, and where none is left."""
    every = [*(case for truth in TRUTHS.values() for case in truth(scale)), *proofs(scale)]
    known = dict.fromkeys([*(case.procedure for case in every), *(case.name for case in every)])
    if unknown := [name for name in only if name not in known]:
        raise PlanError(f"there is nothing to calibrate named {unknown[0]!r}; there are: {', '.join(known)}")
    chosen = [case for case in every if not only or {case.name, case.procedure} & set(only)]
    if wiring == Wiring.VETH:
        chosen = [case for case in chosen if case.procedure not in NOT_OVER_VETH]
    if not chosen:
        raise PlanError(WHY_NOT)
    return chosen


def calibration_plan(chosen: Sequence[Case], scale: Scale, wiring: Wiring) -> ResolvedPlan:
    plan = {
        "name": "calibrate",
        "description": "Every procedure against the reference gateway, whose truth is known",
        "repeat": 1,
        "timing": {"preset": "lab", "trial": scale.trial_s, "max_pause": MAX_PAUSE_S} | _TIMINGS[wiring],
        "testbed": {"kind": _TESTBEDS[wiring]},
        "experiments": [{"max_invalid": 10} | case.planned() for case in chosen],
    }
    return resolve(Plan.model_validate(plan))
