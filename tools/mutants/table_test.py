# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

from tools.mutants.baseline import REPOSITORY
from tools.mutants.survivors import Outcome, finish
from tools.mutants.survivors_test import judged
from tools.mutants.table import PAGE, rows


def test_the_counts_of_a_sample_become_a_table(tmp_path: Path) -> None:
    figures = tmp_path / "python.json"
    killed = [judged(Outcome.KILLED)] * 3
    assert finish([*killed, judged(Outcome.SURVIVED, "if True:"), judged(Outcome.UNUSABLE)], "a sample", figures) == 1
    assert [*rows([json.loads(figures.read_text(encoding="utf-8"))])][2:] == [
        "| search | 3 | 4 | 75% | |",
        "| **a sample** | 3 | 4 | 75% | 1 |",
    ]


def test_the_page_has_a_place_for_the_table() -> None:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    assert "<!-- mutants -->" in page.split("<!-- end -->")[0]
