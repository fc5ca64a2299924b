# SPDX-License-Identifier: Apache-2.0
"""Measures the check of a softwire's end, or of MAP-T's core: the share of spoofed frames that pass beside good frames,
and the cost of the check. The share has to be 0 (RFC 7596 §6.2, RFC 7597 §8.1, RFC 7599 §8).

At the known rate, good frames are sent without spoofed ones, then beside them. A spoofed frame has a right packet with
the address of a neighbour. If it passes, this is the result, and no failure of the trial: a trial fails by good frames
alone. With a search, the throughput of good frames is searched for in both ways.
"""

from __future__ import annotations

from functools import partial

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit, format_quantity
from natxy.plan.procedures.binding_check import BindingCheckConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.spoofing import passed_through, traffic_beside_spoofed
from natxy.procedures.common.steps import find_rate, timed, valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import traffic_step
from natxy.search.outcome import Attempt


class BindingCheck(Procedure[BindingCheckConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        assert repetition.rate is not None
        alone = partial(self._step, repetition, beside=False)
        beside = partial(self._step, repetition, beside=True)
        without = valid_step(repetition, 1, repetition.rate, alone)
        result = valid_step(repetition, 2, repetition.rate, beside)
        sent, passed = (sum(map(count, result.spoofed)) for count in (_sent, passed_through))
        figures: dict[str, float | None] = {
            "passed": 100 * passed / sent,
            "spoofed": float(sent),
            "lost_alone": _lost(without),
            "lost_beside": _lost(result),
        }
        remarks = {"": _remark(sent, passed)}
        if repetition.experiment.search:
            first, remarks["without spoofed frames: "] = find_rate(repetition, alone, 2)
            second, remarks["beside spoofed frames: "] = find_rate(repetition, beside, 2 + first.steps)
            # A rate that is only a bound has no difference to another one.
            known = first.lower_bound and first.upper_bound and second.upper_bound
            cost = 100 * (first.rate - second.rate) / first.rate if known else None
            figures |= {"cost": cost, "rate_alone": first.rate, "rate_beside": second.rate}
        return ProcedureResult(figures, remark="; ".join(name + text for name, text in remarks.items() if text))

    def expected_steps(self, experiment: Experiment) -> int:
        searched = 2 * super().expected_steps(experiment) if experiment.search else 0
        return 2 + searched

    def _step(self, repetition: Repetition, attempt: Attempt, *, beside: bool) -> TrialResult | None:
        experiment = timed(repetition.experiment, attempt)

        def request(seed: int) -> TrialRequest:
            if beside:
                return traffic_beside_spoofed(experiment, attempt.rate, seed, self.config.spoofed)
            return traffic_request(experiment, attempt.rate, seed)

        return traffic_step(repetition, attempt, request)


def _sent(stream: StreamResult) -> int:
    return stream.sent


def _lost(result: TrialResult) -> float:
    return float(sum(stream.lost for stream in result.streams))


def _remark(sent: int, passed: int) -> str:
    if not passed:
        return ""
    frames = format_quantity(passed, Unit.FRAMES)
    return f"{frames} of {sent:,} with another's address passed: the gateway does not check whose they are"
