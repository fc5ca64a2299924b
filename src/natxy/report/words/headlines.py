# SPDX-License-Identifier: Apache-2.0
"""Writes the headline of an experiment, and states what it counts."""

from __future__ import annotations

from collections.abc import Iterable

from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import Unit, format_ends, format_quantity, format_rate
from natxy.report.words import lost_delays, wording
from natxy.results.records import ExperimentRecord


def kind(experiment: ExperimentRecord) -> str:
    """Returns the title of the headline with its unit, for the title of a table."""
    headline = experiment.declaration.headline()
    return f"{headline.title}{experiment.planned.non_rfc}, {wording.unit(headline.unit)}"


def marks(experiment: ExperimentRecord) -> list[str]:
    """Returns what a reader has to know of a result before comparing it, for places without room for the reason."""
    return [
        *(["non-RFC"] if experiment.planned.non_rfc else []),
        *([lost_delays.MARK] if lost_delays.is_marked(experiment) else []),
    ]


def short_mark(experiment: ExperimentRecord) -> str:
    """Returns the marks to print after a result, such as ` (non-RFC)`; empty if it has none."""
    return f" ({', '.join(found)})" if (found := marks(experiment)) else ""


def per_direction(experiment: ExperimentRecord) -> bool:
    """Returns True when the headline counts one direction of traffic that may have two."""
    return experiment.unit == Unit.FPS


def directions(experiment: ExperimentRecord) -> int:
    return 2 if experiment.planned.directions == Directions.BIDIRECTIONAL else 1


def theoretical_maximum_fps(experiment: ExperimentRecord) -> float | None:
    """Returns the rate of one direction; None without a line rate, and when rates are not of frames."""
    if experiment.declaration.step_unit != Unit.FPS:
        return None
    return experiment.planned.maximum_fps


def share_of_maximum(experiment: ExperimentRecord) -> str:
    """Returns the median as a share of the theoretical maximum; absent when no maximum is known."""
    maximum_fps = theoretical_maximum_fps(experiment)
    if maximum_fps is None or experiment.statistics is None or experiment.unit != Unit.FPS:
        return wording.ABSENT
    return experiment.statistics.bounded_median.text(lambda rate_fps: wording.percent(100 * rate_fps / maximum_fps, 2))


def headline(experiment: ExperimentRecord) -> str:
    if experiment.statistics is None:
        return wording.ABSENT
    return experiment.statistics.bounded_median.text(lambda value: format_quantity(value, experiment.unit))


def with_interval(experiment: ExperimentRecord) -> str:
    """Returns the headline with its confidence interval in the same unit, such as `461 kfps [450, 472]`."""
    summary = experiment.statistics
    if summary is None or (interval := summary.shown_interval) is None:
        return headline(experiment)
    ends = format_ends((interval.low, interval.high), experiment.unit, summary.median)
    return f"{headline(experiment)} [{', '.join(ends)}]"


def rate_kind(experiment: ExperimentRecord) -> str:
    """States what the headline counts; for a bidirectional throughput also the sum of both directions, and for a mix of
    sizes and for frames that are longer between gateways the bit rate of one direction."""
    return _counted(experiment) + _bits(experiment) + experiment.planned.non_rfc


def _bits(experiment: ExperimentRecord) -> str:
    """Returns the bits of frames a second, FCS counted, of a mix of sizes, and of frames that are longer between the
    gateways, as in a softwire; an empty text for all others, and beside other traffic."""
    planned, summary = experiment.planned, experiment.statistics
    # Between ends of two families, no end has the size of both.
    more = 0 if planned.translation else max(form.bytes_longer(planned.families[0]) for form in planned.forms_of_links)
    told = planned.mix is not None or more > 0
    if not told or planned.background or summary is None or not per_direction(experiment):
        return ""

    def rate(frame_bytes: float) -> str:
        return summary.bounded_median.text(lambda value: format_rate(8 * frame_bytes * value, "bit/s"))

    inside = f", {rate(planned.mean_frame_size + more)} of longer ones in IPv6" if more else ""
    return f" · {rate(planned.mean_frame_size)} of frames a direction{inside}"


def _counted(experiment: ExperimentRecord) -> str:
    if experiment.unit == Unit.CPS:
        return "new connections per second"
    if experiment.unit == Unit.QPS:
        return "queries per second, all answered"
    if not per_direction(experiment):
        return experiment.declaration.headline().title
    if directions(experiment) == 1:
        return "in one direction"
    if experiment.statistics is None:
        return "per direction"
    aggregate = experiment.statistics.bounded_median.text(lambda value: format_rate(2 * value, "fps"))
    return f"per direction · {aggregate} aggregate"


def baseline_ratio(experiment: ExperimentRecord, gap: str = " ") -> str:
    """Returns the share of the baseline; empty without one."""
    return "" if experiment.baseline is None else wording.ratio(experiment.baseline_ratio, gap)


def ratios_note(experiments: Iterable[ExperimentRecord]) -> str:
    """Returns the methods of the ratios to baselines; empty if there are none."""
    return wording.ratios_note(experiment.baseline_ratio for experiment in experiments)
