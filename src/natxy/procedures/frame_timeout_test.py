# SPDX-License-Identifier: Apache-2.0
"""Frames that count as lost after a time-out, in virtual time: the delays of the model's frames are known."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.procedures.common.traffic_test import measure
from natxy.report.tables import results as results_tables
from natxy.results.records import RunRecord

# Frames take 20 to 50 µs, with all delays in between equally often: a third of them takes at most 30 µs.
GATEWAY = {"forward_delay_ns": 20_000, "reverse_delay_ns": 20_000, "delay_spread_ns": 30_000}


def throughput(timeout: str | None, tolerance: str = "0%", kind: str = "binary", **gateway: Any) -> RunRecord:
    procedure = {"name": "throughput", "frame_timeout": timeout}
    search = {"kind": kind, "max_rate": "1M", "error": "0.2%"}
    return measure(
        {"name": "x", "procedure": procedure, "search": search, "loss_tolerance": tolerance}, **GATEWAY | gateway
    )


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
@pytest.mark.parametrize(
    ("timeout", "tolerance", "rate_fps"),
    [
        (None, "0%", 250_000),
        ("50us", "0%", 250_000),
        ("49.9us", "0%", 0),
        ("30us", "66%", 0),
        ("30us", "67%", 250_000),  # with a little to spare
    ],
)
def test_the_rate_is_that_at_which_enough_frames_are_in_time(
    kind: str, timeout: str | None, tolerance: str, rate_fps: int
) -> None:
    (experiment,) = throughput(timeout, tolerance, kind).experiments
    assert experiment.values == [pytest.approx(rate_fps, rel=0.02)]


def test_the_reason_says_how_many_came_late() -> None:
    (experiment,) = throughput("49us").experiments
    failed = experiment.repetitions[0].trials[-1]
    for stream in failed.result.streams:
        assert 0 < stream.timed_out < stream.planned
        assert f"{stream.name}: {stream.lost:,} of {stream.planned:,} frames lost" in failed.reason
        assert f", {stream.timed_out:,} frames came later than 0.049 ms" in failed.reason


def test_the_report_states_the_timeout() -> None:
    run = throughput("50us")
    (form,) = results_tables.rfc_form(run)
    assert ("Frame timeout", "0.05 ms") in form.rows
    assert any("counts as lost; RFC 2544 §26 has no such limit" in caveat.text for caveat in run.caveats)


def test_late_frames_are_part_of_the_loss_at_each_rate() -> None:
    own = {"name": "frame-loss-rate", "maximum_rate": 100_000, "frame_timeout": "35us"}
    run = measure({"name": "x", "procedure": own}, **GATEWAY)
    for curve in run.experiments[0].repetitions[0].curves:
        assert [loss for _, loss in curve.points] == [pytest.approx(50, abs=0.1)] * 10
