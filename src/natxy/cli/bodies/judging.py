# SPDX-License-Identifier: Apache-2.0
"""Judges a run by what its plan, or a limit on the command line, expects, and prints and writes the answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import rich.console

from natxy.cli.output.file import output_file
from natxy.errors import PlanError, ThresholdMissedError
from natxy.export.rows import Row
from natxy.plan.model.thresholds import parse_percent
from natxy.plan.yaml.loading import load_plan
from natxy.report.tables.table import Table
from natxy.report.text.terminal import threshold_parts
from natxy.report.text.thresholds import document, junit, markdown
from natxy.results.analysis.thresholds import Answer, Judged, Limit, judge_plan, overall, thresholds_of
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord


def judge_run(run: RunRecord, plan: Path | None = None) -> list[Judged]:
    """Returns the answers to what the run's plan, or `plan`, expects.

    Raises PlanError if an earlier run that is named there cannot be read, or if the run lacks an experiment of which
    `plan` expects something.
    """
    expected = thresholds_of(run)
    if plan:
        expected = {each.name: each.expect for each in load_plan(plan).experiments if each.expect}
    if absent := expected.keys() - {experiment.name for experiment in run.experiments}:
        raise PlanError(
            f"{plan}: `expect` of {', '.join(sorted(absent))} cannot be judged, because the run has no experiment of "
            "that name: measure it, or remove its `expect`"
        )
    return judge_plan(run, expected, lambda named: RunReader(Path(named)).run)


def print_answers(judged: Sequence[Judged], console: rich.console.Console) -> None:
    for part in threshold_parts(judged):
        console.print(part)


def parse_limit(given: str) -> Limit:
    """Reads `5%`, `EXPERIMENT=5%` or `EXPERIMENT:FIGURE=5%`. Raises PlanError for anything else."""
    where, _, percent = given.rpartition("=")
    experiment, colon, figure = where.rpartition(":")
    if not colon:
        experiment, figure = where, ""
    try:
        return Limit(parse_percent(percent).value, experiment or "*", figure)
    except ValueError as error:
        forms = "its forms are 5%, EXPERIMENT=5% and EXPERIMENT:FIGURE=5%"
        raise PlanError(f"--fail-below {given}: {forms}; {error}") from error


def gate_code(judged: Sequence[Judged], undecided: int = 0) -> int:
    """Returns the exit code of the answers; `undecided` is the code if none is missed and one is not certain."""
    match overall(judged):
        case Answer.MISSED:
            return ThresholdMissedError.exit_code
        case Answer.UNDECIDED:
            return undecided
        case Answer.MET:
            return 0


@dataclass(frozen=True)
class GateFiles:
    """Holds the files that the answers are written to."""

    junit: Path | None = None
    markdown: Path | None = None
    json: Path | None = None

    def write(
        self, name: str, judged: Sequence[Judged], tables: Iterable[Table] = (), rows: Iterable[Row] = ()
    ) -> None:
        """Writes the files. Raises PlanError if one cannot be written."""
        if self.junit:
            _write(self.junit, junit(name, judged))
        if self.markdown:
            # GitHub gives all steps of a job one file, which each of them adds to.
            _write(self.markdown, markdown(judged, tables), append=True)
        if self.json:
            _write(self.json, document(judged, rows))


def _write(file: Path, text: str, *, append: bool = False) -> None:
    with output_file(file, append=append) as out:
        out.write(text.encode())
