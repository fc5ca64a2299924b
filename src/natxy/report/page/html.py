# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML file a run: no network, readable on a phone, on paper and without scripts.

Texts of a run (error messages, a gateway's configuration, a plan) are untrusted: the template escapes them, and the
page's own policy forbids every outside resource and every script but the one that makes the charts live.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import format_duration
from natxy.plan.testbeds.cores import named_cores
from natxy.report.charts.chart import Chart
from natxy.report.charts.gateways import gateways_charts
from natxy.report.charts.run import experiment_charts, group_charts
from natxy.report.charts.still import page_svg
from natxy.report.page.cards import cards
from natxy.report.page.live_charts import data_block, script, source_hash
from natxy.report.tables import results as results_tables
from natxy.report.tables import sweep as sweep_tables
from natxy.report.tables.foreign_frames import corrupt_frames, foreign_frames
from natxy.report.tables.gateways import OTHER_KERNELS, gateways_table
from natxy.report.tables.published_figures import published_figures
from natxy.report.tables.selftest import ceilings, pacing
from natxy.report.tables.table import Table
from natxy.report.words import headlines, states, wording
from natxy.report.words.ceilings import self_test_sentence, tester_limits
from natxy.results.gateways import several_kernels
from natxy.results.pcap import FOREIGN_FILE
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord, RunState
from natxy.results.sweeps import computed, sweep_groups, sweeps
from natxy.system.whole_file import whole_file

REPORT_FILE: Final = "report.html"


@dataclass(frozen=True)
class ExperimentPage:
    """`trials`: every one of the engine's, or every test between hosts."""

    name: str
    title: str
    result: str
    reason: str
    charts: list[Chart]
    trials: Table


@dataclass(frozen=True)
class Chapter:
    """An experiment, or the cells of a sweep under its title."""

    title: str
    name: str
    pages: list[ExperimentPage]
    swept: bool


@dataclass(frozen=True)
class SweepResults:
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


def write_report(run_dir: Path) -> Path:
    """Writes `report.html` into the run folder. PlanError when the folder holds no run, OSError when it cannot
    be written."""
    reader = RunReader(run_dir)
    report = reader.folder / REPORT_FILE
    page = render(reader)
    with whole_file(report) as out:
        out.write(page.encode())
    return report


def _coded(text: str) -> Markup:
    """What stands between backticks, as in messages for a terminal, is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def render(reader: RunReader) -> str:
    run = reader.run
    environment = Environment(
        loader=PackageLoader("natxy.report.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["coded"] = _coded
    style = resources.files("natxy.report.page").joinpath("templates/report.css").read_text(encoding="utf-8")
    verdicts = [placed.trial.verdict for placed in run.all_trials]
    compared = list(gateways_charts(run))
    swept = _sweep_results(run)
    chapters = _chapters(run)
    charts = compared + [chart for results in swept for chart in results.charts]
    charts += [chart for chapter in chapters for page in chapter.pages for chart in page.charts]
    live = script() if charts else ""
    return environment.get_template("report.html.j2").render(
        run=run,
        style=Markup(style),
        state=states.run_state(run),
        started=_moment(run.started_at),
        active_time=None if run.state is RunState.RUNNING else format_duration(run.active_s),
        trial_count=len(verdicts),
        test_count=run.host_test_count,
        invalid_count=verdicts.count(Verdict.INVALID),
        phase1_count=sum(placed.trial.failed_to_prepare for placed in run.all_trials),
        cards=cards(run),
        incomplete=states.incomplete(run),
        gateways=gateways_table(run),
        gateways_charts=compared,
        other_kernels=OTHER_KERNELS if several_kernels(run) else None,
        result_tables=results_tables.plain_form(run),
        swept=swept,
        chapters=chapters,
        published=published_figures(run),
        # Every free text in these pictures was escaped by their XML writer.
        pictures={chart.name: Markup(page_svg(chart)) for chart in charts},
        chart_data=Markup(data_block(charts)),
        live=Markup(live),
        live_hash=source_hash(live),
        duts=_duts(run),
        tester=_flat({"natxy": run.natxy_version, **_prefixed("engine", run.engine), **run.testbed}),
        self_test_sentence=self_test_sentence(run),
        self_test=[ceilings(run.self_test), pacing(run.self_test)] if run.self_test else [],
        tester_limits=tester_limits(run),
        machine=_flat({**run.machine, **run.load.facts()}),
        busy=states.busy(run),
        undecided_trials=results_tables.undecided_trials(run),
        foreign_frames=foreign_frames(run),
        corrupt_frames=corrupt_frames(run),
        capture=FOREIGN_FILE if (reader.folder / FOREIGN_FILE).is_file() else None,
    )


def _sweep_results(run: RunRecord) -> list[SweepResults]:
    columns = computed(run)
    return [
        SweepResults(sweep_tables.group_title(group), list(group_charts(group)), *sweep_tables.tables(group, columns))
        for group in sweep_groups(run)
    ]


def _chapters(run: RunRecord) -> list[Chapter]:
    """In the plan's order."""
    titles = {cell.id: sweep.title for sweep in sweeps(run) for cell in sweep.cells}
    chapters: dict[str, Chapter] = {}
    for experiment in run.experiments:
        name = experiment.sweep or experiment.name
        title = titles.get(experiment.id, experiment.title)
        chapter = chapters.setdefault(name, Chapter(title, name, [], swept=experiment.sweep is not None))
        chapter.pages.append(_page(experiment))
    return list(chapters.values())


def _page(experiment: ExperimentRecord) -> ExperimentPage:
    result = f"{headlines.headline(experiment)}, {headlines.rate_kind(experiment)}" if experiment.statistics else ""
    if experiment.is_only_a_lower_bound:
        result += (
            ": a bound, since of a search that it counts no rate failed, so that the gateway may do more than the "
            "search's maximum, or none passed"
        )
    between_hosts = experiment.declaration.between_hosts
    return ExperimentPage(
        name=experiment.name,
        title=experiment.title,
        result=result,
        reason=experiment.reason,
        charts=list(experiment_charts(experiment)),
        trials=(results_tables.host_tests if between_hosts else results_tables.trials)(experiment),
    )


def _duts(run: RunRecord) -> list[Dut]:
    """Experiments on one gateway in one configuration share its description."""
    found: dict[str, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        if experiment.dut is not None:
            found.setdefault(json.dumps(experiment.dut, sort_keys=True), []).append(experiment)
    return [
        Dut(
            name=dut["name"],
            version=dut["version"],
            settings=dut["settings"],
            configuration=dut["configuration"],
            experiments=list(_measured(run, measured)),
        )
        for dut, measured in ((json.loads(dut), measured) for dut, measured in found.items())
    ]


def _measured(run: RunRecord, experiments: list[ExperimentRecord]) -> Iterator[str]:
    """Titles; of a sweep with its cells where these are not all of them."""
    yield from (experiment.title for experiment in experiments if experiment.sweep is None)
    for sweep in sweeps(run):
        cells = [cell for cell in sweep.cells if cell in experiments]
        if len(cells) == len(sweep.cells):
            yield sweep.title
        elif cells:
            yield f"{sweep.title} ({'; '.join(wording.cell(sweep.fields, cell.cell) for cell in cells)})"


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix} {key.replace('_', ' ')}": value for key, value in values.items()}


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: _fact(key, value) for key, value in values.items()}


def _fact(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return named_cores(value) if key.endswith("cores") and value else ", ".join(map(str, value))
    return str(value)


def _moment(timestamp: str) -> str:
    return datetime.fromisoformat(timestamp).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
