# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from natxy.plan.caveats import gap
from natxy.report.text.terminal import render
from natxy.results.reader import RunReader
from tests.support.sample_runs import HOSTILE, hostile, quickstart


def printed(folder: Path, width: int, *, list_caveats: bool = True) -> str:
    output = io.StringIO()
    Console(file=output, width=width).print(render(RunReader(folder), list_caveats=list_caveats))
    return output.getvalue()


def test_the_page_says_what_was_measured_and_what_was_not(tmp_path: Path) -> None:
    text = printed(quickstart(tmp_path), 120)
    assert "frames/s per direction" in text
    assert "connections/s" in text
    assert "≥400k" in text
    assert "65.8 %" in text
    assert "NAT44, many addresses: tester limit reached: 3 invalid trials at 205 kfps; lower max_rate" in text
    assert "Run complete, 1 without result. 129 trials, 6 of them invalid" in text
    assert "RFC 2544 §24 asks for at least 60 s." in text
    assert "Seed 18446744073709551615" in text


def test_caveats_can_be_left_to_the_report(tmp_path: Path) -> None:
    text = printed(quickstart(tmp_path), 120, list_caveats=False)
    assert "1 departure from the RFCs: the report lists what and why." in text
    assert "RFC 2544 §24" not in text


def test_what_cannot_be_checked_is_always_listed(tmp_path: Path) -> None:
    reader = RunReader(quickstart(tmp_path))
    reader.run.caveats.append(gap("The table is never checked to be empty."))
    output = io.StringIO()
    Console(file=output, width=120).print(render(reader, list_caveats=False))
    text = output.getvalue()
    assert "What natxy cannot check:\n  • The table is never checked to be empty." in text
    assert "gap" not in text


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_a_terminal_without_breaking_numbers(tmp_path: Path, width: int) -> None:
    text = printed(quickstart(tmp_path), width)
    assert max(map(len, text.splitlines())) <= width
    assert "228.1k" in text


def test_the_lines_of_a_bullet_begin_below_its_text(tmp_path: Path) -> None:
    lines = printed(quickstart(tmp_path), 60).splitlines()
    [bullet] = [number for number, line in enumerate(lines) if line.startswith("  • The traffic of a trial lasts")]
    assert lines[bullet + 1].startswith("    ")
    assert lines[bullet + 1].strip()


def test_hostile_texts_are_printed_as_they_are(tmp_path: Path) -> None:
    assert HOSTILE in printed(hostile(tmp_path), 200)
