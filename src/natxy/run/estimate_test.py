# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from natxy.run.estimate import estimate_s, expected_steps

QUICKSTART = Path(__file__).parents[3] / "plans" / "quickstart.yaml"


def test_the_quickstart_takes_less_than_four_minutes() -> None:
    assert 60 < estimate_s(load_plan(QUICKSTART)) < 240


def test_a_reboot_before_every_step_makes_it_days() -> None:
    plan = load_plan(QUICKSTART.parent / "paper" / "pf-nat64-enumeration.yaml")
    steps = sum(experiment.repeat.at_most * expected_steps(experiment) for experiment in plan.experiments)
    assert estimate_s(plan) > max(2 * 86400, 120 * steps)


def test_trials_of_a_minute_take_their_minutes() -> None:
    search = {"min_rate": "1k", "max_rate": "1025k", "error": "1k"}
    experiment = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": search}
    plan = resolve(Plan.model_validate({"name": "p", "experiments": [experiment]}))
    assert estimate_s(plan) == pytest.approx(20 * 11 * (60 + 2 + 5), rel=0.01)
