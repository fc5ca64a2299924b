# SPDX-License-Identifier: Apache-2.0
"""No drop rate and partial drop rate: one MLRsearch (RFC 9971) with two goals, whose trials count for both."""

from __future__ import annotations

from typing import Final

from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import format_share
from natxy.plan.procedures.ndr_pdr import NdrPdrConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import find_rate
from natxy.procedures.throughput import throughput_step

_NOT_BOUNDED: Final = "the partial drop rate is at least this: no higher rate was sent"


class NdrPdr(Procedure[NdrPdrConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        found, remark = find_rate(repetition, lambda attempt: throughput_step(repetition, attempt))
        partial = found.partial_lower_bound
        if found.upper_bound is not None and partial is not None and found.partial_upper_bound is None:
            remark = "; ".join(filter(None, (remark, _NOT_BOUNDED)))
        return ProcedureResult(
            figures={"rate": found.rate, "partial_drop_rate": partial or 0.0},
            lower_bound=found.lower_bound,
            upper_bound=found.upper_bound,
            remark=remark,
        )

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        allowed = format_share(self.config.partial_loss)
        return [departure(f"The partial drop rate allows a loss of {allowed}; RFC 2544 §26.1 allows none.")]
