# SPDX-License-Identifier: Apache-2.0
"""`natxy compare`: compares the results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.options import JsonOption, JUnitOption, MarkdownOption, UndecidedOption
from natxy.cli.output.printed import PrintedFormat, printed
from natxy.errors import PlanError
from natxy.terminal.console import Console, echo
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import runs


def compare_runs(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="The folders of two or more runs.", autocompletion=runs, show_default=False),
    ],
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="The run that the others are compared with.", autocompletion=runs, show_default=False
        ),
    ] = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[EXPERIMENT[:FIGURE]=]PERCENT",
            help="Exit with code 6 if a figure is worse by more than this; may be repeated.",
            show_default=False,
        ),
    ] = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    json: JsonOption = None,
    undecided: UndecidedOption = 0,
    form: Annotated[
        PrintedFormat | None,
        typer.Option("--format", help="Print only the comparison, in this format.", show_default=False),
    ] = None,
) -> None:
    """Compare runs with each other, each with the first.

    Experiments are matched by name, procedure and cell. The difference of the medians is given with
    its 95 % confidence interval, in percent of the first run. A run differs from the first if that interval excludes 0.
    A single repetition has no interval. Results of different traffic, such as other frame sizes, are not compared.

    With --fail-below 5%, the headline of each experiment may be at most 5 % worse than in the first run: a rate lower,
    a delay higher. The answer is undecided if the interval contains that threshold. EXPERIMENT=5% sets the threshold of
    one experiment, EXPERIMENT:FIGURE=5% that of one figure, such as baseline_ratio, its share of the baseline. Both
    names may have the wildcards * and ?. If several options match a figure, the last one counts.

    Exit code 6 if a threshold is missed.
    """
    from natxy.cli.bodies.judging import GateFiles, gate_code, parse_limit, print_answers
    from natxy.export.rows import comparison_rows
    from natxy.report.tables import comparison
    from natxy.report.tables.table import to_rich
    from natxy.report.words import disturbances
    from natxy.results.analysis.compare import RULE, compare
    from natxy.results.analysis.thresholds import judge_change, names_nothing
    from natxy.results.reader import RunReader

    with reported_errors():
        limits = [parse_limit(given) for given in fail_below or ()]
        folders = [*([baseline] if baseline else []), *folders]
        if len(folders) < 2:
            raise PlanError("expected at least two runs to compare")
        runs = [RunReader(folder).run for folder in folders]
        compared = compare(runs)
        if not compared.figures:
            raise PlanError("the runs have no experiment in common, with the same name, procedure and cell")
        tables = comparison.figures(compared)
        differing = comparison.settings(compared, len(runs))
        if differing.rows:
            tables.append(differing)
        for given, limit in zip(fail_below or (), limits, strict=True):
            if not_found := names_nothing(limit, runs):
                raise PlanError(f"--fail-below {given}: {not_found}")
        judged = [each for run in runs[1:] for each in judge_change(runs[0], str(folders[0]), run, limits)]
        GateFiles(junit, markdown, json).write(runs[-1].name, judged, tables, comparison_rows(compared))
        code = gate_code(judged, undecided)
        if form is not None:
            if compared.unmatched or compared.unmatched_shares:
                tables.append(comparison.unmatched_table(compared))
            echo(printed(form, tables, comparison_rows(compared)))
            raise typer.Exit(code)
        console = Console()
        for number, (folder, run) in enumerate(zip(folders, runs, strict=True), 1):
            console.say(f"Run {number}: {folder}, {run.name} of {run.started_at}")
            if doubt := disturbances.busy(run):
                console.say(f"  {doubt} What disturbed all its repetitions alike is not in its intervals.")
        for table in tables:
            console.print(to_rich(table))
        for line in comparison.unmatched(compared):
            console.say(f"{comparison.NOT_IN_EVERY_RUN}: {line}")
        console.say(RULE)
        print_answers(judged, console)
        raise typer.Exit(code)
