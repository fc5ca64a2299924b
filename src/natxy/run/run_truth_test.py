# SPDX-License-Identifier: Apache-2.0
"""The numbers of whole plans in virtual time are the model's truth, within the error of the search."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.results.trials import Purpose, TrialKind
from natxy.run.run_test import FORWARDING, PHASE2, RATE, VALIDATED, measure, medians

# Frames are whole: a trial of half a second, or of 20k connections, resolves rates no finer than this.
GRAIN = 2.1


@settings(max_examples=40, deadline=None)
@given(
    forwarding_fps=st.floats(min_value=50_000, max_value=1_500_000),
    connection_rate_fps=st.floats(min_value=5_000, max_value=900_000),
)
def test_every_procedure_finds_the_models_truth(forwarding_fps: float, connection_rate_fps: float) -> None:
    gateway = {"forwarding_fps": forwarding_fps, "connection_rate_fps": connection_rate_fps}
    with TemporaryDirectory() as folder:
        code, run = measure(Path(folder) / "run", FORWARDING, RATE, VALIDATED, PHASE2, gateway=gateway)
    found = medians(run)
    connections = min(connection_rate_fps, forwarding_fps)
    assert code == 0
    assert found["forwarding"] == pytest.approx(forwarding_fps / 2, abs=500 + GRAIN)
    assert found["rate"] == pytest.approx(connections, abs=500 + connections / 20_000)
    assert found["validated"] == found["rate"]
    assert found["phase2"] == found["forwarding"]
    assert run.experiments[3].baseline_ratio_percent == pytest.approx(100)


def test_each_direction_has_to_pass_on_its_own(tmp_path: Path) -> None:
    lossy = {"reverse_loss_ratio": 0.02}
    one_way = FORWARDING | {"name": "forward-only", "directions": "forward"}
    code, run = measure(tmp_path / "run", FORWARDING, one_way, gateway=lossy)
    assert code == 0
    assert medians(run) == {"forwarding": 0, "forward-only": pytest.approx(500_000, abs=510)}
    assert "no rate passed" in run.experiments[0].repetitions[0].reason


def test_a_table_too_small_shows_in_the_connection_rate(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", RATE, gateway={"table_capacity": 19_999})
    assert medians(run) == {"rate": 0}


@pytest.mark.parametrize(("policy", "plain"), [("keep", 0), ("lru", 200_000), ("early-drop", 200_000)])
def test_only_validation_finds_a_table_that_replaces_connections(tmp_path: Path, policy: str, plain: float) -> None:
    gateway = {"table_capacity": 10_000, "table_policy": policy, "connection_rate_fps": 200_000}
    _, run = measure(tmp_path / "run", RATE, VALIDATED, gateway=gateway)
    assert medians(run) == {"rate": pytest.approx(plain, abs=510), "validated": 0}


def test_a_dut_beyond_the_search_is_at_least_its_highest_rate(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, gateway={"forwarding_fps": 1e8})
    repetition = run.experiments[0].repetitions[0]
    assert (repetition.value, repetition.upper_bound) == (1e6, None)
    assert "at least" in repetition.reason


def test_every_phase_2_trial_has_its_own_phase_1(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, RATE, PHASE2)
    rate = medians(run)["rate"]
    for step in run.experiments[2].repetitions[0].steps:
        phase1, traffic = step.trials
        assert (phase1.kind, phase1.purpose) == (TrialKind.PHASE1, Purpose.PREPARE)
        assert phase1.rate_fps == pytest.approx(rate / 2)
        assert (traffic.kind, traffic.purpose, traffic.rate_fps) == (TrialKind.TRAFFIC, Purpose.MEASURE, step.rate)


def test_validation_runs_at_alpha_times_the_rate(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", VALIDATED)
    passed = [step for step in run.experiments[0].repetitions[0].steps if len(step.trials) == 2]
    assert passed
    assert all(step.trials[1].rate_fps == step.rate / 2 for step in passed)
