# SPDX-License-Identifier: Apache-2.0
"""Overload (RFC 8219 §10): by how much the throughput of n flows is below that of one flow.

A flow here is a four-tuple; in the RFC it is a pair of tester interfaces.
"""

from __future__ import annotations

from dataclasses import replace

from natxy.plan.experiment import Experiment
from natxy.plan.procedures.overload import OverloadConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import find_rate, sample_of, valid_step
from natxy.procedures.throughput import throughput_step
from natxy.search.contradictions import Contradicted
from natxy.search.outcome import Contradiction, SearchResult, Tried


class Overload(Procedure[OverloadConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        one_flow = replace(repetition, experiment=repetition.experiment.with_one_flow())
        single, single_remark = find_rate(one_flow, lambda attempt: throughput_step(one_flow, attempt))
        if single.lower_bound is None:
            figures = {"degradation": None, "single": 0.0, "many": None}
            return ProcedureResult(figures, upper_bound=single.upper_bound, remark=f"one flow: {single_remark}")
        many, many_remark = find_rate(repetition, lambda attempt: throughput_step(repetition, attempt), single.steps)
        if many.lower_bound is None:
            _hold(one_flow, single.rate, single.steps + many.steps + 1)
        degradation, bound = _degradation_percent(single, many)
        remarks = {"one flow": single_remark, "all flows": many_remark}
        return ProcedureResult(
            {"degradation": degradation, "single": single.rate, "many": many.rate},
            lower_bound=bound,
            remark="; ".join(f"{flows}: {remark}" for flows, remark in remarks.items() if remark),
        )

    def expected_steps(self, experiment: Experiment) -> int:
        return 2 * super().expected_steps(experiment)


def _hold(repetition: Repetition, rate_fps: float, number: int) -> None:
    """Tries the rate of one flow again. Contradicted if it loses most frames: many flows are then not the cause."""
    result = valid_step(repetition, number, rate_fps, lambda attempt: throughput_step(repetition, attempt))
    sample = sample_of(result)
    if 2 * sample.lost >= sample.frames:
        again = Tried(1, rate_fps, passed=False, lost=sample.lost / sample.frames)
        raise Contradicted(Contradiction(again, Tried(0, rate_fps, passed=True, lost=0.0)))


def _degradation_percent(single: SearchResult, many: SearchResult) -> tuple[float | None, float | None]:
    """Returns the degradation and its lower bound, which is None unless one flow may exceed the search's limit."""
    if many.upper_bound is None:
        # All flows together may be faster than the search's limit, so the degradation is unknown.
        return None, None
    percent = 100 * (single.rate - many.rate) / single.rate
    return percent, percent if single.upper_bound is None else None
