# SPDX-License-Identifier: Apache-2.0
"""Writes thresholds, what was found, and the answers."""

from __future__ import annotations

from natxy.plan.model.units import format_quantity
from natxy.report.words import wording
from natxy.results.analysis.compare import SHARE_OF_BASELINE
from natxy.results.analysis.thresholds import Answer, Judged
from natxy.results.bounded import Bounded


def expected(judged: Judged) -> str:
    """Returns a threshold such as `at least 300 kfps` or `at most 5 % below runs/main`."""
    if judged.from_zero:
        return f"no {'more' if judged.is_most else 'less'} than {judged.against}, which has 0"
    if judged.against:
        return f"at most {abs(judged.limit):g} % {'above' if judged.is_most else 'below'} {judged.against}"
    of = " of the baseline" if judged.figure == SHARE_OF_BASELINE else ""
    return f"{'at most' if judged.is_most else 'at least'} {format_quantity(judged.limit, judged.unit)}{of}"


def found(judged: Judged) -> str:
    """Returns the median, or the change, with its interval."""
    if judged.value is None:
        return wording.ABSENT
    if judged.against and not judged.from_zero:
        return f"{_signed(judged.value)} %" + wording.ends(judged.interval, _signed)
    summary = None if judged.figure == SHARE_OF_BASELINE else judged.experiment.summary_of(judged.figure)
    median = summary.bounded_median if summary else Bounded(judged.value)
    shown = median.text(lambda value: format_quantity(value, judged.unit))
    unit = shown.rpartition(" ")[2]
    return shown + wording.ends(judged.interval, lambda end: format_quantity(end, judged.unit).removesuffix(f" {unit}"))


def answer(judged: Judged) -> str:
    """Returns the answer, with the reason if it is undecided."""
    return f"{judged.answer}: {reason(judged)}" if judged.answer is Answer.UNDECIDED else judged.answer


def reason(judged: Judged) -> str:
    """Returns why the answer is undecided, and how many repetitions may decide it."""
    if judged.repetitions is None:
        return judged.reason
    each = " in each run" if judged.against else ""
    return f"{judged.reason}; about {judged.repetitions} repetitions{each} may decide"


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
