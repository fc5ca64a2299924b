# SPDX-License-Identifier: Apache-2.0
"""Phase 1 loses a connection in these runs: phase 2 does without it only if the plan allows that, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.results.records import State
from natxy.run.run_test import PHASE2, measure

# One of 20,000 first frames is lost. The traffic may lose as large a share.
LOSING: dict[str, Any] = {"forward_loss_ratio": 0.00005}
OWN = PHASE2 | {"phase1_rate": "5k", "baseline": None, "loss_tolerance": "1%"}


@pytest.mark.parametrize("loss", [1, 3, "0.005%"])
def test_phase_2_does_without_the_connections_that_may_be_missing(tmp_path: Path, loss: object) -> None:
    code, run = measure(tmp_path / "run", OWN | {"phase1_loss": loss}, gateway=LOSING)
    assert code == 0
    [experiment] = run.experiments
    assert experiment.state == State.DONE
    for repetition in experiment.repetitions:
        assert "phase 2 did without 1 connection that phase 1 lost" in repetition.reason
    assert "missing" in experiment.planned.non_rfc


def test_without_a_tolerance_one_missing_connection_leaves_no_result(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", OWN, gateway=LOSING)
    assert not run.experiments[0].values
    reason = run.experiments[0].reason
    assert "phase 1 at 5 kcps failed in 3 of 3 attempts" in reason
    assert reason.endswith(", or do without 1 connection of 20,000 by `phase1_loss: 1`")


def test_nobody_is_advised_to_do_without_many_connections(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", OWN, gateway={"forward_loss_ratio": 0.0011})
    assert "phase1_loss" not in run.experiments[0].reason


def test_a_result_with_all_connections_says_nothing_of_missing_ones(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", OWN | {"phase1_loss": 1})
    assert "did without" not in run.experiments[0].repetitions[0].reason
