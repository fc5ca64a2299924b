# SPDX-License-Identifier: Apache-2.0
"""The headline numbers of a run, with a card for each experiment or sweep."""

from __future__ import annotations

from dataclasses import dataclass

from natxy.plan.model.units import Unit
from natxy.report.tables.per_procedure import latency_lines
from natxy.report.words import headlines, states, wording
from natxy.report.words.tester import tester_limited
from natxy.results.analysis.sweeps import Sweep, sweeps
from natxy.results.records import ExperimentRecord, RunRecord, State


@dataclass(frozen=True)
class Card:
    """Holds a headline number and what is shown with it.

    `share_percent` is the share of the baseline, None without one. `more` has lines of further figures. `doubt` states
    that the result may be the tester's limit.
    """

    title: str
    value: str
    rate_kind: str
    spread: str
    state: str
    reason: str
    share_percent: float | None = None
    share: str = ""
    baseline: str = ""
    share_note: str = ""
    remark: str = ""
    more: tuple[str, ...] = ()
    doubt: str = ""


def cards(run: RunRecord) -> list[Card]:
    """Returns the cards in the plan's order; a sweep has the position of its first cell."""
    first_cells = {sweep.cells[0].id: sweep for sweep in sweeps(run)}
    return [
        _sweep_card(first_cells[experiment.id]) if experiment.id in first_cells else _card(run, experiment)
        for experiment in run.experiments
        if experiment.sweep is None or experiment.id in first_cells
    ]


def _card(run: RunRecord, experiment: ExperimentRecord) -> Card:
    summary = experiment.statistics
    spread = ""
    if summary is not None:
        lowest, highest = (
            wording.bounded(summary.bounded(v), experiment.unit) for v in (summary.minimum, summary.maximum)
        )
        # The headline may have another prefix.
        unit = f" {wording.unit(experiment.unit)}" if experiment.unit == Unit.NS else ""
        spread = "1 repetition" if summary.count == 1 else f"median of {summary.count} ({lowest} to {highest}{unit})"
    return Card(
        title=experiment.title,
        value=headlines.headline(experiment),
        rate_kind=headlines.rate_kind(experiment),
        spread=spread,
        state=experiment.state.value,
        reason="" if summary else _why_none(experiment),
        share_percent=experiment.baseline_ratio_percent,
        share=headlines.baseline_ratio(experiment),
        baseline=experiment.baseline.title if experiment.baseline else "",
        share_note=headlines.ratios_note([experiment]),
        remark=_remark(experiment) if summary else "",
        more=latency_lines(experiment),
        doubt=tester_limited(run, experiment),
    )


def _remark(experiment: ExperimentRecord) -> str:
    return states.state_and_reason(experiment) if experiment.state is State.NO_RESULT else experiment.reason


def _why_none(experiment: ExperimentRecord) -> str:
    """Returns why there is no result; errors of the tester or the DUT are too long for a card."""
    return experiment.reason if experiment.state is State.NO_RESULT else states.STATE_WORDS[experiment.state]


def _sweep_card(sweep: Sweep) -> Card:
    """Returns a card with the lowest and the highest median of the cells."""
    first = sweep.cells[0]
    measured = [cell for cell in sweep.cells if cell.statistics]
    ordered = sorted(measured, key=lambda cell: cell.statistics.median if cell.statistics else 0)
    shown = [*dict.fromkeys(headlines.headline(cell) for cell in ordered[:1] + ordered[-1:])]
    if len(shown) > 1:
        # A number is not separated from its unit.
        shown = [value.replace(" ", "\N{NO-BREAK SPACE}") for value in shown]
    without = len(sweep.cells) - len(measured)
    counted = f"lowest and highest of the medians of {len(measured)} experiments" + (
        f", {without} without result" if without else ""
    )
    fields = " × ".join(wording.field(field) for field in sweep.fields)
    return Card(
        title=sweep.title,
        value=" to ".join(shown),
        rate_kind=f"{headlines.kind(first)}; over {fields}",
        spread=counted,
        state=first.state.value,
        reason="" if measured else _why_none(first),
    )
