# SPDX-License-Identifier: Apache-2.0
"""Tests the caveats and losses beside rates of connections that come and go; `truth_test.py` measures the rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.registry import procedure_of
from natxy.procedures.truth_test import SEARCH, plan_of
from natxy.results.reader import RunReader
from natxy.run.run import run_plan

RATE_CPS, LEAST_CPS, MOST_CPS = 10_000, 8_000, 16_000


def losses(folder: Path, most_cps: int) -> tuple[float | None, float | None]:
    """Returns which share of the frames of new and of older connections were lost where a search of two steps failed,
    in percent. The gateway makes a number of connections a second."""
    experiment = {
        "name": "churn",
        "gateway": {"driver": "simulated", "connection_rate_fps": RATE_CPS},
        "procedure": {"name": "churn", "step": 0.001, "age": 0.005, "lifetime": 0.5},
        "connections": 40_000,
        "search": {"kind": "binary", "min_rate": LEAST_CPS, "max_rate": most_cps, "error": most_cps},
    }
    head = {"name": "p", "repeat": 1, "timing": "lab", "testbed": {"kind": "simulated"}}
    plan = resolve(Plan.model_validate(head | {"experiments": [experiment]}))
    assert run_plan(plan, folder / "run", RunListener()) == 0
    [repetition] = RunReader(folder / "run").run.experiments[0].repetitions
    return repetition.figures["loss_new"], repetition.figures["loss_old"]


def test_losses_of_new_and_of_older_connections_are_told_apart(tmp_path: Path) -> None:
    new, old = losses(tmp_path, MOST_CPS)
    # All connections are opened in 2.5 s, in which the gateway makes 25,000 of 40,000; what it has made, it keeps.
    assert (new, old) == pytest.approx((37.5, 37.5), abs=0.5)


def test_a_search_without_a_failure_shows_no_loss(tmp_path: Path) -> None:
    assert losses(tmp_path, LEAST_CPS) == (None, None)


@pytest.mark.parametrize(("connections", "mixes"), [(349_999, False), (350_000, True)])
def test_steps_that_never_mix_are_told(connections: int, *, mixes: bool) -> None:
    """At a million connections a second, a life of seven steps of 50 ms has 350,000."""
    search = SEARCH | {"max_rate": 1e6}
    [experiment] = plan_of("tcp-connection-rate", {}, phase2=False, connections=connections, search=search).experiments
    told = [caveat.text for caveat in procedure_of(experiment).caveats(experiment)]
    assert ["350,000 `connections` or a lower `max_rate` mix them" in text for text in told] == (
        [] if mixes else [True]
    )
