# SPDX-License-Identifier: Apache-2.0
"""No drop rate and partial drop rate: one MLRsearch (RFC 9971) with two goals, whose trials count for both."""

from __future__ import annotations

from typing import Final

from natxy.plan.procedures.ndr_pdr import NdrPdrConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import find_rate
from natxy.procedures.throughput import throughput_step

_NOT_BOUNDED: Final = "the partial drop rate is at least this: no higher rate was sent"


class NdrPdr(Procedure[NdrPdrConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        found, remark = find_rate(repetition, lambda attempt: throughput_step(repetition, attempt))
        if found.upper_bound is not None and found.partial_rate is not None and found.partial_upper is None:
            remark = "; ".join(filter(None, (remark, _NOT_BOUNDED)))
        return ProcedureResult(
            figures={"rate": found.rate, "partial_drop_rate": found.partial_rate},
            lower_bound=found.lower_bound,
            upper_bound=found.upper_bound,
            remark=remark,
        )
