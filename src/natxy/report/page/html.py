# SPDX-License-Identifier: Apache-2.0
"""Renders a run as one self-contained HTML file, readable on a phone, on paper, and without scripts or a network.

The texts of a run, such as error messages, configurations and the plan, are untrusted. The template escapes them, and
the page's Content-Security-Policy forbids all outside resources and all scripts but the one that makes charts live.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from natxy.plan.caveats import TITLES, by_kind, counts
from natxy.plan.model.units import counted, format_duration
from natxy.plan.testbeds.cores import named_cores
from natxy.report.charts.overview import OVERVIEW_NOTE, overview_charts
from natxy.report.page.chapters import chapters, dut_machines, duts, sweep_results
from natxy.report.page.shared import data_block, live_script, pictures, source_hash, style, template
from natxy.report.page.terms import Explainer
from natxy.report.tables.boxes import TITLE as BOXES_TITLE
from natxy.report.tables.boxes import boxes_sentences, boxes_tables
from natxy.report.tables.disturbances import absences
from natxy.report.tables.dut.load import load_tables
from natxy.report.tables.dut.public_addresses import public_addresses
from natxy.report.tables.gateways import OTHER_KERNELS, gateways_table
from natxy.report.tables.published_figures import published_figures
from natxy.report.tables.receive_queues import receive_queues_table
from natxy.report.tables.results import plain_form
from natxy.report.tables.selftest import tables
from natxy.report.tables.thresholds import threshold_table
from natxy.report.tables.trials import corrupt_frames, foreign_frames, undecided_trials
from natxy.report.words import remarks, states, wide_intervals
from natxy.report.words.disturbances import busy, validity
from natxy.report.words.tester import self_test_sentence, tester_limits
from natxy.results.analysis.disturbances import disturbances
from natxy.results.analysis.gateways import several_kernels
from natxy.results.analysis.thresholds import judge_plan, thresholds_of
from natxy.results.pcap import FOREIGN_FILE
from natxy.results.reader import RunReader, run_if_any
from natxy.results.records import RunState
from natxy.system.whole_file import whole_file

REPORT_FILE: Final = "report.html"


def write_report(reader: RunReader) -> Path:
    """Writes report.html into the run's folder and returns the file. OSError when it cannot be written."""
    report = reader.folder / REPORT_FILE
    page = render(reader)
    with whole_file(report) as out:
        out.write(page.encode())
    return report


def render(reader: RunReader) -> str:
    run = reader.run
    explainer = Explainer()
    found = disturbances(run)
    overview = list(overview_charts(run))
    swept = sweep_results(run)
    experiments = chapters(run)
    charts = overview + [chart for results in swept for chart in results.charts]
    charts += [chart for chapter in experiments for part in chapter.parts for chart in part.charts]
    live = live_script() if charts else ""
    return template("report.html.j2", explainer).render(
        run=run,
        style=style(),
        state=states.run_state(run),
        started=_moment(run.started_at),
        active_time=None if run.state is RunState.RUNNING else format_duration(run.active_s),
        trial_count=found.trials,
        trials=counted(found.trials, "trial"),
        test_count=run.host_test_count,
        tests=counted(run.host_test_count, "test"),
        invalid_count=found.invalid,
        disturbed_count=found.disturbed,
        validity=validity(run),
        absences=absences(run) if run.tester else None,
        phase1_count=sum(placed.trial.failed_to_prepare for placed in run.all_trials),
        overview=overview,
        overview_note=OVERVIEW_NOTE,
        wide_intervals_title=wide_intervals.TITLE,
        wide_intervals=wide_intervals.explanations(run),
        incomplete=states.incomplete(run),
        remarks=remarks.sentences(run),
        caveats={TITLES[kind]: sentences for kind, sentences in by_kind(run.caveats).items()},
        caveat_counts=counts(run.caveats),
        thresholds=threshold_table(judge_plan(run, thresholds_of(run), run_if_any)),
        gateways=gateways_table(run),
        other_kernels=OTHER_KERNELS if several_kernels(run) else None,
        boxes_title=BOXES_TITLE,
        boxes=boxes_tables(run),
        boxes_sentences=boxes_sentences(run),
        result_tables=plain_form(run),
        swept=swept,
        chapters=experiments,
        published=published_figures(run),
        dut_loads=load_tables(run),
        public_addresses=public_addresses(run),
        pictures=pictures(charts),
        chart_data=data_block(charts),
        live=Markup(live),
        live_hash=source_hash(live),
        duts=duts(run),
        dut_machines=dut_machines(run),
        tester=_facts({"natxy": run.natxy_version, **_prefixed("engine", run.engine), **run.testbed}),
        self_test_sentence=self_test_sentence(run),
        self_test=tables(run.self_test) if run.self_test else [],
        tester_limits=tester_limits(run),
        receive_queues=receive_queues_table(run),
        machine=_facts({**run.machine, **run.load.facts()}),
        busy=busy(run),
        undecided_trials=undecided_trials(run),
        foreign_frames=foreign_frames(run),
        corrupt_frames=corrupt_frames(run),
        capture=FOREIGN_FILE if (reader.folder / FOREIGN_FILE).is_file() else None,
        explainer=explainer,
    )


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix} {key.replace('_', ' ')}": value for key, value in values.items()}


def _facts(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: _fact(key, value) for key, value in values.items()}


def _fact(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return named_cores(value) if key.endswith("cores") and value else ", ".join(map(str, value))
    return str(value)


def _moment(timestamp: str) -> str:
    return datetime.fromisoformat(timestamp).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
