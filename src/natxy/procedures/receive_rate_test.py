# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.receive_rate import _ALL_OFFERED
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.run.run import run_plan


def measured(folder: Path, gateway: dict[str, Any], code: int = 0, **own: Any) -> ExperimentRecord:
    experiment = {
        "name": "x",
        "procedure": {"name": "receive-rate", "maximum_rate": "1M", "trials": 4},
        "gateway": {"driver": "simulated"} | gateway,
        "repeat": 2,
    }
    testbed = {"kind": "simulated"} | own.pop("testbed", {})
    plan = {"name": "p", "timing": "lab", "testbed": testbed, "experiments": [experiment | own]}
    assert run_plan(resolve(Plan.model_validate(plan)), folder / "run", RunListener()) == code
    return RunReader(folder / "run").run.experiments[0]


def test_an_overload_has_the_rate_of_the_gateway(tmp_path: Path) -> None:
    found = measured(tmp_path, {"forwarding_fps": 600_000})
    assert found.state == State.DONE
    assert found.statistics is not None
    assert found.statistics.median == pytest.approx(300_000, rel=0.01)
    # The result is a rate, and not a bound.
    assert not found.statistics.bounded_median.text(str).startswith(("≥", "≤"))
    assert len(found.repetitions[0].trials) == 4
    assert all(trial.lost > 0 for trial in found.repetitions[0].trials)


@pytest.mark.parametrize("connections", [None, 1000])
def test_one_direction_alone(tmp_path: Path, connections: int | None) -> None:
    own: dict[str, Any] = {"connections": connections, "phase1_rate": "10k"} if connections else {}
    found = measured(tmp_path, {"forwarding_fps": 600_000}, directions="forward", **own)
    figures = found.repetitions[0].figures
    assert figures["receive_rate"] == figures["receive_rate_forward"] == pytest.approx(600_000, rel=0.01)
    assert figures["receive_rate_reverse"] is None


def test_a_gateway_that_loses_nothing_is_at_least_that_fast(tmp_path: Path) -> None:
    found = measured(tmp_path, {"forwarding_fps": 3e6})
    repetition = found.repetitions[0]
    assert (repetition.lower_bound, repetition.upper_bound) == (repetition.value, None)
    assert repetition.value == pytest.approx(1e6, rel=0.01)
    assert "raise `maximum_rate`" in repetition.reason


@pytest.mark.parametrize(("forwarding_fps", "rate_fps"), [(600_000, 300_000), (3e6, 400_000)])
def test_a_tester_that_falls_behind_offers_what_it_can(tmp_path: Path, forwarding_fps: float, rate_fps: float) -> None:
    found = measured(tmp_path, {"forwarding_fps": forwarding_fps}, testbed={"tester_limit": "400k"})
    repetition = found.repetitions[0]
    assert len(repetition.trials) == 4
    assert repetition.figures["offered_load"] == pytest.approx(400_000)
    assert repetition.value == pytest.approx(rate_fps, rel=0.01)
    assert repetition.reason == ("" if rate_fps < 400_000 else _ALL_OFFERED)


def test_a_tester_that_offers_less_than_a_tenth_is_too_slow(tmp_path: Path) -> None:
    found = measured(tmp_path, {"forwarding_fps": 600_000}, 3, testbed={"tester_limit": "99k"})
    assert found.state == State.TESTER_LIMIT


def test_a_direction_that_delivers_nothing_has_no_rate(tmp_path: Path) -> None:
    found = measured(tmp_path, {"forwarding_fps": 600_000, "reverse_loss_ratio": 1.0}, code=4)
    repetition = found.repetitions[0]
    assert repetition.value is None
    assert "reverse" in repetition.reason
