# SPDX-License-Identifier: Apache-2.0
"""Finds the result so far of trials at different rates: of a search, or of a scan of the losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.api.engine import StreamResult, Verdict
from natxy.api.plans import Experiment
from natxy.api.recording import Axis, Curve, State, Step, Unit, by_direction
from natxy_siitperf.trial.phases import LOSSES

DECISIVE: Final = {Verdict.PASS, Verdict.FAIL}
_LOSS: Final = "loss_"


@dataclass(frozen=True)
class Found:
    """Holds the result of a repetition: its headline is `value`, the highest rate that passed below all that failed."""

    state: State
    value: float | None
    figures: Mapping[str, float | None]
    lower_bound: float | None
    upper_bound: float | None
    curves: tuple[Curve, ...] = ()
    reason: str = ""


def found(experiment: Experiment, steps: Sequence[Step], curves: tuple[Curve, ...]) -> Found:
    """Returns the result of all steps so far; `curves` are those of the losses."""
    failed = min((each.rate for each in steps if each.verdict == Verdict.FAIL), default=None)
    passed = [each.rate for each in steps if each.verdict == Verdict.PASS and (failed is None or each.rate < failed)]
    best = max(passed, default=None)
    headline = experiment.procedure.headline().name
    if experiment.procedure.name != LOSSES:
        state, reason = (State.NO_RESULT, "no rate passed") if best is None else (State.DONE, "")
        return Found(state, best, {headline: best}, best, failed, reason=reason)
    if not any(each.verdict in DECISIVE for each in steps):
        return Found(State.NO_RESULT, None, {}, None, None, reason="no rate was measured")
    highest = max(each.rate for each in steps)
    # Without it if the tester failed there.
    at_maximum = {
        curve.name.removeprefix(_LOSS): lost for curve in curves for rate, lost in curve.points if rate == highest
    }
    reason = "" if best is not None else "every rate lost frames"
    figures = {headline: best or 0.0} | by_direction("loss_at_maximum", at_maximum)
    return Found(State.DONE, best or 0.0, figures, best, failed, curves, reason)


def with_losses(curves: Iterable[Curve], rate: float, streams: Iterable[StreamResult]) -> tuple[Curve, ...]:
    """Returns the curves of the losses, with a trial at a rate that they do not have yet."""
    points = {curve.name: [*curve.points] for curve in curves}
    titles = {curve.name: curve.title for curve in curves}
    for stream in streams:
        name = f"{_LOSS}{stream.name.replace(' ', '_')}"
        titles[name] = f"Frame loss, {stream.name}"
        points.setdefault(name, []).append((rate, 100 * stream.lost / stream.planned))
    x, y = Axis("offered", Unit.FPS), Axis("lost", Unit.PERCENT)
    return tuple(Curve(name, titles[name], x, y, tuple(sorted(each))) for name, each in points.items())
