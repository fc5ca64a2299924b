# SPDX-License-Identifier: Apache-2.0
"""The headline of an experiment, and what it counts: every rate says what it is a rate of."""

from __future__ import annotations

from collections.abc import Iterable

from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import Unit, format_quantity, format_rate
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord


def kind(experiment: ExperimentRecord) -> str:
    """What its headline is, with the unit: the title of its table."""
    headline = experiment.declaration.headline()
    return f"{headline.title}{non_rfc(experiment)}, {wording.unit(headline.unit)}"


def non_rfc(experiment: ExperimentRecord) -> str:
    """Empty where no loss was tolerated."""
    tolerance = experiment.planned.loss_tolerance
    return tolerance.label if tolerance else ""


def per_direction(experiment: ExperimentRecord) -> bool:
    """The headline counts one direction of traffic that may have two."""
    return experiment.unit == Unit.FPS


def directions(experiment: ExperimentRecord) -> int:
    return 2 if experiment.planned.directions == Directions.BIDIRECTIONAL else 1


def theoretical_maximum_fps(experiment: ExperimentRecord) -> float | None:
    """Of one direction; None where the plan gives no line rate, or the experiment's rates aren't frames'."""
    if experiment.declaration.step_unit != Unit.FPS:
        return None
    return experiment.planned.maximum_fps


def share_of_maximum(experiment: ExperimentRecord) -> str:
    """The headline's median; absent where it is no rate, or no maximum is known."""
    maximum_fps = theoretical_maximum_fps(experiment)
    if maximum_fps is None or experiment.statistics is None or experiment.unit != Unit.FPS:
        return wording.ABSENT
    return experiment.statistics.bounded_median.text(lambda rate_fps: wording.percent(100 * rate_fps / maximum_fps, 2))


def headline(experiment: ExperimentRecord) -> str:
    if experiment.statistics is None:
        return wording.ABSENT
    return experiment.statistics.bounded_median.text(lambda value: format_quantity(value, experiment.unit))


def rate_kind(experiment: ExperimentRecord) -> str:
    """What the headline counts; for a bidirectional throughput, the sum of both directions too."""
    return _counted(experiment) + non_rfc(experiment)


def _counted(experiment: ExperimentRecord) -> str:
    if experiment.unit == Unit.CPS:
        return "new connections per second"
    if not per_direction(experiment):
        return experiment.declaration.headline().title
    if directions(experiment) == 1:
        return "in one direction"
    if experiment.statistics is None:
        return "per direction"
    aggregate = experiment.statistics.bounded_median.text(lambda value: format_rate(2 * value, "fps"))
    return f"per direction · {aggregate} aggregate"


def baseline_ratio(experiment: ExperimentRecord, gap: str = " ") -> str:
    """Empty without a baseline."""
    return "" if experiment.baseline is None else wording.ratio(experiment.baseline_ratio, gap)


def ratios_note(experiments: Iterable[ExperimentRecord]) -> str:
    """What marks of their ratios to baselines mean; empty where none has one."""
    return wording.ratios_note(experiment.baseline_ratio for experiment in experiments)
