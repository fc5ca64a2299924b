# SPDX-License-Identifier: Apache-2.0
"""Estimates how long a campaign takes on its testbeds, and says which of them have to measure one after the other."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from natxy.campaign.jobs.jobs import Job
from natxy.campaign.jobs.model import Campaign
from natxy.campaign.jobs.queue import Ending, Queue
from natxy.locks.session import claims
from natxy.run.cores import most_cores

# Claims of these belong to one run wherever its tester is; others are of the tester's machine.
_EVERYWHERE: Final = ("gateway ", "host ", "tester ")
# The cores that a run takes by itself are the first ones, and those that a testbed names exist on its tester.
_CORES: Final = range(1024)


class _Claim(NamedTuple):
    """Names what only one run may use at a time; `machine`: the one it belongs to, empty for this one or for none."""

    machine: str
    name: str


def machines_of(campaign: Campaign) -> dict[str, str]:
    """Returns the machine of each testbed's tester, as far as that tells two of them apart."""
    targets = {name: testbed.tester and testbed.tester.ssh for name, testbed in campaign.testbeds.items()}
    return {name: f"{target.host}:{target.port} {target.config}" if target else "" for name, target in targets.items()}


def duration_s(jobs: Sequence[Job], testers: Mapping[str, str], done: frozenset[str] = frozenset()) -> float:
    """Returns about the seconds until all jobs are measured, if none fails, by going through the campaign's queue.

    `testers`: the machine of each testbed's tester; `done`: keys of jobs that need no time. Testbeds that claim the
    same cores, ports or gateway measure one after the other.
    """
    queue = Queue(jobs, [*testers], max_failures=1, done=done)
    under_way: list[tuple[float, int, str, Job]] = []
    waiting: list[tuple[str, Job, frozenset[_Claim]]] = []
    held: dict[str, frozenset[_Claim]] = {}
    used: set[_Claim] = set()
    now_s, count = 0.0, 0
    busy: set[str] = set()
    offered = [*testers]
    while True:
        for testbed in offered:
            if testbed not in busy and (job := queue.take(testbed)):
                busy.add(testbed)
                waiting.append((testbed, job, _claims(job, testbed, testers[testbed])))
        for each in [*waiting]:
            testbed, job, claimed = each
            if used.isdisjoint(claimed):
                waiting.remove(each)
                held[testbed] = claimed
                used |= claimed
                count += 1
                heapq.heappush(under_way, (now_s + job.estimate_s, count, testbed, job))
        if not under_way:
            return now_s
        now_s, _, testbed, job = heapq.heappop(under_way)
        busy.discard(testbed)
        used -= held.pop(testbed)
        offered = [testbed, *queue.finish(job, testbed, Ending.DONE)]


def shared(jobs: Sequence[Job], testers: Mapping[str, str]) -> dict[tuple[str, ...], list[str]]:
    """Returns the cores, ports and gateways that several testbeds use, by these testbeds."""
    users: defaultdict[_Claim, dict[str, None]] = defaultdict(dict)
    for job in jobs:
        for testbed in job.plans:
            for claim in _claims(job, testbed, testers[testbed]):
                users[claim][testbed] = None
    found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    # By length first, so that core 2 comes before core 10.
    for claim in sorted(users, key=lambda claim: (len(claim.name), claim)):
        if len(users[claim]) > 1:
            found[tuple(sorted(users[claim], key=[*testers].index))].append(claim.name)
    return dict(found)


def _claims(job: Job, testbed: str, tester: str) -> frozenset[_Claim]:
    plan = job.plans[testbed]
    found = claims(plan, most_cores(plan), _CORES)
    return frozenset(_Claim("" if name.startswith(_EVERYWHERE) else tester, name) for name in found)
