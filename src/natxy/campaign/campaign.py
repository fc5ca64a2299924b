# SPDX-License-Identifier: Apache-2.0
"""Carries out a campaign into its folder, or what is left of it there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from natxy.campaign.attempt.task import Outcome, Task, fingerprint, is_complete
from natxy.campaign.jobs.jobs import Job
from natxy.campaign.jobs.model import Campaign, CampaignTestbed
from natxy.campaign.jobs.queue import JobState, Queue
from natxy.campaign.log import (
    INTERRUPTED,
    CampaignEnded,
    CampaignStarted,
    JobEnded,
    JobStarted,
    LoggedJob,
    TestbedSetAside,
    campaign_log,
)
from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.run.folder import PLAN_FILE, sole_owner

CAMPAIGNS: Final = Path("campaigns")
"""The folder of the folders of campaigns."""


class Workers(Protocol):
    """Carries out tasks, one at a time on each testbed."""

    def submit(self, testbed: str, task: Task) -> None: ...

    def next(self) -> tuple[str, Outcome]:
        """Waits for an outcome, and returns it with its testbed."""


def done_before(jobs: Sequence[Job], folder: Path) -> frozenset[str]:
    """Returns the keys of the jobs that have a result in the folder of their campaign."""
    return frozenset(job.key for job in jobs if any(is_complete(folder / job.folder(each)) for each in job.plans))


def carry_out_campaign(
    campaign: Campaign,
    jobs: Sequence[Job],
    folder: Path,
    workers: Callable[[], AbstractContextManager[Workers]],
    tell: Callable[[Event], None],
) -> dict[str, tuple[JobState, str]]:
    """Measures the jobs that have no result in `folder` yet; returns the state of each, and the reason for it.

    The folder is made if it does not exist. `tell` receives each entry of the log. Raises PlanError when the folder
    holds runs of other plans, or another session of the campaign is under way.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with sole_owner(folder), campaign_log(folder) as log:
        texts = _Texts()
        _check_plans(jobs, folder, texts)
        done = done_before(jobs, folder)
        queue = Queue(jobs, [*campaign.testbeds], campaign.max_failures, done)

        def note(entry: Event) -> None:
            log.append(entry)
            tell(entry)

        named = tuple(LoggedJob(run=job.run, place=job.place) for job in jobs)
        note(CampaignStarted(name=campaign.name, jobs=named, done=len(done)))
        interrupted = True
        try:
            with workers() as used:
                _work(campaign, queue, folder, used, note, texts)
            interrupted = False
        finally:
            states = queue.states()
            left = tuple(_left(job, *states[job.key]) for job in named if states[job.key][0] is not JobState.DONE)
            note(CampaignEnded(left=left, interrupted=interrupted))
    return queue.states()


def _left(job: LoggedJob, state: JobState, reason: str) -> LoggedJob:
    """Returns a job as the end of a session finds it, when none is under way any more."""
    if state is JobState.RUNNING:
        state, reason = JobState.WAITING, INTERRUPTED
    return job.model_copy(update={"state": state, "reason": reason})


class _Texts:
    """Writes plans as YAML, each once: testbeds that are set alike share theirs."""

    def __init__(self) -> None:
        self._written: dict[int, str] = {}

    def of(self, plan: ResolvedPlan) -> str:
        """Returns the text of a plan of a job; the jobs keep the plans, and so their ids."""
        if id(plan) not in self._written:
            self._written[id(plan)] = plan.to_yaml()
        return self._written[id(plan)]


def _work(
    campaign: Campaign,
    queue: Queue,
    folder: Path,
    workers: Workers,
    note: Callable[[Event], None],
    texts: _Texts,
) -> None:
    """Keeps each testbed busy until no job is left for any."""
    under_way: dict[str, Job] = {}

    def begin(testbed: str) -> None:
        if testbed not in under_way and (job := queue.take(testbed)):
            under_way[testbed] = job
            own = job.folder(testbed)
            tester = campaign.testbeds[testbed].tester
            there = str(tester.ssh) if tester else ""
            note(JobStarted(run=job.run, place=job.place, testbed=testbed, folder=str(own), tester=there))
            workers.submit(testbed, _task(job, testbed, folder.absolute(), campaign.testbeds[testbed], texts))

    for testbed in campaign.testbeds:
        begin(testbed)
    while under_way:
        testbed, outcome = workers.next()
        job = under_way.pop(testbed)
        offered = queue.finish(job, testbed, outcome.ending, outcome.reason)
        given_up = [
            LoggedJob(run=each.run, place=each.place, state=state, reason=reason)
            for each, state, reason in queue.newly_given_up()
        ]
        note(
            JobEnded(
                run=job.run,
                place=job.place,
                testbed=testbed,
                folder=str(job.folder(testbed)),
                ending=outcome.ending,
                exit_code=outcome.exit_code,
                reason=outcome.reason,
                given_up=tuple(given_up),
            )
        )
        if testbed in queue.set_aside:
            note(TestbedSetAside(testbed=testbed, reason=outcome.reason))
        for each in dict.fromkeys([testbed, *offered]):
            begin(each)


def _task(job: Job, testbed: str, folder: Path, used: CampaignTestbed, texts: _Texts) -> Task:
    return Task(
        key=job.key,
        folder=folder / job.folder(testbed),
        plan=texts.of(job.plans[testbed]),
        prepare=job.prepare,
        tester=used.tester,
        place=used.place,
        holder=f"{folder.name}-{testbed}-{fingerprint(folder)}",
    )


def _check_plans(jobs: Sequence[Job], folder: Path, texts: _Texts) -> None:
    for job in jobs:
        for testbed, plan in job.plans.items():
            written = folder / job.folder(testbed) / PLAN_FILE
            try:
                before = written.read_text(encoding="utf-8")
            except OSError:
                continue
            if before != texts.of(plan):
                raise PlanError(
                    f"{written} is not the plan of {job.run} on {testbed} as the campaign has it now: take back the "
                    "change, or measure the campaign into another folder by --output"
                )
