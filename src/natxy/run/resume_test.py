# SPDX-License-Identifier: Apache-2.0
"""Tests what a resumed run measures, what it leaves as it is, and which runs cannot be resumed."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest
from ruamel.yaml import YAML

from natxy.errors import DutError, EngineDiedError, HostError, PlanError
from natxy.events.base import Event
from natxy.events.lines import EVENTS_FILE
from natxy.events.listener import RunListener
from natxy.events.run import RunStarted, Warned
from natxy.events.trials import TrialFinished
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.report.words import states
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, RunState, State
from natxy.run.folder import PLAN_FILE, sole_owner
from natxy.run.preflight import Preflight
from natxy.run.run import resume_plan, run_plan
from natxy.tcp.simulated import SimulatedHosts

PLAN: Final[dict[str, Any]] = {
    "name": "p",
    "seed": 7,
    "repeat": 2,
    "timing": "lab",
    "testbed": {"kind": "simulated", "noise": 0.05, "tester_limit": "900k"},
}
SEARCH: Final = {"min_rate": "1k", "max_rate": "800k", "error": "1k"}
EXPERIMENTS: Final[list[dict[str, Any]]] = [
    {"name": "forwarding", "procedure": "throughput", "search": SEARCH},
    {"name": "rate", "procedure": "connection-rate", "connections": "20k", "search": SEARCH},
    {
        "name": "phase2",
        "procedure": "throughput",
        "connections": "20k",
        "phase1_rate": {"experiment": "rate", "percent": 50},
        "search": SEARCH,
    },
    {"name": "beyond", "procedure": "throughput", "search": {"min_rate": "1M", "max_rate": "2M", "error": "1k"}},
    {"name": "deletion", "procedure": "tear-down-rate", "connections": "20k", "phase1_rate": "20k"},
]


def plan() -> ResolvedPlan:
    experiments = [{"gateway": "simulated"} | experiment for experiment in EXPERIMENTS]
    return resolve(Plan.model_validate(PLAN | {"experiments": experiments}))


def comparable(run: RunRecord) -> str:
    """Returns the run as text, without times and without the ids of the engine and the database."""
    text = re.sub(r"(started|finished)_at='[^']*'", "", repr(run.experiments))
    return re.sub(r"\b(run_id|id)=\d+", "", text)


class Stops(RunListener):
    """Raises an error after so many trials."""

    def __init__(self, error: BaseException, after: int) -> None:
        self._error = error
        self._after = after
        self.trials = 0

    def trial_finished(self, event: TrialFinished) -> None:
        self.trials += 1
        if self.trials == self._after:
            raise self._error


def limited_trials(run: RunRecord) -> int:
    """Returns the number of trials that a resumed run measures again because they reached the tester's limit."""
    limited = [each for each in run.experiments if each.state == State.TESTER_LIMIT and run.state == RunState.DONE]
    return sum(len(repetition.trials) for each in limited for repetition in each.repetitions)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), EngineDiedError("it ended"), DutError("unreachable")])
def test_what_was_interrupted_or_failed_goes_on_with_the_next_trial(tmp_path: Path, error: BaseException) -> None:
    whole = Stops(error, after=-1)
    run_plan(plan(), tmp_path / "unbroken", whole)
    first = Stops(error, after=25)
    with contextlib.suppress(KeyboardInterrupt, EngineDiedError):
        run_plan(plan(), tmp_path / "run", first)
    again = limited_trials(RunReader(tmp_path / "run").run)
    second = Stops(error, after=-1)
    resume_plan(plan(), tmp_path / "run", second)
    # An interrupted attempt has lost its connections: its phase 1 is measured again.
    assert first.trials + second.trials - whole.trials - again in (0, 1)
    assert comparable(RunReader(tmp_path / "run").run) == comparable(RunReader(tmp_path / "unbroken").run)


def test_what_the_machine_lacks_is_told_after_the_start_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Preflight({"no iperf3": ["a"]}, notes=("a note",), warnings=("a doubt",))
    monkeypatch.setattr("natxy.run.run.prepared", lambda plan: found)
    lacking = ["Will be skipped: a: no iperf3", "a doubt"]

    class Notes(RunListener):
        def __init__(self) -> None:
            self.told: list[Event] = []

        def receive(self, event: Event) -> None:
            self.told.append(event)
            if len(self.told) == 20:
                raise KeyboardInterrupt

    for measure in (run_plan, resume_plan):
        notes = Notes()
        with pytest.raises(KeyboardInterrupt):
            measure(plan(), tmp_path / "run", notes)
        assert isinstance(notes.told[0], RunStarted)
        assert [each.text for each in notes.told[1:3] if isinstance(each, Warned)] == lacking
    kept = [line for line in (tmp_path / "run" / EVENTS_FILE).read_text().splitlines() if '"a doubt"' in line]
    assert len(kept) == 2


