# SPDX-License-Identifier: Apache-2.0
"""Receive rate (RFC 2285 §3.6.2, forwarding rate at maximum offered load): how many frames a second arrive while more
are offered than the gateway forwards.

The tester offers as much as it can (the maximum offered load of §3.5.3), at most the intended load. So a tester that
falls behind makes no trial invalid; the offered load is a result too.

A trial's rate counts from the first frame that arrives to the last one, so that the frames which a queue holds at the
end do not count for more than they are. The median of some trials is the result: a pause of the gateway lowers one of
them, and a search for a lossless rate would end below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.procedures.figures import CORE_SPEED, STREAMS
from natxy.plan.procedures.receive_rate import ReceiveRateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.rates import below_line
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request, with_foreground
from natxy.procedures.common.traffic import ANY_LOSS, by_direction, of_directions, traffic_step
from natxy.search.outcome import Attempt

_ALL_ARRIVED: Final = "at least this: the gateway forwards all that is offered; raise `maximum_rate`"
_ALL_OFFERED: Final = "at least this: the gateway forwards all that the tester can offer"
_HELD_BACK: Final = "the gateway's path held the tester back and lost no frame"
# A tester that falls behind makes a trial longer: one that offers less than a tenth would never seem to end.
_LONGEST_OVERRUN: Final = 9.0
# The frames' own times differ by less.
_AS_INTENDED: Final = 0.99


class ReceiveRate(Procedure[ReceiveRateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        intended_fps = self.config.maximum_fps

        def step(attempt: Attempt) -> TrialResult | None:
            return traffic_step(
                repetition,
                attempt,
                lambda seed: _overload(repetition.experiment, intended_fps, seed),
            )

        results = [valid_step(repetition, number, intended_fps, step) for number in range(1, self.config.trials + 1)]
        if silent := next((each for each in results if each.verdict == Verdict.FAIL), None):
            return no_result(self.config, silent.reason)
        found = _medians(_rates(result, _received_fps) for result in results)
        offered = _medians(_rates(result, lambda stream: stream.offered_rate_fps) for result in results)
        rate_fps, offered_fps = (sum(each.values()) / len(each) for each in (found, offered))
        lossless = not any(stream.lost for result in results for stream in result.streams)
        return ProcedureResult(
            figures={
                "receive_rate": rate_fps,
                **by_direction("receive_rate", found),
                "offered_load": offered_fps,
                CORE_SPEED.name: _speed_hz(results, rate_fps),
            },
            lower_bound=rate_fps,
            upper_bound=rate_fps if not lossless or _held_back(results) else None,
            remark=_remark(results, offered_fps < _AS_INTENDED * intended_fps) if lossless else "",
        )

    def expected_steps(self, experiment: Experiment) -> int:
        return self.config.trials

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return below_line(experiment, self.config.maximum_rate, "The receive rate is measured at", "RFC 2285 §3.6.2")


def _remark(results: Iterable[TrialResult], behind: bool) -> str:
    """Returns why no frame was lost; `behind`: the tester offered less than it intended."""
    if _held_back(results):
        return _HELD_BACK
    return _ALL_OFFERED if behind else _ALL_ARRIVED


def _held_back(results: Iterable[TrialResult]) -> bool:
    """Returns whether the DUT's path refused frames, which then waited at the tester instead of being lost."""
    return any(stream.pacing.refused for result in results for stream in result.streams)


def _speed_hz(results: Sequence[TrialResult], rate_fps: float) -> float | None:
    """Returns the speed by which `rate_fps` is divided, so that the quotient is the median of the trials' rates divided
    by their speeds. None if the speed in a trial is unknown, or if several cores share the frames."""
    at_speed = []
    for result in results:
        if len(result.dut_cores) != 1 or not result.dut_cores[0].mean_hz:
            return None
        received = _rates(result, _received_fps)
        at_speed.append(sum(received.values()) / len(received) / result.dut_cores[0].mean_hz)
    return rate_fps / median(at_speed)


def _overload(experiment: Experiment, intended_fps: float, seed: int) -> TrialRequest:
    request = with_foreground(traffic_request(experiment, intended_fps, seed), lambda _: {"max_loss_ratio": ANY_LOSS})
    limits = request.limits.model_copy(update={"max_overrun_ratio": _LONGEST_OVERRUN})
    return request.model_copy(update={"limits": limits})


def _rates(result: TrialResult, rate_fps: Callable[[StreamResult], float]) -> dict[str, float]:
    """Returns the frames a second of each direction, of all pairs of interfaces together."""
    found = of_directions(result.streams)
    return {direction: sum(map(rate_fps, found[direction])) for direction in STREAMS if found[direction]}


def _medians(trials: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Returns the median of all trials, by direction."""
    each = [*trials]
    return {direction: median(trial[direction] for trial in each) for direction in each[0]}


def _received_fps(stream: StreamResult) -> float:
    return stream.received / (stream.planned / stream.offered_rate_fps + stream.backlog_ns / 1e9)
