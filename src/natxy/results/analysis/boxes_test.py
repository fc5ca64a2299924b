# SPDX-License-Identifier: Apache-2.0
"""Tests which box of a chain is said to limit it, from stored runs with known results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.report.page.html import render
from natxy.report.tables.boxes import boxes_sentences, boxes_tables
from natxy.results.analysis.boxes import Limit, boxes_alone
from natxy.results.reader import RunReader
from tests.support.sample_runs import SampleRun, Sought

CHAIN = ("softwire", "softwire", "nftables")


def run_of(folder: Path, whole: float, edge: float | None, core: float | None, *, repeat: int = 3) -> RunReader:
    """Returns a run of a DS-Lite chain and its boxes whose limits are given in frames a second."""
    run = SampleRun(folder, in_blocks=True, loads=True)

    def chain(*boxes: str) -> dict[str, Any]:
        drivers = [{"driver": box} for box in boxes]
        return {"gateway": "chain", "variant": {"gateways": drivers}, "repeat": repeat}

    run.experiment("forward", Sought(380e3), title="forwarding", repeat=repeat)
    more: dict[str, Any] = {"baseline": "forward"}
    run.experiment("dslite", Sought(whole), title="DS-Lite", **chain(*CHAIN), **more)
    alone = {"whole": "dslite", **more}
    if edge is not None:
        run.experiment("dslite-edge", Sought(edge), title="edge of DS-Lite", **chain("softwire", "tester"), **alone)
    if core is not None:
        boxes = chain("tester", "softwire", "nftables")
        run.experiment("dslite-core", Sought(core), title="core of DS-Lite", **boxes, **alone)
    return RunReader(run.end())


def test_the_slower_box_is_the_bottleneck_by_how_much(tmp_path: Path) -> None:
    reader = run_of(tmp_path, 80e3, 240e3, 120e3)
    (boxes,) = boxes_alone(reader.run)
    assert boxes.limit is Limit.CORE
    (sentence,) = boxes_sentences(reader.run)
    assert sentence.startswith("DS-Lite: the core is the bottleneck: alone it forwards 1")
    assert "of the other. Both together: " in sentence
    ratio = boxes.core_to_edge
    assert ratio is not None
    assert ratio.value == pytest.approx(0.5, rel=0.05)
    assert boxes.whole.ratio_to(boxes.core or boxes.whole).value == pytest.approx(2 / 3, rel=0.05)  # type: ignore[union-attr]


def test_the_edge_may_be_the_bottleneck(tmp_path: Path) -> None:
    (boxes,) = boxes_alone(run_of(tmp_path, 80e3, 100e3, 200e3).run)
    assert boxes.limit is Limit.EDGE


def test_boxes_whose_interval_contains_one_cannot_be_told_apart(tmp_path: Path) -> None:
    reader = run_of(tmp_path, 80e3, 150e3, 151e3)
    (boxes,) = boxes_alone(reader.run)
    assert boxes.limit is Limit.UNKNOWN
    (sentence,) = boxes_sentences(reader.run)
    assert "cannot be told" in sentence
    assert "contains 100 %" in sentence


def test_a_single_repetition_tells_nothing(tmp_path: Path) -> None:
    (sentence,) = boxes_sentences(run_of(tmp_path, 80e3, 240e3, 120e3, repeat=1).run)
    assert sentence.endswith("the interval of their ratio is unknown; repeat more often.")


def test_a_box_that_the_search_cannot_limit_is_still_the_faster_one(tmp_path: Path) -> None:
    (boxes,) = boxes_alone(run_of(tmp_path, 80e3, 900e3, 120e3).run)
    assert boxes.limit is Limit.CORE


def test_two_boxes_beyond_the_search_cannot_be_told_apart(tmp_path: Path) -> None:
    (sentence,) = boxes_sentences(run_of(tmp_path, 80e3, 900e3, 800e3).run)
    assert sentence.endswith("raise the search's max_rate.")


def test_a_box_that_was_not_measured_is_named(tmp_path: Path) -> None:
    (sentence,) = boxes_sentences(run_of(tmp_path, 80e3, None, 120e3).run)
    assert "no experiment on its edge alone" in sentence


def test_the_table_has_the_whole_each_box_and_what_a_frame_costs(tmp_path: Path) -> None:
    reader = run_of(tmp_path, 80e3, 240e3, 120e3)
    (table,) = boxes_tables(reader.run)
    titles = [column.title for column in table.columns]
    assert titles == ["Experiment", "Gateways", "Median", "95 %", "Of the whole", "Of the baseline", "CPU time, ns"]
    assert [row[:2] for row in table.rows] == [
        ("DS-Lite", "softwire → softwire → nftables"),
        ("edge of DS-Lite", "softwire → tester"),
        ("core of DS-Lite", "tester → softwire → nftables"),
    ]
    assert table.rows[0][4] == "100.0 %"
    assert table.rows[1][4].startswith("3")
    assert "The boxes share their machine's cores" in table.note
    assert table.narrower is not None
    page = render(reader)
    assert "Chains, and each box alone" in page
    assert "the core is the bottleneck" in page


def test_a_run_without_boxes_alone_has_no_table(tmp_path: Path) -> None:
    reader = run_of(tmp_path, 80e3, None, None)
    assert boxes_tables(reader.run) == []
    assert "each box alone" not in render(reader)
