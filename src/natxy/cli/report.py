# SPDX-License-Identifier: Apache-2.0
"""`natxy report`: prints the results of a run and writes its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.campaign import LOG_FILE
from natxy.cli.completion import runs_and_campaigns
from natxy.cli.output.printed import PrintedFormat, printed
from natxy.errors import PlanError
from natxy.report.charts.chart_format import ChartFormat
from natxy.results.analysis.better import Better
from natxy.terminal.console import Console, echo
from natxy.terminal.errors import reported_errors


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run or a campaign.",
            autocompletion=runs_and_campaigns,
            show_default=False,
        ),
    ],
    form: Annotated[
        PrintedFormat | None,
        typer.Option("--format", help="Print only the results, in this format.", show_default=False),
    ] = None,
    charts: Annotated[
        ChartFormat | None,
        typer.Option(help="Write only the charts, in this format; json is Vega-Lite.", show_default=False),
    ] = None,
    benchmark: Annotated[
        Better | None,
        typer.Option(help="Print only the list that benchmark actions of a CI read, as JSON.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder for the charts; default: `charts` in the run's folder.", show_default=False
        ),
    ] = None,
) -> None:
    """Print a run's results and write its report.html.

    The run may have been interrupted, or still be in progress. For a campaign, only the report is written.

    With --format, print the tables of RFC 9693 §6 for a paper (markdown, latex) or a spreadsheet (csv-tables), or one
    row per figure for other programs (csv), and write no files. With --charts, write only the charts, one file each.
    """
    from natxy.cli.bodies.judging import print_answers
    from natxy.cli.bodies.report import save_charts, show
    from natxy.export.benchmark_list import benchmark_list
    from natxy.export.rows import figure_rows
    from natxy.report.page.campaign import write_campaign_report
    from natxy.report.tables.gateways import gateways_table
    from natxy.report.tables.results import rfc_form
    from natxy.results.analysis.thresholds import judge_plan, thresholds_of
    from natxy.results.reader import RunReader, run_if_any

    with reported_errors():
        if sum(map(bool, (form, charts, benchmark))) > 1:
            raise PlanError("expected --format, --charts or --benchmark, and not two of them")
        if output and not charts:
            raise PlanError("--output is for --charts only; a report is written into its run's folder")
        is_campaign = (folder / LOG_FILE).is_file()
        if is_campaign and (form or charts or benchmark):
            raise PlanError(
                f"{folder} is a campaign, of which only the report is written: give the folder of one of its runs, "
                f"such as {folder}/runs/RUN/TESTBED, or write all their trials by `natxy export {folder} --format csv`"
            )
        if form:
            run = RunReader(folder).run
            compared = gateways_table(run)
            tables = [*([compared] if compared else []), *rfc_form(run)]
            echo(printed(form, tables, figure_rows(run)))
        elif benchmark:
            echo(benchmark_list(RunReader(folder).run, benchmark))
        elif charts:
            save_charts(RunReader(folder), charts, output)
        elif is_campaign:
            Console().print(f"Report: {write_campaign_report(folder)}", soft_wrap=True)
        else:
            console = Console()
            run = show(folder, console)
            print_answers(judge_plan(run, thresholds_of(run), run_if_any), console)
