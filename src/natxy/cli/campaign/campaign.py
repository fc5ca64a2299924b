# SPDX-License-Identifier: Apache-2.0
"""`natxy campaign`: measures many plans on many testbeds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from natxy.errors import DutError, PlanError
from natxy.installation import ExtraMissingError
from natxy.system.interrupts import one_interrupt
from natxy.terminal.console import LastingConsole
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import plans


def campaign(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="CAMPAIGN", help="The campaign, a YAML file.", autocompletion=plans, show_default=False),
    ] = None,
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
            help="Have the workers of this scheduler of Dask measure, e.g. tls://lab:8786; default: this process.",
            show_default=False,
        ),
    ] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The certificates for a scheduler at tls://…", show_default=False),
    ] = None,
    trust_network: Annotated[
        bool,
        typer.Option("--trust-network", help="As root, use a scheduler that takes commands from everyone."),
    ] = False,
    certificates_to_make: Annotated[
        Path | None,
        typer.Option(
            "--make-certificates", metavar="FOLDER", help="Make certificates, and measure nothing.", show_default=False
        ),
    ] = None,
) -> None:
    """Measure many plans on many testbeds.

    Each plan on each testbed is a run of its own. To continue a campaign that ended early, even by a kill, give the
    same command again: it keeps finished runs and resumes the others.

    \b
    Exit codes:
      0    every run has been measured
      2    the campaign or one of its plans has an error
      4    runs are left that could not be measured
      130  interrupted; the same command continues
    """
    from natxy.campaign.attempt.carrying import carry_out
    from natxy.campaign.campaign import CAMPAIGNS, carry_out_campaign, done_before
    from natxy.campaign.certificates import make_certificates
    from natxy.campaign.jobs.jobs import jobs_of
    from natxy.campaign.jobs.loading import load_campaign
    from natxy.cli.bodies.campaign import check_places, check_scheduler, cleaned_up, described_campaign, end, tell
    from natxy.report.page.campaign import write_campaign_report

    console = LastingConsole()
    with reported_errors(), one_interrupt():
        if certificates_to_make:
            make_certificates(certificates_to_make)
            return
        if file is None:
            raise PlanError("a campaign is missing: `natxy campaign CAMPAIGN`")
        if scheduler:
            check_scheduler(scheduler, certificates, trust_network=trust_network)
        found = load_campaign(file)
        jobs = jobs_of(found, file)
        folder = output or CAMPAIGNS / found.name
        done = done_before(jobs, folder)
        console.say("\n".join(described_campaign(found, jobs, done, apart=scheduler is not None)))
        if scheduler is None:
            check_places(found)
        if only_check:
            return
        try:
            # An installation has it only as an extra.
            from natxy.campaign.cluster import workers
        except ModuleNotFoundError as error:
            raise ExtraMissingError("`natxy campaign`", "campaign") from error
        states = carry_out_campaign(
            found,
            jobs,
            folder,
            lambda: cleaned_up(workers([*found.testbeds], carry_out, scheduler, certificates)),
            partial(tell, console),
        )
        page = write_campaign_report(folder)
        console.print(f"Report: {page}", soft_wrap=True)
        if not end(states, console):
            raise typer.Exit(DutError.exit_code)
