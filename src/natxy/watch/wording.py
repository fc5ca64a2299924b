# SPDX-License-Identifier: Apache-2.0
"""Puts the results that a run's progress shows into words."""

from __future__ import annotations

from collections.abc import Mapping

from natxy.events.run import ExperimentFinished, PlannedExperiment, RepetitionFinished
from natxy.events.trials import Transferred, TrialFinished
from natxy.plan.model.units import Unit, format_quantity
from natxy.report.words.states import STATE_WORDS
from natxy.results.bounded import Bounded
from natxy.results.records import State


def trial_text(trial: TrialFinished) -> str:
    """Returns how a trial ended; where a line has too little room, the verdict stays."""
    return f"{trial.verdict}, {trial.title}: {trial.reason}"


def transfers_text(found: Mapping[str, Transferred]) -> str:
    """Returns the goodput and the retransmissions of each direction."""
    return ", ".join(
        f"{direction} {format_quantity(transfer.goodput_bps, Unit.BPS)} ({transfer.retransmits:,} retransmissions)"
        for direction, transfer in found.items()
    )


def quantity_text(value: float, unit: Unit) -> str:
    """Returns a value with its unit; frame rates are per direction."""
    return format_quantity(value, unit) + (" per direction" if unit == Unit.FPS else "")


def result_text(result: RepetitionFinished) -> str:
    """Returns the figures of a repetition, with their names if there are several, and the procedure's remark.

    A figure without a value is `none`.
    """
    remark = f" ({result.remark})" if result.remark else ""
    headline = result.figures[0]
    if headline.value is None:
        return f"no result{remark}"
    if result.lower_bound is None and result.upper_bound is not None:
        return f"less than {quantity_text(result.upper_bound, headline.unit)}{remark}"
    at_least = "at least " if result.lower_bound is not None and result.upper_bound is None else ""
    shown = []
    for figure in result.figures:
        name = f"{figure.title} " if len(result.figures) > 1 else ""
        bound = at_least if figure is headline else ""
        shown.append(f"{name}{bound}{'none' if figure.value is None else quantity_text(figure.value, figure.unit)}")
    return ", ".join(shown) + remark


def ending_text(experiment: PlannedExperiment, ended: ExperimentFinished) -> str:
    """Returns the result of an experiment, or the reason why it has none."""
    words = []
    state, reason, median = ended.state, ended.reason, ended.median
    if median is not None:
        text = Bounded(median.value, median.bound).text(lambda value: quantity_text(value, experiment.unit))
        text += experiment.result_label
        words.append(f"median of {median.count}: {text}" if median.count > 1 else text)
    if state == State.NO_RESULT and median is not None:
        words.append(f"not every repetition has a result: {reason}")
    elif state not in (State.DONE, State.TESTER_LIMIT):
        words.append(f"{STATE_WORDS[state]}: {reason}")
    elif reason:
        words.append(reason)
    return "; ".join(words)
