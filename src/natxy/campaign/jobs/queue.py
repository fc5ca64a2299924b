# SPDX-License-Identifier: Apache-2.0
"""Decides which job a free testbed carries out next, and what a failure means for job and testbed."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from natxy.campaign.jobs.jobs import Job

# Attempts of a job on one testbed.
_MOST_ATTEMPTS: Final = 3


class Ending(StrEnum):
    """The ways in which an attempt at a job ends. `refused` says nothing about the testbed."""

    DONE = "done"
    REFUSED = "refused"
    """natxy takes the plan for wrong, here or there."""
    FAILED = "failed"


class JobState(StrEnum):
    """The states of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass
class _Course:
    """Holds how far a job is."""

    job: Job
    order: tuple[int, int]
    state: JobState = JobState.WAITING
    reason: str = ""
    attempts: Counter[str] = field(default_factory=Counter)


class Queue:
    """Holds the jobs of a campaign and the testbeds that are still used.

    Jobs are taken by priority, then in the campaign's order. A job that failed is given to the equal testbed that has
    tried it least. A testbed is used no more after `max_failures` jobs that failed in a row. `done` has the keys of the
    jobs that an earlier session finished.
    """

    def __init__(
        self, jobs: Sequence[Job], testbeds: Sequence[str], max_failures: int, done: frozenset[str] = frozenset()
    ) -> None:
        self._max_failures = max_failures
        self._failed: dict[str, set[str]] = {testbed: set() for testbed in testbeds}
        self._courses = {job.key: _Course(job, (-job.priority, number)) for number, job in enumerate(jobs)}
        self._ready: dict[str, list[tuple[tuple[int, int], str]]] = {testbed: [] for testbed in testbeds}
        self._of_run: defaultdict[str, list[_Course]] = defaultdict(list)
        for course in self._courses.values():
            self._of_run[course.job.run].append(course)
        self._left = Counter(job.run for job in jobs)
        self._waiting: defaultdict[str, list[str]] = defaultdict(list)
        self._set_aside: dict[str, str] = {}
        self._given_up: list[str] = []
        for job in jobs:
            for run in job.after:
                self._waiting[run].append(job.key)
        for key in done & set(self._courses):
            self._end(self._courses[key], JobState.DONE, "")
        self._offer_all()

    @property
    def set_aside(self) -> dict[str, str]:
        """Returns the testbeds that are used no more, with their last failures."""
        return dict(self._set_aside)

    def states(self) -> dict[str, tuple[JobState, str]]:
        """Returns the state of each job and the reason for it, by key."""
        return {key: (course.state, course.reason) for key, course in self._courses.items()}

    def newly_given_up(self) -> Sequence[tuple[Job, JobState, str]]:
        """Returns the jobs that failed or were skipped since this was last asked, with their states and reasons."""
        found, self._given_up = [self._courses[key] for key in self._given_up], []
        return [(course.job, course.state, course.reason) for course in found]

    def take(self, testbed: str) -> Job | None:
        """Returns the job that a free testbed carries out now; None if there is none for it."""
        ready = self._ready[testbed]
        while ready and testbed not in self._set_aside:
            _, key = heapq.heappop(ready)
            course = self._courses[key]
            # It was offered to all testbeds that can take it.
            if course.state is JobState.WAITING and testbed in self._candidates(course):
                course.state = JobState.RUNNING
                course.attempts[testbed] += 1
                return course.job
        return None

    def finish(self, job: Job, testbed: str, ending: Ending, reason: str = "") -> list[str]:
        """Takes in how an attempt ended; returns the testbeds that a job now waits for."""
        course = self._courses[job.key]
        if ending is Ending.DONE:
            self._failed[testbed].clear()
        if ending is not Ending.FAILED:
            return self._end(course, JobState.DONE if ending is Ending.DONE else JobState.FAILED, reason)
        course.state, course.reason = JobState.WAITING, reason
        # One job that fails in every attempt says nothing about the testbed.
        self._failed[testbed].add(job.key)
        if len(self._failed[testbed]) >= self._max_failures:
            self._set_aside[testbed] = reason
            # Others may have waited for it too.
            return self._offer_all()
        return self._offer(course) or self._end(course, JobState.FAILED, reason)

    def _candidates(self, course: _Course) -> list[str]:
        """Returns the testbeds that may try a job next: those in use that have tried it least."""
        usable = [testbed for testbed in course.job.testbeds if testbed not in self._set_aside]
        least = min((course.attempts[testbed] for testbed in usable), default=_MOST_ATTEMPTS)
        # The one that it is meant for comes first, and equals only after a failure.
        if not any(course.attempts.values()) and course.job.place in usable:
            return [course.job.place]
        return [testbed for testbed in usable if course.attempts[testbed] == least < _MOST_ATTEMPTS]

    def _offer(self, course: _Course) -> list[str]:
        found = self._candidates(course)
        for testbed in found:
            heapq.heappush(self._ready[testbed], (course.order, course.job.key))
        return found

    def _may_begin(self, course: _Course) -> bool:
        return not any(self._left[run] for run in course.job.after)

    def _end(self, course: _Course, state: JobState, reason: str) -> list[str]:
        """Ends a job, and begins or skips those that waited for the last one of its run."""
        course.state, course.reason = state, reason
        if state is not JobState.DONE:
            self._given_up.append(course.job.key)
        self._left[course.job.run] -= 1
        offered: list[str] = []
        if self._left[course.job.run]:
            return offered
        for other in (self._courses[key] for key in self._waiting[course.job.run]):
            if other.state is JobState.WAITING and self._may_begin(other):
                if failed := self._failed_before(other):
                    offered += self._end(other, JobState.SKIPPED, f"{failed} was not measured")
                else:
                    offered += self._offer(other) or self._end_unusable(other)
        return offered

    def _failed_before(self, course: _Course) -> str:
        before = (each for run in sorted(course.job.after) for each in self._of_run[run])
        return next((each.job.key for each in before if each.state is not JobState.DONE), "")

    def _offer_all(self) -> list[str]:
        """Offers each job that may begin to those testbeds that can take it, and ends it if there are none."""
        offered: list[str] = []
        for course in self._courses.values():
            if course.state is JobState.WAITING and self._may_begin(course):
                offered += self._offer(course) or self._end_unusable(course)
        return offered

    def _end_unusable(self, course: _Course) -> list[str]:
        last = next((testbed for testbed in course.job.testbeds if testbed in self._set_aside), "")
        reason = course.reason or f"{last} is set aside: {self._set_aside.get(last, '')}"
        return self._end(course, JobState.FAILED, reason)
