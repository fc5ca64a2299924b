# SPDX-License-Identifier: Apache-2.0
"""No drop rate and partial drop rate: one MLRsearch (RFC 9971) with two goals, whose trials count for both."""

from __future__ import annotations

from natxy.plan.procedures.ndr_pdr import NdrPdrConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import find_rate
from natxy.procedures.throughput import throughput_step


class NdrPdr(Procedure[NdrPdrConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        found, remark = find_rate(repetition, lambda attempt: throughput_step(repetition, attempt))
        return ProcedureResult(
            figures={"rate": found.rate, "partial_drop_rate": found.partial_rate},
            lower_bound=found.lower_bound,
            upper_bound=found.upper_bound,
            remark=remark,
        )
