# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from natxy.engine.messages.results import Verdict
from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.events.lines import EVENTS_FILE, event_of
from natxy.events.listener import RunListener
from natxy.events.run import BlockStarted, RunFinished, RunStarted, Warned
from natxy.events.schema import events_schema_text
from natxy.events.trials import TrialFinished, TrialProgress
from natxy.events.writer import events_into, events_to
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from natxy.results.trials import TrialKind
from natxy.run.run import resume_plan, run_plan
from tests.support.command import HANG_S

ROOT = Path(__file__).parents[3]
SCHEMA_FILE = ROOT / "docs" / "reference" / "events.schema.json"


class Noting(RunListener):
    def __init__(self) -> None:
        self.events: list[Event] = []

    def receive(self, event: Event) -> None:
        self.events.append(event)


class Cut(RunListener):
    """Ends the run after its fourth trial."""

    def __init__(self) -> None:
        self._left = 4

    def trial_finished(self, event: TrialFinished) -> None:
        self._left -= 1
        if not self._left:
            raise KeyboardInterrupt


@pytest.fixture
def plan() -> ResolvedPlan:
    common = {"gateway": "simulated", "repeat": 2}
    search = common | {"name": "a", "procedure": "throughput", "search": {"min_rate": "10k", "max_rate": "1M"}}
    hosts = common | {"name": "b", "procedure": "tcp-goodput"}
    head = {"name": "p", "testbed": {"kind": "simulated"}, "order": "blocks"}
    return resolve(Plan.model_validate(head | {"experiments": [search, hosts]}))


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def progress(clock_s: float) -> TrialProgress:
    return TrialProgress(clock_s=clock_s, kind=TrialKind.TRAFFIC, elapsed_s=clock_s, planned=9, sent=5, received=5)


def test_the_published_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text() == events_schema_text(), "regenerate it by `make docs`"


def test_a_run_leaves_its_events_in_its_folder_as_the_schema_says(plan: ResolvedPlan, tmp_path: Path) -> None:
    told = Noting()
    assert run_plan(plan, tmp_path / "run", told) == 0
    written = lines(tmp_path / "run" / EVENTS_FILE)
    validator = Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))
    assert [error.message for line in written for error in validator.iter_errors(line)] == []
    names = [line["event"] for line in written]
    assert (names[0], names[-1]) == ("run_started", "run_finished")
    page = (ROOT / "docs" / "reference" / "events.md").read_text()
    assert {name for name in names if f"| `{name}` |" not in page} == set()
    # The file has less progress than the listener, and all else.
    kept = [event for event in told.events if not isinstance(event, TrialProgress)]
    read = [event_of(json.dumps(line), "line") for line in written]
    assert [event for event in read if not isinstance(event, TrialProgress)] == kept
    run = RunReader(tmp_path / "run").run
    trials = [trial for repetition in run.experiments[0].repetitions for trial in repetition.trials]
    finished = [line for line in written if line["event"] == "trial_finished"]
    assert [(t.verdict, t.sent, t.lost, t.reason) for t in trials] == [
        (line["verdict"], line["sent"], line["lost"], line["reason"]) for line in finished
    ]
    assert all(sum(line["sent_per_second"]) == line["sent"] for line in finished)
    assert {line["verdict"] for line in finished} == {Verdict.PASS, Verdict.FAIL}
    (ended,) = [line for line in written if line["event"] == "experiment_finished" and line["experiment"] == "a"]
    assert run.experiments[0].statistics
    assert ended["median"]["value"] == run.experiments[0].statistics.median


def test_a_resumed_run_continues_the_file_after_the_line_that_was_cut(plan: ResolvedPlan, tmp_path: Path) -> None:
    file = tmp_path / "run" / EVENTS_FILE
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, tmp_path / "run", Cut())
    ended = lines(file)
    assert (ended[-1]["event"], ended[-1]["state"]) == ("run_finished", "interrupted")
    file.write_bytes(file.read_bytes() + b'{"event":"trial_fin' + 5000 * b"x")
    assert resume_plan(plan, tmp_path / "run", RunListener()) == 0
    both = lines(file)
    assert both[: len(ended)] == ended
    started = both[len(ended)]
    assert (started["event"], started["resumed"]) == ("run_started", True)
    trials = [line for line in both if line["event"] == "trial_finished"]
    stored = RunReader(tmp_path / "run").run.experiments[0].repetitions
    assert len(trials) == sum(len(repetition.trials) for repetition in stored)