def test_a_gateway_that_forwarded_nothing_is_measured_anew(tmp_path: Path) -> None:
    def of(loss_ratio: float) -> ResolvedPlan:
        gateway = {"driver": "simulated", "forward_loss_ratio": loss_ratio, "reverse_loss_ratio": loss_ratio}
        experiment = EXPERIMENTS[0] | {"gateway": gateway}
        return resolve(Plan.model_validate(PLAN | {"repeat": 1, "experiments": [experiment]}))

    deaf = of(1)
    assert run_plan(deaf, tmp_path / "run", RunListener()) == 4
    listener = Stops(KeyboardInterrupt(), after=-1)
    assert resume_plan(deaf, tmp_path / "run", listener) == 4
    assert listener.trials > 0
    assert RunReader(tmp_path / "run").run.experiments[0].values == []


def test_a_host_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise HostError("iperf3 failed on the left machine")

    own = {"name": "tcp", "procedure": "tcp-goodput", "gateway": "simulated"}
    goodput = resolve(Plan.model_validate(PLAN | {"repeat": 2, "experiments": [own, own | {"name": "other"}]}))
    with monkeypatch.context() as patched:
        patched.setattr(SimulatedHosts, "transfer", fails)
        assert run_plan(goodput, tmp_path / "run", RunListener()) == 3
    failed = RunReader(tmp_path / "run").run
    assert [each.state for each in failed.experiments] == [State.HOST_FAILED] * 2
    assert [each.state for each in failed.experiments[0].repetitions] == [State.HOST_FAILED]
    assert states.incomplete(failed)[0][1] == "a host failed: iperf3 failed on the left machine"
    assert resume_plan(goodput, tmp_path / "run", RunListener()) == 0
    assert [len(each.values) for each in RunReader(tmp_path / "run").run.experiments] == [2, 2]


def test_what_cannot_be_resumed_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(PlanError, match="is not a run folder"):
        resume_plan(plan(), folder, RunListener())
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan(), folder, Stops(KeyboardInterrupt(), after=3))
    with sole_owner(folder), pytest.raises(PlanError, match="another natxy is measuring"):
        resume_plan(plan(), folder, RunListener())
    with pytest.raises(PlanError, match="no longer the plan"):
        resume_plan(plan().model_copy(update={"seed": 8}), folder, RunListener())
    resume_plan(plan(), folder, RunListener())
    run = RunReader(folder).run
    assert {experiment.name: experiment.state for experiment in run.experiments}["beyond"] == State.TESTER_LIMIT
    assert (folder / PLAN_FILE).read_text() == run.plan_yaml


def test_a_complete_run_is_resumed_for_what_the_tester_could_not_send(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert run_plan(plan(), folder, RunListener()) != 0
    before = RunReader(folder).run
    again = Stops(KeyboardInterrupt(), after=-1)
    resume_plan(plan(), folder, again)
    assert again.trials == limited_trials(before) > 0
    assert comparable(RunReader(folder).run) == comparable(before)


def test_nothing_is_left_of_a_complete_run(tmp_path: Path) -> None:
    search = {"max_rate": "400k", "error": "1k"}
    experiment = {"name": "forwarding", "procedure": "throughput", "gateway": "simulated", "search": search}
    sound = resolve(Plan.model_validate(PLAN | {"repeat": 1, "experiments": [experiment]}))
    assert run_plan(sound, tmp_path / "run", RunListener()) == 0
    with pytest.raises(PlanError, match="nothing to resume"):
        resume_plan(sound, tmp_path / "run", RunListener())


def test_a_stored_plan_may_have_its_fields_in_another_order(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan(), folder, Stops(KeyboardInterrupt(), after=3))
    stored = YAML(typ="safe").load(plan().to_yaml())
    text = StringIO()
    YAML().dump(dict(reversed(stored.items())), text)
    with sqlite3.connect(folder / RESULTS_FILE) as database:
        database.execute("UPDATE run SET plan_yaml = ?", (text.getvalue(),))
    database.close()
    resume_plan(plan(), folder, RunListener())
    assert RunReader(folder).run.state == RunState.DONE
