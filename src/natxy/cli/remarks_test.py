# SPDX-License-Identifier: Apache-2.0
"""Tests that a procedure's remark on its result is shown in the terminal, the report and the CSV."""

from __future__ import annotations

import html
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from natxy.events.listener import RunListener
from natxy.export.rows import trial_rows
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.traffic_test import plan_of
from natxy.procedures.latency import SingleTagLatency
from natxy.report.page.html import write_report
from natxy.report.text import terminal
from natxy.report.words import states
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.run.run import resume_plan, run_plan
from natxy.watch.live import LiveWatch
from natxy.watch.plain import PlainWatch

SEARCH = {"min_rate": "1k", "max_rate": "100k", "error": 500}
CONNECTIONS = {"connections": 1000, "phase1_rate": "1k"}
FULL = {"table_capacity": 500}
LOSSY = {"reverse_loss_ratio": 0.5}
PORT_SET = {"psid": 1, "psid_length": 8}
SHARED = {"port_set": PORT_SET, "first_range_only": True}
SPOOFABLE = {"driver": "chain", "gateways": ["tester", {"driver": "simulated", "spoofed_ratio": 1}]}
SERVER = {"dns64": "64:ff9b::/96"}
LATE = {"driver": "chain", "gateways": ["tester", {"driver": "simulated", "binding_delay": 10}]}

# Procedure, its experiment, the gateway, whether there is a result, words of the remark.
CASES: list[tuple[str, dict[str, Any], dict[str, Any], bool, str]] = [
    ("throughput", {"search": SEARCH}, {}, True, "at least this: the search's highest rate passed"),
    ("throughput", {"search": SEARCH}, LOSSY, True, "not even the search's lowest: reverse: 50 of 100"),
    ("ndr-pdr", {"search": SEARCH}, LOSSY, True, "not even the search's lowest: reverse: 50 of 100"),
    ("receive-rate", {"maximum_rate": "10k"}, {}, True, "at least this: the gateway forwards all that is offered"),
    ("frame-loss-rate", {"maximum_rate": "10k"}, LOSSY, True, "down to the lowest: reverse: "),
    ("latency", {"tagged_frames": 1000, "rate": "1k"}, {}, True, "fewer frames than the 1000 asked follow the warm-up"),
    ("latency", {"rate": "10k"} | CONNECTIONS, FULL, False, "3 attempts: the gateway keeps 500 connections"),
    ("single-tag-latency", {"rate": "10k"}, {"reverse_loss_ratio": 1}, False, "the tagged frame was lost: reverse"),
    ("pdv", {"rate": "10k"} | CONNECTIONS, FULL, False, "phase 1 at 1 kcps failed in 3 of 3 attempts"),
    ("ipdv", {"rate": "10k"} | CONNECTIONS, FULL, False, "3 attempts: the gateway keeps 500 connections"),
    ("overload", {"flows": 100, "search": SEARCH}, {}, False, "one flow: at least this"),
    ("overload", {"flows": 100, "search": SEARCH}, LOSSY, False, "one flow: no rate passed"),
    ("back-to-back", {"maximum_rate": "10k", "rate": "10k"}, {}, False, "a burst may go on forever"),
    ("back-to-back", {"maximum_rate": "100k", "rate": "10k"}, {}, True, "the longest burst that was to be tried"),
    ("burst", {"frames": 10, "search": SEARCH}, {"buffer_frames": 20}, True, "at least this"),
    ("system-recovery", {"rate": "250k"}, {"recovery_time": 10}, False, "frames are lost to the end, forward, reverse"),
    ("frame-cost", {}, {}, False, "nothing counts the gateway's instructions here"),
    ("system-recovery", {"rate": "25k"}, {}, True, "the overload lost nothing"),
    ("reset", {"rate": "10k"}, {"restart_time": 10}, False, "frames are lost to the end, forward, reverse"),
    ("reset", {"rate": "10k"}, {"restart_time": 0}, True, "the reset did not interrupt forwarding"),
    ("connection-rate", {"connections": 1000, "search": SEARCH}, {}, True, "at least this"),
    ("validated-connection-rate", {"connections": 1000, "search": SEARCH, "alpha": 0.5}, {}, True, "at least this"),
    ("tear-down-rate", CONNECTIONS, FULL, False, "enlarge the gateway's table"),
    (
        "table-capacity", {"initial_connections": 1000, "search": SEARCH, "alpha": 0.5}, FULL, False,
        "at no rate were all 1,000 initial connections kept",
    ),
    (
        "binding-check", {"rate": "10k", "gateway": SPOOFABLE}, {}, True,
        "500 frames of 500 with another's address passed",
    ),
    (
        "binding-churn", {"rate": "10k", "gateway": LATE, "subscribers": {}}, {}, True,
        "frames of old subscribers passed to the end, forward, reverse; frames of new subscribers were lost to the end",
    ),
    ("port-set", {"rate": 1000, "port_set": PORT_SET}, SHARED, True, "in 1 of 63 ranges: the first one alone"),
    (
        "tcp-connection-rate", {"connections": 1000, "search": SEARCH, "protocol": "tcp"}, {"forwarding_fps": 1e6},
        True,
        "at least this",
    ),
    ("churn", {"connections": 250_000, "search": SEARCH, "lifetime": 0.1}, {}, True, "at least this"),
    ("ageing", {"connections": 100, "rate": 1000, "longest": 1}, {}, True, "all connections were kept"),
    ("fill", {"connections": 100, "rate": 1000}, {}, True, "all connections were made: ask for more"),
    (
        "dns64-rate", {"family": "ipv6", "timing": {"preset": "lab", "drain": "1s"}, "search": SEARCH}, SERVER, True,
        "at least this",
    ),
    ("tcp-goodput", {"best_of": 20, "directions": "forward"}, {}, True, "the tests of a repetition differ"),
]  # fmt: skip


