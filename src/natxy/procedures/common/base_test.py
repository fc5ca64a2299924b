# SPDX-License-Identifier: Apache-2.0
"""Tests what procedures have in common: how often they are repeated, how long their steps last, and no result."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.caveats import Caveat, departure, limitation
from natxy.plan.procedures.back_to_back import BackToBackConfig
from natxy.plan.resolve import resolve
from natxy.procedures.common.base import no_result
from natxy.procedures.common.traffic_test import plan_of
from natxy.procedures.registry import procedure_of

THROUGHPUT: dict[str, Any] = {"name": "t", "procedure": "throughput", "search": {"max_rate": "1M"}}
BURSTS: dict[str, Any] = {"name": "b", "procedure": {"name": "back-to-back", "maximum_rate": "1M"}, "rate": "10k"}
GOODPUT: dict[str, Any] = {"name": "g", "procedure": "tcp-goodput"}


@pytest.mark.parametrize(
    ("own", "repeat", "said"),
    [
        (THROUGHPUT, 20, []),
        (THROUGHPUT, 19, [limitation("Experiments are measured 19 times; at least 20 repetitions are usual.")]),
        (
            THROUGHPUT,
            {"until": "3%"},
            [
                limitation(
                    "Experiments are measured until the interval is within ±3%, at most 30 times; at least 20 "
                    "repetitions are usual."
                )
            ],
        ),
        (BURSTS, 50, []),
        (
            BURSTS,
            49,
            [departure("Back-to-back frames are measured 49 times; RFC 2544 §26.4 asks for at least 50 times.")],
        ),
        (GOODPUT, 1, []),
    ],
)
def test_fewer_repetitions_than_usual_or_than_the_rfc_asks_for_are_said(
    own: dict[str, Any], repeat: Any, said: list[Caveat]
) -> None:
    [experiment] = resolve(plan_of(own | {"repeat": repeat})).experiments
    assert procedure_of(experiment).repeat_caveats(experiment.repeat) == said


def test_a_repetition_without_a_result_has_every_figure_without_a_value() -> None:
    found = no_result(BackToBackConfig(), "why")
    assert found.figures == {"burst": None, "implied_buffer": None, "corrected_buffer": None}
    assert (found.lower_bound, found.upper_bound, found.remark, found.curves) == (None, None, "why", ())


@pytest.mark.parametrize(
    ("own", "step_s"),
    [
        # A trial of 10 s, half a drain of 4 s that ends early.
        (THROUGHPUT, 10 + 2),
        ({"name": "l", "procedure": {"name": "latency", "warm_up": 3, "tagging": 4}, "rate": "1k"}, 7 + 2),
        ({"name": "r", "procedure": {"name": "reset", "steady": 3, "recovery": 4}, "rate": "1k"}, 7 + 2),
        (GOODPUT, 10),
        # Before the traffic: 5000 connections at 1000 a second, the engine's overhead, a drain and a pause.
        (THROUGHPUT | {"connections": 5000, "phase1_rate": 1000}, 5 + 0.008 + 2 + 1 + 10 + 2),
    ],
)
def test_a_step_lasts_as_long_as_its_traffic_and_its_waits(own: dict[str, Any], step_s: float) -> None:
    timing = {"preset": "lab", "trial": 10, "drain": 4, "learning_pause": 1}
    [experiment] = resolve(plan_of(own, timing=timing)).experiments
    phase1_fps = experiment.phase1_rate.rate if experiment.phase1_rate else None
    assert procedure_of(experiment).expected_step_s(experiment, phase1_fps) == pytest.approx(step_s)
