# SPDX-License-Identifier: Apache-2.0
"""`natxy campaign`: measures many plans on many testbeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from natxy.campaign.campaign import CAMPAIGNS, Workers, carry_out_campaign
from natxy.campaign.carrying import carry_out
from natxy.campaign.duration import duration_s
from natxy.campaign.jobs import Job, jobs_of
from natxy.campaign.loading import load_campaign
from natxy.campaign.model import Campaign
from natxy.campaign.queue import JobState
from natxy.campaign.telling import told
from natxy.cleanup.leftovers import described, give_back
from natxy.cli.console import LastingConsole
from natxy.cli.errors import reported_errors, warn
from natxy.errors import DutError
from natxy.events.base import Event
from natxy.installation import ExtraMissingError
from natxy.plan.model.units import counted, format_duration
from natxy.report.page.campaign import write_campaign_report
from natxy.system.interrupts import one_interrupt


def campaign(
    file: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign, a YAML file.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for the runs; default: campaigns/NAME.", show_default=False),
    ] = None,
    only_check: Annotated[
        bool, typer.Option("--check", help="Print what would be measured and how long it takes, and measure nothing.")
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Have the workers of this scheduler of Dask measure, e.g. tcp://lab:8786; default: this process.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure many plans on many testbeds, each as a run of its own.

    The same command goes on where an earlier one ended, however it ended: finished runs stay, and others are resumed.

    \b
    Exit codes:
      0    every run has been measured
      2    the campaign or one of its plans has an error
      4    runs are left that could not be measured
      130  interrupted; the same command goes on
    """
    console = LastingConsole()
    with reported_errors(), one_interrupt():
        found = load_campaign(file)
        jobs = jobs_of(found, file)
        console.say("\n".join(_described(found, jobs)))
        if only_check:
            return
        try:
            # An installation has it only as an extra.
            from natxy.campaign.cluster import workers
        except ModuleNotFoundError as error:
            raise ExtraMissingError("`natxy campaign`", "campaign") from error
        folder = output or CAMPAIGNS / found.name
        states = carry_out_campaign(
            found,
            jobs,
            folder,
            lambda: _cleaned_up(workers([*found.testbeds], carry_out, scheduler)),
            partial(_tell, console),
        )
        page = write_campaign_report(folder)
        console.print(f"Report: {page}", soft_wrap=True)
        if not _end(states, console):
            raise typer.Exit(DutError.exit_code)


@contextmanager
def _cleaned_up(workers: AbstractContextManager[Workers]) -> Iterator[Workers]:
    """Yields the workers; when they have ended, gives back what killed runs and campaigns left on this machine."""
    try:
        with workers as used:
            yield used
    finally:
        for returned in give_back(lambda entry: entry.place.ssh is None):
            if returned.problem:
                warn(f"{described(returned.entry)} could not be given back: {returned.problem}")


def _described(campaign: Campaign, jobs: Sequence[Job]) -> Iterator[str]:
    yield f"{campaign.name}: {campaign.description}" if campaign.description else campaign.name
    runs, testbeds = Counter(job.run for job in jobs), campaign.testbeds
    yield f"{counted(len(jobs), 'job')}: {counted(len(runs), 'run')} on {counted(len(testbeds), 'testbed')}"
    for job in jobs:
        (first, *others), plan = job.testbeds, next(iter(job.plans.values()))
        on = " or ".join([first, *others]) if job.place not in testbeds else job.place
        after = f", after {', '.join(sorted(job.after))}" if job.after else ""
        yield f"- {job.key}: {counted(len(plan.experiments), 'experiment')} on {on}, {_about(job.estimate_s)}{after}"
    one_s = sum(job.estimate_s for job in jobs)
    yield f"{_about(duration_s(jobs))} on {counted(len(testbeds), 'testbed')}; {_about(one_s)} one after the other."


def _about(seconds: float) -> str:
    return f"about {format_duration(float(f'{seconds:.2g}'))}"


def _tell(console: LastingConsole, entry: Event) -> None:
    if text := told(entry):
        console.say(text)


def _end(states: Mapping[str, tuple[JobState, str]], console: LastingConsole) -> bool:
    """Prints what is left; returns True if nothing is."""
    left = {key: (state, reason) for key, (state, reason) in states.items() if state is not JobState.DONE}
    for key, (state, reason) in left.items():
        console.say(f"{key}: {state}: {reason}")
    console.say(f"{len(states) - len(left)} of {counted(len(states), 'job')} measured")
    return not left
