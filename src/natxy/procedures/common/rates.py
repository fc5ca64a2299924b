# SPDX-License-Identifier: Apache-2.0
"""Rates that a procedure does not search for: the step at the experiment's `rate`, and what departs from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit, format_quantity
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import traffic_step
from natxy.search.outcome import Attempt

# The clocks of two Ethernet ports may differ by this share, and plans round their rates.
LINE_TOLERANCE: Final = 1e-4


def known_rate_step(repetition: Repetition, adapt: Callable[[TrialRequest], TrialRequest]) -> TrialResult:
    """Carries out the only step of a procedure that measures at the experiment's `rate`.

    `adapt` receives the request for plain traffic and returns the one to run.
    """
    assert repetition.rate is not None

    def step(attempt: Attempt) -> TrialResult | None:
        return traffic_step(
            repetition, attempt, lambda seed: adapt(traffic_request(repetition.experiment, attempt.rate, seed))
        )

    return valid_step(repetition, 1, repetition.rate, step)


def off_throughput(experiment: Experiment, measured: str, source: str) -> list[Caveat]:
    """Returns a departure unless the experiment's `rate` is 100 % of a measured throughput, as `source` asks.

    `measured` begins the sentence, such as "PDV is measured at".
    """
    rate = experiment.rate
    if rate is None or rate.percent == 100:
        return []
    if rate.rate is not None:
        at = f"{format_quantity(rate.rate, Unit.FPS)}, a rate given in the plan"
    else:
        at = f"{rate.percent:g} % of the throughput"
    return [departure(f"{measured} {at}; {source} asks for the measured throughput.")]


def below_line(experiment: Experiment, maximum_rate: float | None, measured: str, source: str) -> list[Caveat]:
    """Returns a departure if the procedure's maximum rate is below the line's theoretical maximum.

    `measured` begins the sentence, such as "Frame loss is measured up to".
    """
    line_fps = experiment.maximum_fps
    if maximum_rate is None or line_fps is None or maximum_rate >= line_fps * (1 - LINE_TOLERANCE):
        return []
    own, asked = (format_quantity(rate_fps, Unit.FPS) for rate_fps in (maximum_rate, line_fps))
    return [departure(f"{measured} {own}; {source} asks for the theoretical maximum of the line, {asked}.")]