def plan(procedure: str, given: dict[str, Any], gateway: dict[str, Any], repeat: int = 1) -> ResolvedPlan:
    own = DECLARATIONS[procedure].model_fields.keys() & given.keys()
    asked = {"name": procedure} | {field: given[field] for field in own}
    others = {field: given[field] for field in given.keys() - own}
    resolved = resolve(plan_of({"name": "x", "procedure": asked, "repeat": repeat} | others, **gateway))
    if DECLARATIONS[procedure].between_hosts:
        return resolved.model_copy(update={"testbed": SimulatedTestbedConfig(kind="simulated", noise=0.5)})
    return resolved


def told(procedure: ResolvedPlan, folder: Path) -> tuple[int, RunRecord, list[str]]:
    """Returns the exit code, the run, and the texts of the log, the live view, the terminal's tables and the page."""
    log, live, end = io.StringIO(), io.StringIO(), io.StringIO()
    run_plan(procedure, folder / "log", PlainWatch(Console(file=log)))
    with LiveWatch(Console(file=live, width=1000, force_terminal=True, color_system=None)) as watch:
        code = run_plan(procedure, folder / "run", watch)
    reader = RunReader(folder / "run")
    Console(file=end, width=1000).print(terminal.render(reader))
    written = write_report(RunReader(folder / "run")).read_text(encoding="utf-8")
    page = html.unescape(written.replace("<code>", "`").replace("</code>", "`"))
    return code, reader.run, [log.getvalue(), live.getvalue(), end.getvalue(), page]


def test_no_procedure_is_left_out() -> None:
    assert {procedure for procedure, *_ in CASES} == set(DECLARATIONS)


@pytest.mark.parametrize(("procedure", "given", "gateway", "has_result", "remark"), CASES)
def test_a_remark_is_read_everywhere(
    tmp_path: Path, procedure: str, given: dict[str, Any], gateway: dict[str, Any], *, has_result: bool, remark: str
) -> None:
    code, run, texts = told(plan(procedure, given, gateway), tmp_path)
    experiment = run.experiments[0]
    state = State.DONE if has_result else State.NO_RESULT
    assert (code, experiment.state, experiment.repetitions[0].state) == (0 if has_result else 4, state, state)
    assert remark in experiment.reason
    for text in texts:
        assert experiment.reason in text
        assert ("no result" in text) != has_result
    assert {row["repetition_reason"] for row in trial_rows(run)} <= {experiment.reason}


def test_a_repetition_without_a_result_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measure, calls = SingleTagLatency.measure, 0

    def loses_the_second(self: SingleTagLatency, repetition: Repetition) -> ProcedureResult:
        nonlocal calls
        calls += 1
        result = measure(self, repetition)
        figures = result.figures if calls != 2 else dict.fromkeys(result.figures)
        return replace(result, figures=figures, remark="lost" if calls == 2 else "")

    monkeypatch.setattr(SingleTagLatency, "measure", loses_the_second)
    three = plan("single-tag-latency", {"rate": "10k"}, {}, repeat=3)
    assert run_plan(three, tmp_path / "run", RunListener()) == 4
    first = RunReader(tmp_path / "run").run
    experiment = first.experiments[0]
    assert (experiment.state, experiment.reason) == (State.NO_RESULT, "repetition 2: lost")
    assert [repetition.state for repetition in experiment.repetitions] == [State.DONE, State.NO_RESULT, State.DONE]
    assert [reason for _, reason in states.incomplete(first)] == [
        "1 of 3 repetitions without result: repetition 2: lost"
    ]
    assert resume_plan(three, tmp_path / "run", RunListener()) == 0
    again = RunReader(tmp_path / "run").run.experiments[0]
    assert calls == 4
    assert (again.state, again.reason, len(again.values)) == (State.DONE, "", 3)
    trials = [[trial.id for trial in repetition.trials] for repetition in again.repetitions]
    assert [len(ids) for ids in trials] == [1, 1, 1]
    assert trials[1][0] > trials[2][0]
