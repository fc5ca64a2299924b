# SPDX-License-Identifier: Apache-2.0
"""The options of verbs that judge thresholds, the files that they write, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from natxy.errors import PlanError, ThresholdMissedError
from natxy.plan.model.expect import parse_percent
from natxy.report.tables.table import Table
from natxy.report.text.gate import document, junit, markdown
from natxy.results.analysis.gate import Answer, Judged, Limit, overall
from natxy.results.rows import Row

JUnitOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the thresholds as JUnit XML.", show_default=False)
]
MarkdownOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Add a summary in Markdown to this file.", show_default=False)
]
JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the answers as JSON.", show_default=False)
]
UndecidedOption = Annotated[
    int,
    typer.Option(
        min=0, max=255, metavar="CODE", help="Exit code if a threshold is undecided and none is missed.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class GateFiles:
    """The files that the answers are written to."""

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
            _write(self.markdown, markdown(judged, tables), mode="a")
        if self.json:
            _write(self.json, document(judged, rows))


def gate_code(judged: Sequence[Judged], undecided: int = 0) -> int:
    """Returns the exit code of the answers; `undecided` is that of no certain answer."""
    match overall(judged):
        case Answer.MISSED:
            return ThresholdMissedError.exit_code
        case Answer.UNDECIDED:
            return undecided
        case Answer.MET:
            return 0


def parse_limit(given: str) -> Limit:
    """Reads `5%`, `EXPERIMENT=5%` or `EXPERIMENT:FIGURE=5%`. Raises PlanError for anything else."""
    where, _, percent = given.rpartition("=")
    experiment, colon, figure = where.rpartition(":")
    if not colon:
        experiment, figure = where, ""
    try:
        return Limit(parse_percent(percent).value, experiment or "*", figure)
    except ValueError as error:
        raise PlanError(f"--fail-below {given}: {error}, EXPERIMENT=5% or EXPERIMENT:FIGURE=5%") from error


def _write(file: Path, text: str, mode: str = "w") -> None:
    try:
        with file.open(mode, encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise PlanError(f"{file} could not be written: {error.strerror}") from error
