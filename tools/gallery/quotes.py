# SPDX-License-Identifier: Apache-2.0
"""Quotes runs in pages of the documentation: what natxy printed, the steps of a search, and how they were measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import groupby
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import format_duration, format_rate
from natxy.report.tables import results
from natxy.report.tables.table import to_rich
from natxy.report.text import terminal
from natxy.report.words import states, wording
from natxy.report.words.disturbances import busy
from natxy.results.analysis.ratios import paired_ratio
from natxy.results.records import RunRecord
from natxy.results.statistics import Headline
from natxy.terminal.console import Console
from tools.gallery.result import machine_words

# Those of a terminal that nobody has widened.
_COLUMNS: Final = 80
_BLOCKS: Final = 6


def printed_tables(run: RunRecord) -> Iterator[str]:
    """Yields the tables of results as a terminal shows them, in a block of Markdown."""
    out = StringIO()
    console = Console(file=out, width=_COLUMNS)
    for table in results.overview(run):
        console.print(to_rich(table))
    yield "```text"
    yield from (line.rstrip() for line in out.getvalue().rstrip().splitlines())
    yield "```"


def printed_end(run: RunRecord) -> Iterator[str]:
    """Yields what natxy prints of the whole run below the tables, as a quotation."""
    yield f"> Run {states.run_state(run)}. {terminal.count(run)}"
    if warning := busy(run):
        yield ">"
        yield f"> {warning}"


def search_rows(run: RunRecord, experiment: str) -> Iterator[str]:
    """Yields a table of the rates that the first repetition of an experiment tried, one after the other."""
    (found,) = (each for each in run.experiments if each.name == experiment)
    repetition = found.repetitions[0]
    yield "| rate, per direction | trials |"
    yield "|---:|---|"
    for rate, trials in groupby(repetition.trials, key=lambda trial: trial.step_rate):
        yield f"| {format_rate(rate, 'fps')} | {', '.join(trial.verdict.value for trial in trials)} |"
    lower, upper = (
        "none" if bound is None else format_rate(bound, "fps")
        for bound in (repetition.lower_bound, repetition.upper_bound)
    )
    yield ""
    yield f"The highest rate that passed is the result of this repetition: {lower}. The lowest that failed: {upper}."


def block_rows(run: RunRecord, experiment: str, baseline: str) -> Iterator[str]:
    """Yields a table of results and ratio in the first blocks of repetitions, with the medians of all blocks below."""
    found = {each.name: each for each in run.experiments}
    nat, forwarding = found[experiment], found[baseline]
    yield f"| block | {forwarding.title} | its core | {nat.title} | its core | ratio | at equal speed |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for number in sorted(forwarding.headlines.keys() & nat.headlines.keys())[:_BLOCKS]:
        one, other = forwarding.headlines[number], nat.headlines[number]
        ratio = paired_ratio({number: other}, {number: one})
        cells = [*_with_speed(one), *_with_speed(other), wording.percent(100 * other.value / one.value, 1)]
        yield f"| {number} | {' | '.join(cells)} | {wording.ratio(ratio)} |"
    if forwarding.statistics and nat.statistics:
        base, own = (format_rate(summary.median, "fps") for summary in (forwarding.statistics, nat.statistics))
        yield f"| median | {base} | | {own} | | | {wording.ratio(nat.baseline_ratio)} |"


def _with_speed(headline: Headline) -> list[str]:
    speed_hz = headline.core_speed_hz
    return [format_rate(headline.value, "fps"), wording.ABSENT if speed_hz is None else format_rate(speed_hz, "Hz")]


def condition_rows(runs: Sequence[RunRecord]) -> Iterator[str]:
    """Yields a table of runs, and a line about the machine of the first."""
    yield "| run | measured in | trials | of them invalid | disturbed |"
    yield "|---|---:|---:|---:|---:|"
    for run in runs:
        verdicts = [placed.trial.verdict for placed in run.all_trials]
        counts = (
            len(verdicts),
            verdicts.count(Verdict.INVALID),
            verdicts.count(Verdict.DISTURBED),
        )
        yield f"| {run.name} | {format_duration(run.active_s)} | " + " | ".join(f"{each:,}" for each in counts) + " |"
    first = runs[0]
    yield ""
    yield (f"Measured on {first.started_at[:10]} with natxy {first.natxy_version}: {machine_words(first)}.")
