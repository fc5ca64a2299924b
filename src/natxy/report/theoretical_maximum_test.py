# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.plan.models import Plan
from natxy.plan.resolve import resolve
from natxy.procedures.listener import RunListener
from natxy.procedures.runner import run_plan
from natxy.report import results_tables
from natxy.results.reader import RunReader


def rows_of(folder: Path, experiment: dict[str, Any], **top: Any) -> dict[str, str]:
    gateway = {"driver": "simulated", "forwarding_fps": "2M"}
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}}
    given = head | top | {"experiments": [{"name": "e", "gateway": gateway} | experiment]}
    assert run_plan(resolve(Plan.model_validate(given)), folder, RunListener()) == 0
    table, *_ = results_tables.rfc_form(RunReader(folder).run)
    return {row[0]: row[1] for row in table.rows}


THROUGHPUT = {"procedure": "throughput", "search": {"max_rate": "2M", "error": 100}}


def test_the_share_of_the_theoretical_maximum_stands_beside_the_result(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", THROUGHPUT, line_rate="1Gbps")
    assert rows["Theoretical maximum"] == "1,488,095 frames/s per direction at 1 Gbit/s"
    assert rows["Median of the theoretical maximum"] == "67.20 %"


def test_it_follows_the_frame_size_and_the_experiments_own_line(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", THROUGHPUT | {"frame_size": 1518, "line_rate": "100Gbps"}, line_rate="1Gbps")
    assert rows["Theoretical maximum"] == "8,127,438 frames/s per direction at 100 Gbit/s"


@pytest.mark.parametrize(
    ("convention", "directions", "longest"),
    [
        ("paired", "bidirectional", 1518),
        ("nominal", "bidirectional", 1538),
        ("nominal", "reverse", 1538),
        ("nominal", "forward", 1518),
    ],
)
def test_the_longer_frame_of_a_translation_counts(
    tmp_path: Path, convention: str, directions: str, longest: int
) -> None:
    own = {"translation": "siit", "frame_size": 1518, "size_convention": convention, "directions": directions}
    rows = rows_of(tmp_path / "run", THROUGHPUT | own, line_rate="100Gbps")
    assert rows["Theoretical maximum"].startswith(f"{100e9 / 8 / (longest + 20):,.0f} frames/s")


@pytest.mark.parametrize(
    ("experiment", "top"),
    [
        (THROUGHPUT, {}),
        (
            {"procedure": "connection-rate", "connections": "1k", "search": {"max_rate": "1M"}},
            {"line_rate": "1Gbps"},
        ),
    ],
)
def test_nothing_is_said_where_there_is_none(tmp_path: Path, experiment: dict[str, Any], top: dict[str, Any]) -> None:
    assert not [title for title in rows_of(tmp_path / "run", experiment, **top) if "heoretical" in title]


def test_a_latency_has_the_maximum_and_no_share_of_it(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "run", {"procedure": "latency", "rate": "10k"}, line_rate="10Gbps")
    assert "Theoretical maximum" in rows
    assert "Median of the theoretical maximum" not in rows
