# SPDX-License-Identifier: Apache-2.0
"""Renders a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from natxy.plan import caveats
from natxy.plan.model.units import counted
from natxy.report.tables import results as results_tables
from natxy.report.tables.boxes import boxes_sentences, boxes_tables
from natxy.report.tables.dut.instructions import instruction_tables
from natxy.report.tables.dut.load import cost_table
from natxy.report.tables.dut.public_addresses import public_addresses
from natxy.report.tables.gateways import OTHER_KERNELS, gateways_table
from natxy.report.tables.per_procedure import drop_rates_table, latency_tables
from natxy.report.tables.published_figures import published_figures
from natxy.report.tables.statistics import intervals_note
from natxy.report.tables.table import to_rich
from natxy.report.tables.thresholds import threshold_table
from natxy.report.words import remarks, states, thresholds, wide_intervals
from natxy.report.words.disturbances import busy
from natxy.report.words.tester import self_test_sentence, tester_limits
from natxy.results.analysis.disturbances import disturbances
from natxy.results.analysis.gateways import several_kernels
from natxy.results.analysis.thresholds import Answer, Judged
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


def render(reader: RunReader, *, list_caveats: bool = True) -> RenderableType:
    run = reader.run
    compared = gateways_table(run, narrow=True)
    parts: list[RenderableType] = [to_rich(table) for table in results_tables.overview(run)]
    parts += [to_rich(table) for table in latency_tables(run)]
    if rates := drop_rates_table(run):
        parts.append(to_rich(rates))
    if note := intervals_note(run.experiments, headlines_only=True):
        parts.append(Text(note, style="dim"))
    for figures in published_figures(run, narrow=True):
        parts += [to_rich(figures.table), Text(figures.source, style="dim")]
    if compared:
        parts.append(to_rich(compared))
    parts += [to_rich(table) for table in boxes_tables(run)]
    if limiting := boxes_sentences(run):
        parts.append(Text("What limits each chain:", style="bold"))
        parts.extend(map(_bullet, limiting))
    if costs := cost_table(run):
        parts.append(to_rich(costs))
    parts += [to_rich(table) for table in instruction_tables(run)]
    if public := public_addresses(run):
        parts.append(to_rich(public))
    if several_kernels(run):
        parts.append(Text(OTHER_KERNELS, style="yellow"))
    incomplete = states.incomplete(run)
    if incomplete:
        parts.append(Text("No result, or not the planned number of repetitions:", style="bold"))
        parts.extend(_bullet(f"{experiment.title}: {reason}") for experiment, reason in incomplete)
    if found := remarks.sentences(run):
        parts.append(Text("Remarks on results:", style="bold"))
        parts.extend(map(_bullet, found))
    if wide := wide_intervals.explanations(run):
        parts.append(Text(f"{wide_intervals.TITLE}:", style="bold"))
        for explanation in wide:
            parts.append(_bullet(explanation.cause))
            parts.extend(_hanging("      ", line) for line in explanation.lines)
    if limits := tester_limits(run):
        parts.append(Text("Near the tester's own limit:", style="bold yellow"))
        parts.extend(map(_bullet, limits))
    parts.append(Text(f"Run {states.run_state(run)}. {count(run)}"))
    if warning := busy(run):
        parts.append(Text(warning, style="yellow"))
    if sentence := self_test_sentence(run):
        parts.append(Text(sentence))
    # A result that relies on what natxy cannot check is never shown without saying so.
    listed = [each for each in run.caveats if list_caveats or each.kind is caveats.CaveatKind.GAP]
    for kind, sentences in caveats.by_kind(listed).items():
        parts.append(Text(f"{caveats.TITLES[kind]}:", style="bold"))
        parts.extend(map(_bullet, sentences))
    if others := [each for each in run.caveats if each not in listed]:
        parts.append(Text(f"{caveats.counts(others)}: the report lists what and why."))
    return Group(*parts)


def threshold_parts(judged: Sequence[Judged]) -> list[RenderableType]:
    """Returns the table of thresholds, and below it why some are undecided."""
    if not judged:
        return []
    undecided = [each for each in judged if each.answer is Answer.UNDECIDED]
    return [
        to_rich(threshold_table(judged, narrow=True)),
        *(
            _bullet(f"{each.experiment.title}, {thresholds.expected(each)}: {thresholds.reason(each)}")
            for each in undecided
        ),
    ]


def count(run: RunRecord) -> str:
    """Returns a sentence with the number of trials and tests, and the seed."""
    found = disturbances(run)
    unprepared = sum(placed.trial.failed_to_prepare for placed in run.all_trials)
    repeated = (
        f", {found.invalid:,} of them invalid (the tester fell short) and never counted against a gateway"
        if found.invalid
        else ""
    )
    repeated += (
        f", {found.disturbed:,} disturbed (something else ran on the gateway's core) and repeated"
        if found.disturbed
        else ""
    )
    repeated += f", {unprepared:,} decided nothing because phase 1 failed" if unprepared else ""
    tests = run.host_test_count
    made = [f"{counted(found.trials, 'trial')}{repeated}"] if found.trials or not tests else []
    made += [f"{counted(tests, 'test')} between hosts"] if tests else []
    # Scripts chose the rates, and natxy drew nothing.
    seed = "" if run.is_of_scripts else f" Seed {run.seed}."
    return f"{'; '.join(made)}.{seed}"


def _bullet(text: str) -> RenderableType:
    return _hanging("  • ", text)


def _hanging(opening: str, text: str) -> RenderableType:
    """Returns a text whose further lines begin below the end of the opening."""
    grid = Table.grid()
    grid.add_column(width=len(opening))
    grid.add_column(overflow="fold")
    grid.add_row(Text(opening), Text(text))
    return grid
