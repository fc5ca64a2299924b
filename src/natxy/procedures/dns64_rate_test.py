# SPDX-License-Identifier: Apache-2.0
"""Tests what the rate of a DNS64 server asks of the engine; `truth_test.py` measures it in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.events.listener import RunListener
from natxy.plan.checks.dns64_test import experiment_of
from natxy.plan.model.repeat import Repeat
from natxy.procedures.caveats import caveats_of_plan
from natxy.procedures.registry import procedure_of
from natxy.procedures.truth_test import plan_of
from natxy.results.reader import RunReader
from natxy.run.run import run_plan


def asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timing: dict[str, str] | None = None, **procedure: Any
) -> list[TrialRequest]:
    """Measures a simulated server; returns the requests of all trials, and of those that fill its cache."""
    requests: list[TrialRequest] = []
    run_trial = SimulatedEngine.run_trial

    def recorded(self: SimulatedEngine, request: TrialRequest, *more: Any) -> TrialResult:
        requests.append(request)
        return run_trial(self, request, *more)

    monkeypatch.setattr(SimulatedEngine, "run_trial", recorded)
    own: dict[str, Any] = {"procedure": {"name": "dns64-rate"} | procedure}
    if timing:
        own["timing"] = timing
    plan = plan_of("dns64-rate", {}, phase2=False, **own)
    assert run_plan(plan, tmp_path / "run", RunListener()) == 0
    assert RunReader(tmp_path / "run").run.experiments[0].repetitions[0].figures["rate"]
    return requests


def test_names_of_the_cached_share_are_asked_for_before_each_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = asked(tmp_path, monkeypatch, cached_percent=20, aaaa_percent=40)
    assert len(requests) % 3 == 0
    filling, trials = requests[1::3], requests[2::3]
    assert len(filling) == len(trials) > 3
    for each, cached in ((filling, 100), (trials, 20)):
        shares = {(request.streams[0].queries.cached_percent, request.streams[0].queries.aaaa_percent)
                  for request in each if request.streams[0].queries}  # fmt: skip
        assert shares == {(cached, 40)}
    assert {request.streams[0].frames for request in filling} == {1009}


def test_a_warm_up_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = asked(tmp_path, monkeypatch, timing={"drain": "1s", "warm_up": "2s"}, cached_percent=20)
    assert len(requests) % 4 == 0
    for warm_up, filling, trial in zip(requests[1::4], requests[2::4], requests[3::4], strict=True):
        assert warm_up.streams[0].frames == round(2 * trial.streams[0].rate_fps)
        assert filling.streams[0].frames == 1009


def test_without_a_cached_share_no_cache_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = asked(tmp_path, monkeypatch)
    assert {request.streams[0].queries.cached_percent for request in requests if request.streams[0].queries} == {0}
    assert {request.streams[0].frames for request in requests}.isdisjoint({1009})


def test_each_trial_is_of_a_server_that_has_just_started_and_found_the_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    monkeypatch.setattr(SimulatedGateway, "clear", lambda _: done.append("started"))
    run_trial = SimulatedEngine.run_trial

    def recorded(self: SimulatedEngine, request: TrialRequest, *more: Any) -> TrialResult:
        done.append(request.streams[0].frames)
        return run_trial(self, request, *more)

    monkeypatch.setattr(SimulatedEngine, "run_trial", recorded)
    assert run_plan(plan_of("dns64-rate", {}, phase2=False), tmp_path / "run", RunListener()) == 0
    assert len(done) > 9
    assert set(done[::3]) == {"started"}
    assert set(done[1::3]) == {20}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"timing": {"trial": "60s", "drain": "2s"}}, []),
        ({"timing": {"trial": "59s", "drain": "2s"}}, ["asked for 59 s in the trials that decide"]),
        (
            {
                "timing": {"trial": "60s", "drain": "2s"},
                "search": {"max_rate": "10k", "kind": "mlrsearch", "goal": "robust"},
            },
            ["asked for 12 s in the trials that decide"],
        ),
        (
            {"timing": {"trial": "60s", "drain": "2s"}, "procedure": {"name": "dns64-rate", "frame_timeout": "500ms"}},
            ["answered within 500 ms"],
        ),
        (
            {"timing": {"trial": "60s", "drain": "2s"}, "procedure": {"name": "dns64-rate", "frame_timeout": None}},
            ["answered by the end of the drain"],
        ),
    ],
)
def test_departures_from_the_rfc_are_told(fields: dict[str, Any], expected: list[str]) -> None:
    experiment = experiment_of(**{"search": {"max_rate": "10k", "kind": "binary"}} | fields)
    told = [caveat.text for caveat in procedure_of(experiment).caveats(experiment)]
    assert len(told) == len(expected)
    assert all(part in text for part, text in zip(expected, told, strict=True))


def test_the_rfc_asks_for_twenty_repetitions() -> None:
    procedure = procedure_of(experiment_of())
    assert procedure.repeat_caveats(Repeat(at_most=20)) == []
    [told] = procedure.repeat_caveats(Repeat(at_most=19))
    assert "at least 20 times" in told.text


def test_the_time_out_of_an_answer_is_no_departure() -> None:
    told = [caveat.text for caveat in caveats_of_plan(plan_of("dns64-rate", {}, phase2=False))]
    assert any("Queries are asked for" in text for text in told)
    assert not any("counts as lost" in text for text in told)


def test_a_step_lasts_longer_than_its_queries() -> None:
    plain, cached = (experiment_of(procedure={"name": "dns64-rate", "cached_percent": share}) for share in (0, 20))
    steps_s = [procedure_of(each).expected_step_s(each, None) for each in (plain, cached)]
    assert steps_s[0] == pytest.approx(1 + plain.traffic_s + plain.timing.expected_drain_s)
    assert steps_s[1] - steps_s[0] == pytest.approx(1.009)
