# SPDX-License-Identifier: Apache-2.0
"""Reads from the folder of a campaign how far each job is, and what its runs have measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from natxy.campaign.attempt.task import is_complete
from natxy.campaign.jobs.queue import Ending, JobState
from natxy.campaign.log import (
    INTERRUPTED,
    CampaignEnded,
    CampaignStarted,
    JobEnded,
    JobStarted,
    LoggedJob,
    TestbedSetAside,
    read_log,
)
from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


@dataclass(frozen=True)
class JobResult:
    """Holds how far a job is. `folder`: that of its last run, within the campaign's; None if it never began."""

    run: str
    place: str
    state: JobState
    reason: str
    testbed: str | None
    folder: str | None
    record: RunRecord | None


@dataclass(frozen=True)
class CampaignResults:
    """Holds the jobs in the campaign's order, and the log."""

    name: str
    jobs: Sequence[JobResult]
    entries: Sequence[Event]

    @property
    def places(self) -> Sequence[str]:
        return [*dict.fromkeys(job.place for job in self.jobs)]

    @property
    def matrix(self) -> Mapping[str, Sequence[JobResult | None]]:
        """Returns the jobs of each run, in the order of the places; None where a run has no job."""
        found = {(job.run, job.place): job for job in self.jobs}
        return {run: [found.get((run, place)) for place in self.places] for run, _ in found}

    @property
    def left(self) -> Sequence[JobResult]:
        """Returns the jobs that are not done."""
        return [job for job in self.jobs if job.state is not JobState.DONE]

    @property
    def failures(self) -> Iterator[JobEnded]:
        """Returns the attempts that did not end with a result, the oldest first."""
        return (each for each in self.entries if isinstance(each, JobEnded) and each.ending is not Ending.DONE)

    @property
    def set_aside(self) -> Iterator[TestbedSetAside]:
        return (each for each in self.entries if isinstance(each, TestbedSetAside))


def read_campaign(folder: Path) -> CampaignResults:
    """Returns what the campaign in a folder has measured so far. Raises PlanError when there is none."""
    entries = read_log(folder)
    begun = next((each for each in reversed(entries) if isinstance(each, CampaignStarted)), None)
    if begun is None:
        raise PlanError(f"{folder} holds no campaign yet")
    last: dict[tuple[str, str], JobStarted | JobEnded] = {}
    left: dict[tuple[str, str], tuple[JobState, str]] = {}
    for entry in entries:
        match entry:
            case CampaignStarted():
                # A killed session has not told how its attempts ended.
                begun_before = [key for key, attempt in last.items() if isinstance(attempt, JobStarted)]
                left = dict.fromkeys(begun_before, (JobState.WAITING, INTERRUPTED))
            case JobStarted() | JobEnded():
                last[entry.run, entry.place] = entry
                left.pop((entry.run, entry.place), None)
                if isinstance(entry, JobEnded):
                    left |= _states(entry.given_up)
            case CampaignEnded():
                left = _states(entry.left)
    jobs = []
    for job in begun.jobs:
        attempt, state = last.get((job.run, job.place)), left.get((job.run, job.place))
        jobs.append(_result(folder, job.run, job.place, attempt, state))
    return CampaignResults(begun.name, jobs, entries)


def _states(jobs: Sequence[LoggedJob]) -> dict[tuple[str, str], tuple[JobState, str]]:
    return {(job.run, job.place): (job.state, job.reason) for job in jobs}


def _result(
    folder: Path, run: str, place: str, attempt: JobStarted | JobEnded | None, left: tuple[JobState, str] | None
) -> JobResult:
    if attempt is None:
        state, reason = left or (JobState.WAITING, "")
        return JobResult(run, place, state, reason, None, None, None)
    own = folder / attempt.folder
    if is_complete(own):
        state, reason = JobState.DONE, ""
    elif left:
        state, reason = left
    else:
        state = JobState.RUNNING if isinstance(attempt, JobStarted) else JobState.WAITING
        reason = attempt.reason if isinstance(attempt, JobEnded) else ""
    try:
        record = RunReader(own, trials=False).run
    except PlanError:
        record = None
    return JobResult(run, place, state, reason, attempt.testbed, attempt.folder, record)
