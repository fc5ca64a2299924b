# SPDX-License-Identifier: Apache-2.0
"""Writes the answers to thresholds into files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from natxy.cli.output.file import output_file
from natxy.export.rows import Row
from natxy.report.tables.table import Table
from natxy.report.text.gate import document, junit, markdown
from natxy.results.analysis.gate import Judged


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
