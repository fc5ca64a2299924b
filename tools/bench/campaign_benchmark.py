# SPDX-License-Identifier: Apache-2.0
"""Measures what a campaign spends on a job beside measuring it: simulated testbeds, whose jobs take no time.

`python -m tools.bench.campaign_benchmark` prints a row for each number of testbeds; every testbed has 20 jobs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from natxy.campaign.campaign import carry_out_campaign
from natxy.campaign.cluster import workers
from natxy.campaign.jobs import Job
from natxy.campaign.model import Campaign
from natxy.campaign.queue import Ending, JobState
from natxy.campaign.task import Outcome, Task
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

PLANS: Final = 20
TESTBEDS: Final = (10, 100, 1000)
_SIMULATED: Final = {"kind": "simulated"}
_PLAN: Final = {
    "name": "p",
    "testbed": _SIMULATED,
    "experiments": [
        {
            "name": "a",
            "gateway": "simulated",
            "procedure": "throughput",
            "search": {"min_rate": "1k", "max_rate": "9k", "error": "1k"},
        }
    ],
}


def at_once(task: Task, wanted: Callable[[], bool]) -> Outcome:
    """Takes a job for measured."""
    del task, wanted
    return Outcome(Ending.DONE, 0)


def measure(testbeds: int, folder: Path) -> tuple[float, float]:
    """Returns the seconds to begin and end the workers, and those for all jobs."""
    names = [f"t{number}" for number in range(testbeds)]
    runs = [f"r{number}" for number in range(PLANS)]
    campaign = Campaign.model_validate(
        {
            "name": "bench",
            "testbeds": {name: {"testbed": _SIMULATED} for name in names},
            "runs": [{"name": run, "plan": "p.yaml", "on": names} for run in runs],
        }
    )
    plan = resolve(Plan.model_validate(_PLAN))
    jobs = [Job(run=run, place=name, plans={name: plan}) for run in runs for name in names]
    began_s = time.monotonic()
    with workers(names, at_once):
        pass
    workers_s = time.monotonic() - began_s
    began_s = time.monotonic()
    states = carry_out_campaign(campaign, jobs, folder, partial(workers, names, at_once), lambda _: None)
    all_s = time.monotonic() - began_s
    assert {state for state, _ in states.values()} == {JobState.DONE}
    return workers_s, all_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--testbeds", type=int, nargs="+", default=TESTBEDS)
    print("testbeds   jobs   workers, s   all, s   a job, ms")
    for count in parser.parse_args().testbeds:
        with TemporaryDirectory() as folder:
            workers_s, all_s = measure(count, Path(folder) / "campaign")
        jobs = count * PLANS
        print(f"{count:8} {jobs:6} {workers_s:12.1f} {all_s:8.1f} {1000 * all_s / jobs:11.1f}", flush=True)


if __name__ == "__main__":
    main()
