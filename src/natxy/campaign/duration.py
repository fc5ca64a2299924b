# SPDX-License-Identifier: Apache-2.0
"""Estimates how long a campaign takes on its testbeds."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from natxy.campaign.jobs import Job
from natxy.campaign.queue import Ending, Queue


def duration_s(jobs: Sequence[Job]) -> float:
    """Returns about the seconds until all jobs are measured, if none fails, by going through the campaign's queue."""
    testbeds = [*dict.fromkeys(testbed for job in jobs for testbed in job.testbeds)]
    queue = Queue(jobs, testbeds, max_failures=1)
    under_way: list[tuple[float, int, str, Job]] = []
    busy: set[str] = set()
    now_s = 0.0

    def begin(testbed: str) -> None:
        if testbed not in busy and (job := queue.take(testbed)):
            busy.add(testbed)
            heapq.heappush(under_way, (now_s + job.estimate_s, len(under_way), testbed, job))

    for testbed in testbeds:
        begin(testbed)
    while under_way:
        now_s, _, testbed, job = heapq.heappop(under_way)
        busy.discard(testbed)
        for each in [testbed, *queue.finish(job, testbed, Ending.DONE)]:
            begin(each)
    return now_s
