# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from natxy.campaign.attempt.here import carry_out_here
from natxy.campaign.attempt.task import Outcome, Task, is_complete
from natxy.campaign.campaign import Workers, carry_out_campaign
from natxy.campaign.jobs.jobs import Job
from natxy.campaign.jobs.model import Campaign
from natxy.campaign.jobs.queue import Ending, JobState
from natxy.campaign.log import (
    CampaignEnded,
    CampaignStarted,
    JobEnded,
    JobStarted,
    TestbedSetAside,
    campaign_log,
    read_log,
)
from natxy.campaign.results import read_campaign
from natxy.errors import PlanError
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import plan_of
from natxy.results.reader import RunReader
from natxy.run.folder import sole_owner
from natxy.run.run import run_plan
from tests.support.command import HANG_S

SIMULATED = {"kind": "simulated"}
EXPERIMENT = {
    "name": "a",
    "gateway": "simulated",
    "procedure": "throughput",
    "search": {"min_rate": "1k", "max_rate": "9k", "error": "1k"},
}


def planned(**changes: object) -> Plan:
    return Plan.model_validate({"name": "p", "testbed": SIMULATED, "repeat": 1, "experiments": [EXPERIMENT], **changes})


def jobs(*keys: tuple[str, str]) -> list[Job]:
    return [Job(run=run, place=place, plans={place: resolve(planned())}) for run, place in keys]


CAMPAIGN = Campaign.model_validate(
    {
        "name": "c",
        "max_failures": 2,
        "testbeds": {"one": {"testbed": SIMULATED}, "two": {"testbed": SIMULATED}},
        "runs": [{"name": "x", "plan": "p.yaml", "on": ["one"]}],
    }
)


class AtOnce:
    """Carries tasks out by a function, one after the other."""

    def __init__(self, carry_out: Callable[[Task], Outcome]) -> None:
        self._carry_out = carry_out
        self._given: deque[tuple[str, Task]] = deque()

    def submit(self, testbed: str, task: Task) -> None:
        assert testbed not in [other for other, _ in self._given]
        self._given.append((testbed, task))

    def next(self) -> tuple[str, Outcome]:
        testbed, task = self._given.popleft()
        return testbed, self._carry_out(task)


def by(carry_out: Callable[[Task], Outcome]) -> Callable[[], contextmanager[Workers]]:  # type: ignore[valid-type]
    @contextmanager
    def workers() -> Iterator[Workers]:
        yield AtOnce(carry_out)

    return workers


def at_once(task: Task) -> Outcome:
    """Measures in this process."""
    return Outcome(Ending.DONE, run_plan(plan_of(task.plan, task.folder), task.folder, RunListener()))


def test_a_campaign_is_measured_logged_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    given = jobs(("x", "one"), ("x", "two"), ("y", "one"))
    seen: list[str] = []

    def once(task: Task) -> Outcome:
        seen.append(task.key)
        if task.key == "y/one":
            raise KeyboardInterrupt
        return at_once(task)

    with pytest.raises(KeyboardInterrupt):
        carry_out_campaign(CAMPAIGN, given, tmp_path / "c", by(once), lambda _: None)
    assert seen == ["x/one", "x/two", "y/one"]
    assert RunReader(tmp_path / "c/runs/x/one").run.experiments[0].statistics
    entries = read_log(tmp_path / "c")
    assert isinstance(entries[-1], CampaignEnded)
    assert [(each.key, each.state, each.reason) for each in entries[-1].left] == [
        ("y/one", JobState.WAITING, "interrupted")
    ]
    assert entries[-1].interrupted
    with (tmp_path / "c/campaign.jsonl").open("a") as log:
        log.write('{"event":"job_en')
    states = carry_out_campaign(CAMPAIGN, given, tmp_path / "c", by(at_once), lambda _: None)
    assert {state for state, _ in states.values()} == {JobState.DONE}
    started, begun, ended, last = read_log(tmp_path / "c")[len(entries) :]
    assert isinstance(started, CampaignStarted)
    assert (len(started.jobs), started.done) == (3, 2)
    assert isinstance(begun, JobStarted)
    assert isinstance(ended, JobEnded)
    assert (begun.run, ended.folder, ended.ending, ended.exit_code) == ("y", "runs/y/one", Ending.DONE, 0)
    assert isinstance(last, CampaignEnded)
    assert (last.left, last.interrupted) == ((), False)


def test_a_testbed_that_fails_is_set_aside(tmp_path: Path) -> None:
    told: list[str] = []
    states = carry_out_campaign(
        CAMPAIGN,
        jobs(("x", "one"), ("y", "one"), ("z", "one"), ("x", "two")),
        tmp_path / "c",
        by(lambda task: Outcome(Ending.FAILED if "one" in task.key else Ending.DONE, 4, "silent")),
        lambda entry: told.append(entry.testbed) if isinstance(entry, TestbedSetAside) else None,
    )
    assert told == ["one"]
    assert states == {
        "x/one": (JobState.FAILED, "silent"), "x/two": (JobState.DONE, "silent"),
        "y/one": (JobState.FAILED, "silent"), "z/one": (JobState.FAILED, "one is set aside: silent"),
    }  # fmt: skip


