# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.procedures.truth_test import plan_of
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.run.run import run_plan

ERROR_FPS = 500


def measured(folder: Path, gateway: dict[str, Any], **own: Any) -> RepetitionRecord:
    run_plan(plan_of("ndr-pdr", gateway, phase2=False, **own), folder / "run", RunListener())
    [repetition] = RunReader(folder / "run").run.experiments[0].repetitions
    return repetition


def test_a_queue_that_grows_is_no_partial_loss(tmp_path: Path) -> None:
    """The buffer takes what a trial at three times the rate sends in excess, and loses nothing of it."""
    figures = measured(tmp_path, {"forwarding_fps": 100_000, "buffer_frames": 100_000}).figures
    assert figures["rate"] == pytest.approx(50_000, rel=0.06)
    assert figures["partial_drop_rate"] == figures["rate"]


def test_without_a_rate_both_are_zero(tmp_path: Path) -> None:
    figures = measured(tmp_path, {"reverse_loss_ratio": 0.5}).figures
    assert (figures["rate"], figures["partial_drop_rate"]) == (0, 0)


def test_a_gateway_that_always_loses_a_little_has_a_partial_drop_rate_alone(tmp_path: Path) -> None:
    repetition = measured(tmp_path, {"forwarding_fps": 200_000, "reverse_loss_ratio": 0.01})
    assert repetition.figures["rate"] == 0
    partial_fps = repetition.figures["partial_drop_rate"]
    assert partial_fps
    assert 100_000 < partial_fps < 102_000
    assert "no rate passed without the second goal's loss, not even the search's lowest" in repetition.reason


def test_above_the_search_both_are_bounds_and_it_says_so(tmp_path: Path) -> None:
    search = {"min_rate": "1k", "max_rate": "101k", "error": ERROR_FPS, "kind": "mlrsearch"}
    repetition = measured(tmp_path, {"forwarding_fps": 200_000}, search=search)
    assert repetition.figures["rate"] == pytest.approx(100_000, abs=ERROR_FPS)
    assert repetition.figures["partial_drop_rate"] == 101_000
    assert "the partial drop rate is at least this: no higher rate was sent" in repetition.reason
