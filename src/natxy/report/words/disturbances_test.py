# SPDX-License-Identifier: Apache-2.0
"""Tests what terminal and page say about runs in virtual time whose gateway stalls."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from natxy.events.listener import RunListener
from natxy.plan.model.units import format_duration
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.page import html
from natxy.report.tables.disturbances import absences
from natxy.report.text import terminal
from natxy.report.words.disturbances import busy, validity
from natxy.results import RESULTS_FILE
from natxy.results.analysis.ceilings_test import TESTER
from natxy.results.analysis.disturbances import Absences, disturbances
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan

SEARCH = {"kind": "binary", "min_rate": "10k", "max_rate": "400k", "error": 500}


def stalling(folder: Path, stalls: dict[str, Any] | None, max_invalid: int = 10) -> RunRecord:
    """Measures a gateway with these stalls, as if a real tester had sent."""
    gateway = {"driver": "simulated", "stalls": stalls}
    throughput = {"name": "x", "procedure": "throughput", "search": SEARCH, "max_invalid": max_invalid}
    head = {"name": "p", "repeat": 3, "timing": "lab", "testbed": {"kind": "simulated"}}
    run_plan(
        resolve(Plan.model_validate(head | {"experiments": [throughput | {"gateway": gateway}]})), folder, RunListener()
    )
    with closing(sqlite3.connect(folder / RESULTS_FILE, isolation_level=None)) as db:
        db.execute("UPDATE run SET tester_json = ?", (TESTER.model_dump_json(),))
        db.execute("UPDATE session SET load_before_json = json_set(load_before_json, '$.minute', 9.0)")
    return RunReader(folder).run


def shown(folder: Path) -> tuple[str, str]:
    output = io.StringIO()
    Console(file=output, width=400).print(terminal.render(RunReader(folder)))
    return output.getvalue(), html.render(RunReader(folder))


def test_a_load_before_the_run_is_no_disturbance(tmp_path: Path) -> None:
    run = stalling(tmp_path / "run", None)
    assert busy(run) == ""
    assert validity(run).startswith(f"All {len([*run.all_trials])} trials were valid")
    assert [row[:3] for row in absences(run).rows] == [
        ("tester", str(len([*run.all_trials])), "0 ms"),
        ("gateway", str(len([*run.all_trials])), "0 ms"),
    ]
    assert all("was busy" not in text and "9.00" in text for text in shown(tmp_path / "run")[1:])


def test_disturbed_trials_are_counted_everywhere(tmp_path: Path) -> None:
    run = stalling(tmp_path / "run", {"every": "400ms", "duration": "12ms"})
    trials = [placed.trial for placed in run.all_trials]
    disturbed = sum(trial.verdict == "disturbed" for trial in trials)
    assert disturbed / len(trials) >= 0.05
    warning = f"The machine was busy with other things: of {len(trials)} trials, {disturbed} were disturbed."
    text, page = shown(tmp_path / "run")
    for where in (text, page):
        assert warning in where
        assert f"{disturbed} disturbed" in where
    assert f"trials {disturbed} (" in page
    assert "something else ran on the gateway&#39;s core. They decided nothing and were repeated." in page
    away_s = sum(trial.gateway_pause_s or 0.0 for trial in trials)
    assert away_s >= 0.012
    assert absences(run).rows[1][2] == format_duration(away_s)
    assert "taken away for" in page


def away(share: float) -> Absences:
    return Absences(trials=10, traffic_s=10.0, total_s=10 * share, most_s=share)


def test_what_kept_the_machine_busy_is_one_enumeration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stalling(tmp_path / "run", None)
    found = replace(disturbances(run), trials=50, invalid=4, disturbed=1, tester=away(0.06), gateway=away(0.09))
    monkeypatch.setattr("natxy.report.words.disturbances.disturbances", lambda _: found)
    assert busy(run).startswith(
        "The machine was busy with other things: of 50 trials, 4 were invalid and 1 was disturbed; the tester's core "
        "was taken away for 6.0 % of the time and the gateway's for 9.0 %. "
    )


def test_failures_that_count_for_want_of_attempts_are_not_hidden(tmp_path: Path) -> None:
    run = stalling(tmp_path / "run", {"every": "40ms", "duration": "8ms"}, max_invalid=2)
    warning = busy(run)
    assert "the gateway's core was taken away for" in warning
    assert "counted although something else ran on the gateway's core, because no attempt was left." in warning
    assert "counted although" in validity(run)


def test_a_run_of_before_the_gateways_core_was_watched(tmp_path: Path) -> None:
    stalling(tmp_path / "run", None)
    with closing(sqlite3.connect(tmp_path / "run" / RESULTS_FILE, isolation_level=None)) as db:
        db.execute("UPDATE trial SET gateway_pause_s = NULL")
    run = RunReader(tmp_path / "run").run
    assert [row[0] for row in absences(run).rows] == ["tester"]
    assert busy(run) == ""


def test_a_slow_core_is_named_in_the_warning_and_in_the_table(tmp_path: Path) -> None:
    stalling(tmp_path / "run", None)
    speeds = '[{"core": 1, "samples": 60, "mean_hz": 500000.0, "fastest_hz": 1000000.0}]'
    with closing(sqlite3.connect(tmp_path / "run" / RESULTS_FILE, isolation_level=None)) as db:
        db.execute("UPDATE trial SET result_json = json_set(result_json, '$.dut_cores', json(?))", (speeds,))
    run = RunReader(tmp_path / "run").run
    warning = busy(run)
    assert warning.startswith("The gateway's core was slow: on average it worked at 50 % of its highest speed")
    assert [row[-2:] for row in absences(run).rows] == [("–", "–"), ("50 %", "50 %")]
    assert all("50 % of its highest speed" in text.replace("\n", " ") for text in shown(tmp_path / "run"))