def test_while_others_are_measured_the_log_tells_which_jobs_are_given_up(tmp_path: Path) -> None:
    plans = {"one": resolve(planned())}
    given = [Job("x", "one", plans), Job("y", "one", plans, after=frozenset({"x"})), Job("z", "one", plans)]
    seen: list[list[tuple[str, str, str]]] = []

    def carry_out(task: Task) -> Outcome:
        seen.append([(job.run, job.state, job.reason) for job in read_campaign(tmp_path).jobs])
        return Outcome(Ending.FAILED, 4, "silent") if task.key == "x/one" else at_once(task)

    carry_out_campaign(CAMPAIGN, given, tmp_path, by(carry_out), lambda _: None)
    assert seen[1] == [("x", "running", ""), ("y", "waiting", ""), ("z", "waiting", "")]
    assert seen[-1] == [("x", "failed", "silent"), ("y", "skipped", "x/one was not measured"), ("z", "running", "")]


def test_a_changed_plan_is_refused(tmp_path: Path) -> None:
    def measure() -> None:
        carry_out_campaign(CAMPAIGN, given, tmp_path / "c", by(at_once), lambda _: None)

    given = jobs(("x", "one"))
    measure()
    measure()
    given = [Job(run="x", place="one", plans={"one": resolve(planned(seed=7))})]
    with pytest.raises(PlanError, match="is not the plan of x on one as the campaign has it now: take back the change"):
        measure()


def slow(folder: Path) -> Task:
    """Returns a task that takes long and is in virtual time, so that nothing has to be given back."""
    many = planned(repeat=10_000)
    return Task("x/one", folder, resolve(many).to_yaml())


def test_a_job_that_is_not_wanted_any_more_ends_and_can_be_resumed(tmp_path: Path) -> None:
    def until_begun() -> bool:
        return not (tmp_path / "runs/x/one/results.sqlite").exists()

    outcome = carry_out_here(slow(tmp_path / "runs/x/one"), until_begun)
    assert (outcome.ending, outcome.exit_code, outcome.reason) == (Ending.FAILED, 130, "interrupted")
    assert not is_complete(tmp_path / "runs/x/one")


def test_what_waits_for_an_earlier_attempt_can_be_ended(tmp_path: Path) -> None:
    folder = tmp_path / "runs/x/one"
    folder.mkdir(parents=True)
    with sole_owner(folder):
        outcome = carry_out_here(slow(folder), lambda: False)
    assert outcome.ending is Ending.FAILED
    assert outcome.reason.startswith("another natxy is measuring into ")


def test_a_killed_job_says_so_and_its_remains_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "runs/x/one"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("of a session that was killed before its run began")

    def kill() -> bool:
        if (folder / "results.sqlite").exists():
            # When this is asked again, the killed process may have ended; one that it forks has its command line.
            for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
                if _measures(pid, folder):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        return True

    outcome = carry_out_here(slow(folder), kill)
    assert (outcome.ending, outcome.exit_code, outcome.reason) == (Ending.FAILED, -9, "killed by SIGKILL")
    assert (folder.with_name("one.left-1") / "events.jsonl").read_text().startswith("of a session")


def _measures(pid: int, folder: Path) -> bool:
    try:
        return str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_job_ends_with_its_killed_worker(tmp_path: Path) -> None:
    folder = tmp_path / "runs/x/one"
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from natxy.campaign.attempt.here import carry_out_here\nfrom natxy.campaign.attempt.task import Task\n"
        "carry_out_here(Task('x/one', Path(sys.argv[1]), sys.stdin.read()), lambda: True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, folder], stdin=subprocess.PIPE, text=True) as worker:
        assert worker.stdin
        worker.stdin.write(slow(folder).plan)
        worker.stdin.close()
        deadline = time.monotonic() + HANG_S
        while not (folder / "results.sqlite").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        worker.kill()
    while any(_measures(pid, folder) for pid in map(int, filter(str.isdecimal, os.listdir("/proc")))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "interrupted" in folder.with_name("one.log").read_text()


def test_a_plan_that_is_wrong_there_is_refused(tmp_path: Path) -> None:
    outcome = carry_out_here(Task("x/one", tmp_path / "one", "name: p\n"), lambda: True)
    assert (outcome.ending, outcome.exit_code) == (Ending.REFUSED, 2)
    assert not is_complete(tmp_path / "one")


def test_what_is_wrong_beside_the_plan_is_a_failure(tmp_path: Path) -> None:
    given = Task("x/one", tmp_path / "one", resolve(planned()).to_yaml(), prepare=[[]])
    outcome = carry_out_here(given, lambda: True)
    assert (outcome.ending, outcome.exit_code) == (Ending.FAILED, 2)
    assert outcome.reason.startswith("--before: expected a command")


def test_a_folder_without_a_log_is_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="is not the folder of a campaign"):
        read_log(tmp_path)
    (tmp_path / "campaign.jsonl").write_text('{"event":"tomorrow"}\n{"event":"job_ended"}\n')
    with pytest.raises(PlanError, match=r"campaign\.jsonl:2: no entry of a campaign's log"):
        read_log(tmp_path)


def test_an_entry_names_no_folder_outside_the_campaign(tmp_path: Path) -> None:
    with campaign_log(tmp_path) as log:
        log.append(JobStarted(run="x", place="one", testbed="two", folder="runs/x/one@two"))
    assert len(read_log(tmp_path)) == 1
    file = tmp_path / "campaign.jsonl"
    file.write_text(file.read_text().replace("runs/x/one@two", "runs/x/../../.."))
    with pytest.raises(PlanError, match=r"campaign\.jsonl:1: no entry of a campaign's log"):
        read_log(tmp_path)


def test_an_entry_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr("natxy.campaign.log.os.write", lambda fd, text: write(fd, text[:7]))
    with campaign_log(tmp_path) as log:
        log.append(TestbedSetAside(testbed="one", reason="dead"))
    assert len(read_log(tmp_path)) == 1
