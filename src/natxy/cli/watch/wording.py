# SPDX-License-Identifier: Apache-2.0
"""Puts the results that a run's progress shows into words."""

from __future__ import annotations

from collections.abc import Mapping

from natxy.plan.experiment import Experiment
from natxy.plan.model.units import Unit, format_quantity
from natxy.plan.procedures.figures import Figure, applies
from natxy.procedures.common.base import ProcedureResult
from natxy.report.words.states import STATE_WORDS
from natxy.results.records import State
from natxy.results.statistics import Summary
from natxy.tcp.hosts import Transfer


def transfers_text(found: Mapping[str, Transfer]) -> str:
    """Returns the goodput and the retransmissions of each direction."""
    return ", ".join(
        f"{direction} {format_quantity(transfer.goodput_bps, Unit.BPS)} ({transfer.retransmits:,} retransmissions)"
        for direction, transfer in found.items()
    )


def quantity_text(value: float, unit: Unit) -> str:
    """Returns a value with its unit; frame rates are per direction."""
    return format_quantity(value, unit) + (" per direction" if unit == Unit.FPS else "")


def result_text(result: ProcedureResult, experiment: Experiment) -> str:
    """Returns the figures of a repetition, with their names if there are several, and the procedure's remark.

    Figures that do not apply are left out. A figure without a value is `none`.
    """
    remark = f" ({result.remark})" if result.remark else ""
    if result.figures[experiment.procedure.headline().name] is None:
        return f"no result{remark}"
    if result.lower_bound is None and result.upper_bound is not None:
        return f"less than {quantity_text(result.upper_bound, experiment.unit)}{remark}"
    figures: tuple[Figure, ...] = experiment.procedure.figures
    at_least = "at least " if result.lower_bound is not None and result.upper_bound is None else ""
    shown = []
    for figure in figures:
        if figure.name not in result.figures or not applies(figure, experiment.directions):
            continue
        value = result.figures[figure.name]
        name = f"{figure.title} " if len(figures) > 1 else ""
        bound = at_least if figure == figures[0] else ""
        shown.append(f"{name}{bound}{'none' if value is None else quantity_text(value, figure.unit)}")
    return ", ".join(shown) + remark


def ending_text(experiment: Experiment, state: State, reason: str, summary: Summary | None) -> str:
    """Returns the result of an experiment, or the reason why it has none."""
    words = []
    if summary is not None:
        median = summary.bounded_median.text(lambda value: quantity_text(value, experiment.unit))
        median += experiment.loss_tolerance.label if experiment.loss_tolerance else ""
        words.append(f"median of {summary.count}: {median}" if summary.count > 1 else median)
    if state == State.NO_RESULT and summary is not None:
        words.append(f"not every repetition has a result: {reason}")
    elif state not in (State.DONE, State.TESTER_LIMIT):
        words.append(f"{STATE_WORDS[state]}: {reason}")
    elif reason:
        words.append(reason)
    return "; ".join(words)
