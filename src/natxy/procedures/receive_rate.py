# SPDX-License-Identifier: Apache-2.0
"""Receive rate (RFC 2285 §3.6.2, forwarding rate at maximum offered load): how many frames a second arrive while more
are offered than the gateway forwards.

A trial's rate counts from the first frame that arrives to the last one, so that the frames which a queue holds at the
end do not count for more than they are. The median of some trials is the result: a pause of the gateway lowers one of
them, and a search for a lossless rate would end below it.
"""

from __future__ import annotations

from statistics import median
from typing import Final

from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.figures import STREAMS
from natxy.plan.procedures.receive_rate import ReceiveRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.rates import below_line
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request, with_foreground
from natxy.procedures.common.traffic import ANY_LOSS, by_direction, of_directions, traffic_step
from natxy.search.outcome import Attempt

_ALL_ARRIVED: Final = "at least this: the gateway forwards all that is offered; raise `maximum_rate`"


class ReceiveRate(Procedure[ReceiveRateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        offered_fps = self.config.maximum_fps

        def step(attempt: Attempt) -> TrialResult | None:
            return traffic_step(
                repetition,
                attempt,
                lambda seed: with_foreground(
                    traffic_request(repetition.experiment, offered_fps, seed), lambda _: {"max_loss_ratio": ANY_LOSS}
                ),
            )

        results = [valid_step(repetition, number, offered_fps, step) for number in range(1, self.config.trials + 1)]
        if silent := next((each for each in results if each.verdict == Verdict.FAIL), None):
            return no_result(self.config, silent.reason)
        found = {
            direction: median(each[direction] for each in map(_rates, results)) for direction in _rates(results[0])
        }
        rate_fps = sum(found.values()) / len(found)
        lossless = not any(stream.lost for result in results for stream in result.streams)
        return ProcedureResult(
            figures={"receive_rate": rate_fps} | by_direction("receive_rate", found),
            lower_bound=rate_fps,
            upper_bound=None if lossless else rate_fps,
            remark=_ALL_ARRIVED if lossless else "",
        )

    def expected_steps(self, experiment: Experiment) -> int:
        return self.config.trials

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return below_line(experiment, self.config.maximum_rate, "The receive rate is measured at", "RFC 2285 §3.6.2")


def _rates(result: TrialResult) -> dict[str, float]:
    """Returns the frames a second of each direction, of all pairs of interfaces together."""
    found = of_directions(result.streams)
    return {direction: sum(map(_rate_fps, found[direction])) for direction in STREAMS if found[direction]}


def _rate_fps(stream: StreamResult) -> float:
    offered_s = stream.planned / stream.intended_rate_fps
    return stream.received / (offered_s + stream.backlog_ns / 1e9)
