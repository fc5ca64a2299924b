# SPDX-License-Identifier: Apache-2.0
"""Tells what a campaign consists of and how far it is, and cleans up after it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from natxy.campaign.attempt.place import missing_client
from natxy.campaign.campaign import Workers
from natxy.campaign.certificates import AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE
from natxy.campaign.jobs.duration import duration_s, machines_of, shared
from natxy.campaign.jobs.jobs import Job
from natxy.campaign.jobs.model import Campaign
from natxy.campaign.jobs.queue import JobState
from natxy.campaign.telling import told
from natxy.cleanup.leftovers import described, give_back
from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.plan.model.units import counted, enumerated, format_duration
from natxy.terminal.console import LastingConsole
from natxy.terminal.errors import warn
from natxy.untrusted.files import opened_own


@contextmanager
def cleaned_up(workers: AbstractContextManager[Workers]) -> Iterator[Workers]:
    """Yields the workers; when they have ended, gives back what killed runs and campaigns left on this machine."""
    try:
        with workers as used:
            yield used
    finally:
        for returned in give_back(lambda entry: entry.place.ssh is None):
            if returned.problem:
                warn(f"{described(returned.entry)} could not be undone: {returned.problem}")


def described_campaign(campaign: Campaign, jobs: Sequence[Job], done: frozenset[str], *, apart: bool) -> Iterator[str]:
    """Yields the lines of `--check`; `done`: keys of the jobs that are; `apart`: each testbed's worker is a machine of
    its own."""
    yield f"{campaign.name}: {campaign.description}" if campaign.description else campaign.name
    runs, testbeds = Counter(job.run for job in jobs), campaign.testbeds
    yield f"{counted(len(jobs), 'job')}: {counted(len(runs), 'run')} on {counted(len(testbeds), 'testbed')}"
    for job in jobs:
        (first, *others), plan = job.testbeds, next(iter(job.plans.values()))
        on = " or ".join([first, *others]) if job.place not in testbeds else job.place
        after = f", after {', '.join(sorted(job.after))}" if job.after else ""
        about = "done before" if job.key in done else f"{_about(job.estimate_s)}{after}"
        yield f"- {job.key}: {counted(len(plan.experiments), 'experiment')} on {on}, {about}"
    left = [job for job in jobs if job.key not in done]
    if not left:
        yield "All jobs were done before."
        return
    testers = {name: name for name in testbeds} if apart else machines_of(campaign)
    for users, names in shared(left, testers).items():
        yield f"{enumerated(users)} measure one after the other, because they share {enumerated(names)}."
    one_s, together_s = sum(job.estimate_s for job in left), duration_s(jobs, testers, done)
    yield f"{_about(together_s)} on {counted(len(testbeds), 'testbed')}; {_about(one_s)} one after the other."


def check_places(campaign: Campaign) -> None:
    """Raises PlanError when testbeds have places that this machine cannot hold."""
    having = [name for name, testbed in campaign.testbeds.items() if testbed.place]
    if having and (missing := missing_client()):
        raise PlanError(f"{enumerated(having)}: {missing}")


def check_scheduler(address: str, certificates: Path | None, *, trust_network: bool) -> None:
    """Raises PlanError for a scheduler that takes commands from others than this campaign, unless root trusts it."""
    if address.startswith("tls://"):
        if certificates is None:
            raise PlanError(f"--scheduler {address}: give the folder of `--make-certificates` by --certificates")
        try:
            for name in (AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE):
                opened_own(certificates / name, others_may=0).close()
        except OSError as error:
            raise PlanError(f"--certificates {certificates}: {error.filename}: {error.strerror}") from error
    elif certificates is not None:
        raise PlanError(f"--scheduler {address}: --certificates are for an address that begins with tls://")
    elif os.geteuid() == 0 and not trust_network:
        raise PlanError(
            f"--scheduler {address}: everyone who reaches it, and each user of its machine, could have commands run as "
            "root by its workers, and here. Use tls:// with --certificates, or say --trust-network"
        )


def _about(seconds: float) -> str:
    return f"about {format_duration(float(f'{seconds:.2g}'))}"


def tell(console: LastingConsole, entry: Event) -> None:
    if text := told(entry):
        console.say(text)


def end(states: Mapping[str, tuple[JobState, str]], console: LastingConsole) -> bool:
    """Prints what is left; returns True if nothing is."""
    left = {key: (state, reason) for key, (state, reason) in states.items() if state is not JobState.DONE}
    for key, (state, reason) in left.items():
        console.say(f"{key}: {state}: {reason}")
    console.say(f"{len(states) - len(left)} of {counted(len(states), 'job')} measured")
    return not left
