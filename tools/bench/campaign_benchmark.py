# SPDX-License-Identifier: Apache-2.0
"""Measures what a campaign spends on a job beside measuring it: simulated testbeds, whose jobs take no time.

`python -m tools.bench.campaign_benchmark` writes a row for each number of testbeds into docs/how-to/campaign.md, or
prints the rows with `--print`; every testbed has 20 jobs. All of `natxy campaign` counts that is done for each job: to
load the campaign and its plans, to list and estimate the jobs, to hand them out, and to log them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from natxy.campaign.attempt.task import Outcome, Task
from natxy.campaign.campaign import carry_out_campaign
from natxy.campaign.cluster import workers
from natxy.campaign.jobs.jobs import jobs_of
from natxy.campaign.jobs.loading import load_campaign
from natxy.campaign.jobs.queue import Ending, JobState
from natxy.cli.bodies.campaign import described_campaign
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/how-to/campaign.md")
PLANS: Final = 20
TESTBEDS: Final = (10, 100, 300, 1000)
_PLAN: Final = """
name: p
repeat: 20
defaults: {gateway: simulated, procedure: throughput, search: {min_rate: 10k, max_rate: 800k, error: 2%}}
experiments:
  - {name: forwarding}
  - {name: large-frames, frame_size: 512}
  - {name: nat, connections: 50k, phase1_rate: 10k}
  - {name: delays, procedure: latency, rate: {experiment: forwarding, percent: 50}}
"""


def at_once(task: Task, wanted: Callable[[], bool]) -> Outcome:
    """Takes a job for measured."""
    del task, wanted
    return Outcome(Ending.DONE, 0)


def write_campaign(folder: Path, testbeds: int) -> Path:
    """Writes a campaign of 20 plans, each measured on all testbeds; returns its file."""
    (folder / "p.yaml").write_text(_PLAN)
    names = [f"t{number}" for number in range(testbeds)]
    lines = ["name: bench", "testbeds:", *(f"  {name}: {{testbed: {{kind: simulated}}}}" for name in names), "runs:"]
    lines += [f"  - {{name: r{number}, plan: p.yaml, on: [{', '.join(names)}]}}" for number in range(PLANS)]
    file = folder / "campaign.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def measure(testbeds: int, folder: Path) -> tuple[float, float, float]:
    """Returns the milliseconds of a job, those of the processor among them, and the seconds before the first job."""
    file = write_campaign(folder, testbeds)
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    campaign = load_campaign(file)
    jobs = jobs_of(campaign, file)
    lines = [*described_campaign(campaign, jobs, frozenset(), apart=False)]
    assert len(lines) > len(jobs) == testbeds * PLANS
    used = partial(workers, [*campaign.testbeds], at_once)
    first_s: list[float] = []

    def tell(entry: object) -> None:
        if len(first_s) < 2:
            # The first entry is that of the campaign.
            first_s.append(time.monotonic() - began_s)

    states = carry_out_campaign(campaign, jobs, folder / "out", used, tell)
    assert {state for state, _ in states.values()} == {JobState.DONE}
    both = time.monotonic() - began_s, time.process_time() - began_cpu_s
    all_ms, cpu_ms = (1000 * spent_s / len(jobs) for spent_s in both)
    return all_ms, cpu_ms, first_s[1]


def rows(counts: Sequence[int]) -> Iterator[str]:
    yield "| testbeds | jobs | until the first begins, s | a job, ms | of these the processor, ms |"
    yield "|---:|---:|---:|---:|---:|"
    for count in counts:
        with TemporaryDirectory() as folder:
            all_ms, cpu_ms, first_s = measure(count, Path(folder))
        yield f"| {count:,} | {count * PLANS:,} | {first_s:.1f} | {all_ms:.1f} | {cpu_ms:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--testbeds", type=int, nargs="+", default=TESTBEDS)
    parser.add_argument("--print", action="store_true", dest="only_print")
    asked = parser.parse_args()
    if asked.only_print:
        for row in rows(asked.testbeds):
            print(row, flush=True)
    else:
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "campaign", rows(asked.testbeds)), encoding="utf-8")


if __name__ == "__main__":
    main()
