# SPDX-License-Identifier: Apache-2.0
"""The parts of a page that its template shows: sweeps, experiments with their trials, and devices under test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from natxy.report.charts.chart import Chart
from natxy.report.charts.run import experiment_charts, group_charts
from natxy.report.tables import sweep as sweep_tables
from natxy.report.tables import trials
from natxy.report.tables.table import Table
from natxy.report.words import headlines, wording
from natxy.results.analysis.sweeps import computed, sweep_groups, sweeps
from natxy.results.records import DutRecord, ExperimentRecord, RunRecord


@dataclass(frozen=True)
class ExperimentPart:
    """Holds what is shown of one experiment; `trials` are the engine's, or the tests between hosts."""

    name: str
    title: str
    result: str
    reason: str
    charts: list[Chart]
    trials: Table


@dataclass(frozen=True)
class Chapter:
    """Holds one experiment, or the cells of a sweep under its title."""

    title: str
    name: str
    parts: list[ExperimentPart]
    swept: bool


@dataclass(frozen=True)
class SweepResults:
    """Holds the charts of a group of sweeps, the table of the cells and that of what they have in common."""

    title: str
    charts: list[Chart]
    cells: Table
    same: Table


@dataclass(frozen=True)
class Dut:
    name: str
    version: str
    settings: dict[str, str]
    configuration: str
    experiments: list[str]


@dataclass(frozen=True)
class DutMachine:
    """Holds what a machine told about itself while `gateways` ran on it."""

    facts: dict[str, str]
    gateways: list[str]


def sweep_results(run: RunRecord) -> list[SweepResults]:
    columns = computed(run)
    return [
        SweepResults(sweep_tables.group_title(group), list(group_charts(group)), *sweep_tables.tables(group, columns))
        for group in sweep_groups(run)
    ]


def chapters(run: RunRecord) -> list[Chapter]:
    """Returns the chapters in the plan's order."""
    titles = {cell.id: sweep.title for sweep in sweeps(run) for cell in sweep.cells}
    found: dict[str, Chapter] = {}
    for experiment in run.experiments:
        name = experiment.sweep or experiment.name
        title = titles.get(experiment.id, experiment.title)
        chapter = found.setdefault(name, Chapter(title, name, [], swept=experiment.sweep is not None))
        chapter.parts.append(_part(experiment))
    return list(found.values())


def _part(experiment: ExperimentRecord) -> ExperimentPart:
    result = f"{headlines.headline(experiment)}, {headlines.rate_kind(experiment)}" if experiment.statistics else ""
    if experiment.is_only_a_lower_bound:
        result += (
            ": a lower bound. In a search that decides the median no rate failed, or none passed, "
            "so the gateway may do more"
        )
    return ExperimentPart(
        name=experiment.name,
        title=experiment.title,
        result=result,
        reason=experiment.reason,
        charts=list(experiment_charts(experiment)),
        trials=(trials.host_tests if experiment.declaration.between_hosts else trials.trials)(experiment),
    )


def duts(run: RunRecord) -> list[Dut]:
    """Returns a description for each gateway and configuration, with the experiments that share it."""
    found: dict[str, tuple[str, DutRecord, list[ExperimentRecord]]] = {}
    for experiment in run.experiments:
        for title, dut in zip(_names(experiment), experiment.duts, strict=True):
            key = json.dumps([title, asdict(dut)], sort_keys=True)
            found.setdefault(key, (title, dut, []))[2].append(experiment)
    return [
        Dut(title, dut.version, dut.settings, dut.configuration, [*_titles(run, measured)])
        for title, dut, measured in found.values()
    ]


def _names(experiment: ExperimentRecord) -> Sequence[str]:
    """Returns a name for each DUT of an experiment; no two of several are the same."""
    several = len(experiment.duts) > 1
    return experiment.planned.gateway.hop_titles if several else [dut.name for dut in experiment.duts]


def dut_machines(run: RunRecord) -> list[DutMachine]:
    """Returns the facts about each machine that gateways told of, with the names of these gateways.

    Several gateways of an experiment share a machine, and each tells of its own interfaces.
    """
    found: dict[str, tuple[dict[str, str], dict[str, None]]] = {}
    for experiment in run.experiments:
        facts = {what: value for dut in experiment.duts for what, value in dut.hardware.items()}
        if facts:
            key = json.dumps(facts, sort_keys=True)
            found.setdefault(key, (facts, {}))[1][" → ".join(dut.name for dut in experiment.duts)] = None
    return [DutMachine(facts, [*names]) for facts, names in found.values()]


def _titles(run: RunRecord, experiments: list[ExperimentRecord]) -> Iterator[str]:
    """Yields the titles of experiments and sweeps; those of a sweep with its cells if these are not all."""
    yield from (experiment.title for experiment in experiments if experiment.sweep is None)
    for sweep in sweeps(run):
        cells = [cell for cell in sweep.cells if cell in experiments]
        if len(cells) == len(sweep.cells):
            yield sweep.title
        elif cells:
            yield f"{sweep.title} ({'; '.join(wording.cell(sweep.fields, cell.cell) for cell in cells)})"
