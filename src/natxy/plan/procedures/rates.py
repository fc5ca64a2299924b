# SPDX-License-Identifier: Apache-2.0
"""Where the rates of a procedure are not those that its RFC asks for, as sentences for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from natxy.plan.model.units import Unit, format_quantity

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment

# Ethernet's clocks differ by as much, and rates are written in a few digits.
LINE_TOLERANCE: Final = 1e-4


def off_throughput(experiment: Experiment, measured: str, source: str) -> list[str]:
    """Of a procedure whose `rate` should be 100 % of a measured throughput; `measured`: "PDV is measured at"."""
    rate = experiment.rate
    if rate is None or rate.percent == 100:
        return []
    if rate.rate is not None:
        at = f"{format_quantity(rate.rate, Unit.FPS)}, a rate given in the plan"
    else:
        at = f"{rate.percent:g} % of the throughput"
    return [f"{measured} {at}; {source} asks for the measured throughput."]


def below_line(experiment: Experiment, maximum_rate: float | None, measured: str, source: str) -> list[str]:
    """Of a procedure whose maximum rate should be the line's; `measured`: "Frame loss is measured up to"."""
    line_fps = experiment.maximum_fps
    if maximum_rate is None or line_fps is None or maximum_rate >= line_fps * (1 - LINE_TOLERANCE):
        return []
    own, asked = (format_quantity(rate_fps, Unit.FPS) for rate_fps in (maximum_rate, line_fps))
    return [f"{measured} {own}; {source} asks for the theoretical maximum of the line, {asked}."]
