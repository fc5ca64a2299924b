# SPDX-License-Identifier: Apache-2.0
"""Checks that docs/reference/figures.md names every figure and every column of the files for other programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from natxy.export.rows import comparison_rows, figure_rows, trial_rows
from natxy.results.analysis.compare import compare
from natxy.results.reader import RunReader
from tests.support.sample_runs import quickstart
from tests.support.sample_sweeps import sweeps
from tools import figures_table

PAGE: Final = Path(figures_table.PAGE).read_text(encoding="utf-8")


def named(section: str) -> re.Pattern[str]:
    """Returns a pattern of the columns that are named up to the end of a section; capitals there stand for any text."""
    text = PAGE.partition(f"\n## {section}\n")[0] + PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    names = re.findall(r"`([A-Za-z0-9_]+)`", text)
    return re.compile("|".join(re.sub("[A-Z]+", ".+", name) for name in names))


def test_the_table_has_every_figure() -> None:
    assert "\n".join(figures_table.rows()) in PAGE


@pytest.mark.parametrize("sample", [quickstart, sweeps])
def test_every_column_is_named(tmp_path: Path, sample: Callable[[Path], Path]) -> None:
    run = RunReader(sample(tmp_path)).run
    of_figures = {column for row in (*figure_rows(run), *comparison_rows(compare([run, run]))) for column in row}
    of_trials = {column for row in trial_rows(run) for column in row}
    for columns, section in ((of_figures, "A row for each figure"), (of_trials, "A row for each trial")):
        pattern = named(section)
        assert [column for column in columns if not pattern.fullmatch(column)] == []
