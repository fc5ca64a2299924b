# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.report.charts.overview import overview_charts
from natxy.report.tables import comparison
from natxy.report.tables import results as results_tables
from natxy.report.words.lost_delays import MARK, sentences
from natxy.results.analysis.compare import compare
from natxy.results.reader import RunReader
from tests.support.sample_runs import SampleRun, measured_latency


@pytest.mark.parametrize(("lost", "marked"), [((0, 0, 0), False), ((0, 1234, 1), True)])
def test_delays_of_a_part_of_the_frames_are_marked(tmp_path: Path, lost: tuple[int, int, int], *, marked: bool) -> None:
    sample = SampleRun(tmp_path)
    measured_latency(sample, "delays", 4e5, title="Delays", lost=lost)
    run = RunReader(sample.end()).run
    found = sentences(run)
    assert len(found) == marked
    assert all("Delays: up to 1,234 of its frames in a direction were lost" in sentence for sentence in found)
    mark = " (frames lost)" if marked else ""
    assert results_tables.overview(run)[0].rows[0][0] == f"Delays{mark}"
    assert results_tables.rfc_form(run)[0].columns[1].title == f"Delays{mark}"
    assert comparison.figures(compare([run, run]))[0].rows[0][0] == f"Delays{mark}"
    (chart,) = overview_charts(run)
    assert (MARK in chart.spec["data"]["values"][0]["whole"]) == marked
