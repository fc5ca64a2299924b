# SPDX-License-Identifier: Apache-2.0
"""The files that the answers to thresholds are written to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from natxy.errors import PlanError
from natxy.report.tables.table import Table
from natxy.report.text.gate import document, junit, markdown
from natxy.results.analysis.gate import Judged
from natxy.results.rows import Row


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


def _write(file: Path, text: str, mode: str = "w") -> None:
    try:
        with file.open(mode, encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise PlanError(f"{file} could not be written: {error.strerror}") from error