def test_events_of_later_versions_are_left_out_and_other_lines_are_named() -> None:
    assert event_of('{"event": "moon_rose", "phase": 3}', "line 2") is None
    with pytest.raises(PlanError, match=r"events.jsonl:2 is no event of natxy: trial_progress.sent: missing"):
        event_of('{"event":"trial_progress","kind":"traffic","elapsed_s":1,"planned":1,"received":1}', "events.jsonl:2")
    started = RunStarted(
        version=3, natxy_version="9", name="p", folder="f", testbed="lab", resumed=False, experiments=()
    )
    with pytest.raises(PlanError, match="version 3 of the events, and this natxy reads up to 2"):
        event_of(started.model_dump_json(), "line 1")
    before = started.model_copy(update={"version": 1})
    assert event_of(before.model_dump_json(), "line 1") == before


def test_progress_is_written_once_a_second(tmp_path: Path) -> None:
    with events_into(tmp_path / "e", pytest.fail) as writer:
        for fifth in range(20):
            writer.receive(progress(fifth / 5))
    assert [line["elapsed_s"] for line in lines(tmp_path / "e")] == [0, 1, 2, 3]


def test_a_trial_is_on_the_disk_when_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: synced.append(os.fstat(fd).st_size))
    with events_into(tmp_path / "e", pytest.fail) as writer:
        writer.receive(BlockStarted(number=1, experiments=1))
        assert synced == []
        writer.receive(RunFinished(state=RunState.DONE))
        assert synced == [(tmp_path / "e").stat().st_size]


@pytest.mark.parametrize(("target", "why"), [("", "it is a folder"), ("no/such", "No such file"), ("old", "exists")])
def test_what_cannot_be_written_is_named(tmp_path: Path, target: str, why: str) -> None:
    (tmp_path / "old").write_text("mine")
    with pytest.raises(PlanError, match=f"--events .*{why}.*name a new file"), events_to(str(tmp_path / target), print):
        pass
    assert (tmp_path / "old").read_text() == "mine"


def test_a_full_disk_ends_the_events_and_nothing_else() -> None:
    told: list[str] = []
    with events_to("/dev/full", told.append) as writer:
        for _ in range(3):
            writer.receive(Warned(text="x"))
    assert told == ["no further events are written to /dev/full: No space left on device. The measurement goes on"]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    return tmp_path / "pipe"


def test_a_closed_pipe_ends_the_events_and_nothing_else(pipe: Path) -> None:
    told: list[str] = []
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with events_to(str(pipe), told.append) as writer:
        writer.receive(Warned(text="heard"))
        assert b"heard" in os.read(reader, 1000)
        os.close(reader)
        writer.receive(Warned(text="not heard"))
        writer.receive(Warned(text="nor this"))
    assert told == [f"no further events are written to {pipe}: its reader has closed it. The measurement goes on"]


def test_a_slow_reader_is_not_waited_for_and_gets_all(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.events.writer._LAST_WAIT_S", HANG_S)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    got = b""

    def read() -> None:
        nonlocal got
        os.set_blocking(reader, True)
        while more := os.read(reader, 65536):
            got += more

    text = 100 * "x"
    with events_to(str(pipe), pytest.fail) as writer:
        for _ in range(2000):
            writer.receive(Warned(text=text))
        assert got == b""
        late = threading.Thread(target=read)
        late.start()
    late.join()
    os.close(reader)
    assert [json.loads(line)["text"] for line in got.splitlines()] == 2000 * [text]


def test_a_reader_that_catches_up_takes_little_of_each_event(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holds the least part of the time of a trial: a reader that takes all at once gets a bounded part an event."""
    written: list[int] = []

    def write(_: int, text: bytes) -> int:
        written.append(len(text))
        return len(text)

    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with events_to(str(pipe), lambda _: None) as writer:
        for _ in range(200):
            writer.receive(Warned(text=20_000 * "x"))
        monkeypatch.setattr("natxy.events.writer.EventWriter._takes_more", lambda *_: True)
        monkeypatch.setattr(os, "write", write)
        writer.receive(Warned(text="last"))
        monkeypatch.undo()
        assert 0 < sum(written) <= 2**18 + 4096
    os.close(reader)


def test_an_interrupted_run_writes_what_is_left(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    finished: list[bool] = []
    monkeypatch.setattr("natxy.events.writer.EventWriter.finish", lambda _: finished.append(True))
    with pytest.raises(KeyboardInterrupt), events_to(str(pipe), pytest.fail):
        raise KeyboardInterrupt
    os.close(reader)
    assert finished == [True]


def test_a_reader_that_stands_still_is_given_up(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.events.writer._MOST_PENDING", 2**20)
    told: list[str] = []
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with events_to(str(pipe), told.append) as writer:
        for _ in range(100):
            writer.receive(Warned(text=20_000 * "x"))
    os.close(reader)
    assert told == [f"no further events are written to {pipe}: its reader is 1 MiB behind. The measurement goes on"]
