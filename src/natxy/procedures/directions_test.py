# SPDX-License-Identifier: Apache-2.0
"""Every procedure that sends traffic in both directions can be asked for either one alone (RFC 8219 §5.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from natxy.engine.messages.common import Side
from natxy.events.listener import RunListener
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.trials import TrialKind
from natxy.run.run import run_plan

SENDERS: Final = {"forward": Side.LEFT, "reverse": Side.RIGHT}
BOTH_WAYS: Final = [name for name, declaration in DECLARATIONS.items() if "directions" in declaration.takes]


def experiment(name: str, directions: str) -> dict[str, Any]:
    takes = DECLARATIONS[name].takes
    own: dict[str, Any] = {"name": "e", "procedure": name, "directions": directions}
    if "rate" in takes:
        own["rate"] = "20k"
    if "search" in takes:
        own["search"] = {"max_rate": "1M", "error": "2%"}
    return own | OWN.get(name, {})


OWN: Final[dict[str, dict[str, Any]]] = {
    "frame-loss-rate": {"procedure": {"name": "frame-loss-rate", "maximum_rate": "100k"}},
    "overload": {"flows": 10},
    "frame-cost": {"gateway": {"driver": "simulated", "frame_instructions": 1000, "buffer_frames": 1000}},
    "binding-churn": {"subscribers": {"ipv4": "198.18.128.0/24"}},
}


@pytest.mark.parametrize("directions", list(SENDERS))
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_only_the_direction_asked_for_sends(tmp_path: Path, name: str, directions: str) -> None:
    gateway: dict[str, Any] = {
        "driver": "simulated", "forwarding_fps": 50_000, "buffer_frames": 100, "restart_time": "50ms",
    }  # fmt: skip
    if DECLARATIONS[name].at_softwire:
        gateway = {"driver": "chain", "gateways": ["tester", gateway]}
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}, "line_rate": "100Mbps"}
    plan = Plan.model_validate(head | {"experiments": [{"gateway": gateway} | experiment(name, directions)]})
    assert run_plan(resolve(plan), tmp_path / "run", RunListener()) == 0
    (measured,) = RunReader(tmp_path / "run").run.experiments
    (repetition,) = measured.repetitions
    trials = [trial for trial in repetition.trials if trial.kind == TrialKind.TRAFFIC]
    assert bool(trials) != DECLARATIONS[name].between_hosts, "hosts have no trials of the engine's"
    assert all(stream.name.startswith(directions) for trial in trials for stream in trial.result.streams)
    assert repetition.value is not None
    other = next(direction for direction in SENDERS if direction != directions)
    assert not [figure for figure, value in repetition.figures.items() if figure.endswith(other) and value is not None]
