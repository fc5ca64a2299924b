# SPDX-License-Identifier: Apache-2.0
"""Latency by one tagged frame in virtual time: its delay is the model's for that frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.engine.simulation.delays import SimulatedDelays
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.events.listener import RunListener
from natxy.plan.caveats import departure
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.caveats import caveats_of_plan
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan


def plan_of(
    timing: str = "lab", rate: int = 1000, repeat: int = 3, procedure: Any = "single-tag-latency", **gateway: Any
) -> Plan:
    experiment = {
        "name": "latency",
        "gateway": {"driver": "simulated"} | gateway,
        "procedure": procedure,
        "rate": rate,
    }
    head = {"name": "p", "repeat": repeat, "timing": timing, "testbed": {"kind": "simulated"}}
    return Plan.model_validate(head | {"experiments": [experiment]})


def measure(folder: Path, code: int = 0, **given: Any) -> RunRecord:
    assert run_plan(resolve(plan_of(**given)), folder, RunListener()) == code
    return RunReader(folder).run


@settings(max_examples=20, deadline=None)
@given(rate=st.integers(min_value=10, max_value=50_000), spread=st.integers(min_value=0, max_value=10**6))
def test_the_frame_after_the_warm_up_is_the_tagged_one(
    tmp_path_factory: pytest.TempPathFactory, rate: int, spread: int
) -> None:
    run = measure(tmp_path_factory.mktemp("run") / "r", rate=rate, repeat=1, delay_spread_ns=spread)
    delay_ns = SimulatedDelays(20_000, spread).of((rate + 1) // 2)
    found = run.experiments[0].repetitions[0].figures
    assert [found[name] for name in ("latency", "latency_forward", "latency_reverse")] == [delay_ns] * 3
    assert found["lost_tagged_forward"] == 0


@pytest.mark.parametrize("rate", [1000, 7200, 12_000, 60_000, 100_000])
def test_of_a_mix_frames_of_every_size_are_tagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: int) -> None:
    requests: list[TrialRequest] = []

    def noted(self: SimulatedEngine, request: TrialRequest, *given: Any) -> TrialResult:
        requests.append(request)
        return run_trial(self, request, *given)

    run_trial = SimulatedEngine.run_trial
    monkeypatch.setattr(SimulatedEngine, "run_trial", noted)
    plan = plan_of(rate=rate, repeat=1, procedure="latency")
    mixed = plan.experiments[0].model_copy(update={"mix": "imix"})
    run_plan(resolve(plan.model_copy(update={"experiments": [mixed]})), tmp_path / "run", RunListener())
    streams = [stream for request in requests for stream in request.streams if stream.tagged]
    assert streams
    for stream in streams:
        assert stream.tagged
        ends = range(stream.tagged.first, stream.frames, stream.tagged.stride)
        tagged = [stream.frame.sizes[number % 12] for number in ends[: stream.tagged.count]]
        assert {*tagged} == {64, 594, 1518}


def test_a_stream_of_one_frame_has_that_one_tagged(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", rate=1, repeat=1, delay_spread_ns=0)
    assert run.experiments[0].repetitions[0].figures["latency_forward"] == 20_000


def test_the_report_gives_the_mean_and_the_deviation(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", reverse_delay_ns=50_000, delay_spread_ns=0)
    rows = {row[0]: row[1] for row in results_tables.rfc_form(run)[0].rows}
    assert (rows["Mean"], rows["Standard deviation"]) == ("0.050000", "0.000000")
    assert rows["Latency of one tagged frame, forward, ms, mean"] == "0.020000"
    assert run.experiments[0].statistics is not None
    assert run.experiments[0].statistics.mean == pytest.approx(50_000)


def test_a_repetition_that_lost_its_frame_has_no_latency(tmp_path: Path) -> None:
    run = measure(tmp_path / "run", code=4, repeat=1, reverse_loss_ratio=1.0)
    repetition = run.experiments[0].repetitions[0]
    assert (repetition.value, repetition.figures["lost_tagged_reverse"]) == (None, 1)
    assert repetition.figures["latency_forward"] is not None
    assert repetition.reason == "the tagged frame was lost: reverse"


def test_the_stream_is_the_rfcs() -> None:
    plan = resolve(plan_of("rfc", repeat=20))
    assert plan.experiments[0].traffic_s == 120
    asks = "Latency is measured 19 times; RFC 2544 §26.2 asks for at least 20 times."
    assert departure(asks) in caveats_of_plan(resolve(plan_of("rfc", repeat=19)))
    (of_the_rate,) = [caveat.text for caveat in caveats_of_plan(plan) if "26.2" in caveat.text]
    assert "a rate given in the plan" in of_the_rate
    assert [
        caveat
        for caveat in caveats_of_plan(resolve(plan_of()))
        if "RFC 2544 §26.2 asks for at least 60 s" in caveat.text
    ]


@pytest.mark.parametrize(
    ("procedure", "headline"),
    [
        ({"name": "latency", "tagged_frames": 50}, "tl"),
        ("single-tag-latency", "latency"),
        ("pdv", "pdv"),
        ("ipdv", "max"),
    ],
)
@pytest.mark.parametrize(
    ("lost", "names"),
    [
        ({"forward_loss_ratio": 1}, "forward"),
        ({"reverse_loss_ratio": 1}, "reverse"),
        ({"forward_loss_ratio": 1, "reverse_loss_ratio": 1}, "forward, reverse"),
    ],
)
def test_a_direction_that_loses_everything_has_no_delay_and_neither_has_the_slower_one(
    tmp_path: Path, procedure: Any, headline: str, lost: dict[str, Any], names: str
) -> None:
    plan = plan_of(repeat=1, procedure=procedure, **lost)
    run_plan(resolve(plan), tmp_path / "run", RunListener())
    [found] = RunReader(tmp_path / "run").run.experiments[0].repetitions
    assert found.figures[headline] is None
    for direction in ("forward", "reverse"):
        assert (found.figures[f"{headline}_{direction}"] is None) == (direction in names)
    assert found.reason.endswith(names)
