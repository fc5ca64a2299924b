# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import quickstart
from tools.gallery.quotes import block_rows, condition_rows, printed_end, printed_tables, search_rows


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return RunReader(quickstart(tmp_path_factory.mktemp("run"))).run


def test_the_tables_are_those_of_a_terminal(run: RunRecord) -> None:
    first, title, *lines, last = printed_tables(run)
    assert (first, title, last) == ("```text", "Throughput, frames/s per direction", "```")
    assert any(line.startswith(" Linux IPv4 forwarding ") for line in lines)


def test_each_rate_of_a_search_has_its_verdicts(run: RunRecord) -> None:
    *rows, _, end = search_rows(run, "forward")
    assert rows[2] == "| 400 kfps | fail |"
    # The fourth step was invalid once.
    assert rows[5] == "| 250 kfps | invalid, fail |"
    assert "the result of this repetition: 228.1 kfps. The lowest that failed: 231.2 kfps." in end


def test_a_ratio_is_that_of_its_block(run: RunRecord) -> None:
    *_, first, _, _, median = block_rows(run, "nat44", "forward")
    assert first.startswith("| 1 | 228.1 kfps |")
    assert median.startswith("| median | 228.1 kfps | | 150 kfps | | | 65.8 %")


def test_conditions_count_trials(run: RunRecord) -> None:
    head, _, row, _, machine = condition_rows([run])
    assert head.startswith("| run | measured in |")
    assert row.startswith("| quickstart |")
    assert row.count("|") == head.count("|")
    assert "Linux 6.1.0" in machine
    assert next(iter(printed_end(run))).startswith("> Run complete, 1 without result. ")
