# SPDX-License-Identifier: Apache-2.0
"""Bursts, system recovery and reset in virtual time: measured gaps and outages are the model's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.engine.simulation.losses import Outage
from natxy.errors import DutError
from natxy.plan.model.problems import PlanProblems
from natxy.plan.model.search import ROBUST_SHARE
from natxy.plan.resolve import resolve
from natxy.procedures.caveats import caveats_of_plan
from natxy.procedures.common.traffic_test import figures, measure, plan_of
from natxy.system.core_watch import Absence
from natxy.testbeds.simulated import SimulatedTestbed

DIRECTIONS = st.sampled_from(["bidirectional", "forward", "reverse"])


def streams(directions: str) -> int:
    return 2 if directions == "bidirectional" else 1


# --- bursts


def bursts(frames: int, **own: Any) -> dict[str, Any]:
    search = {"min_rate": 100, "max_rate": "2M", "error": "0.01%"}
    return {"name": "burst", "procedure": {"name": "burst", "frames": frames} | own, "search": search}


@settings(max_examples=30, deadline=None)
@given(
    limit=st.integers(20_000, 1_000_000),
    frames=st.sampled_from([16, 64, 256, 1024]),
    room=st.floats(1, 3),
    directions=DIRECTIONS,
)
def test_bursts_may_follow_as_soon_as_the_one_before_is_forwarded(
    limit: int, frames: int, room: float, directions: str
) -> None:
    """Buffer space beyond one burst allows a short trial a slightly higher rate."""
    together = frames * streams(directions)
    buffer = int(together * room)
    timing = {"preset": "lab", "trial": 60}
    plan = bursts(frames) | {"directions": directions}
    run = measure(plan, timing=timing, forwarding_fps=limit * streams(directions), buffer_frames=buffer)
    found = figures(run, "burst")
    sent = limit * 60 * ROBUST_SHARE  # in a trial that decides
    assert limit * 0.999 <= (found["rate"] or 0) <= limit * (1 + 1.1 * frames * room / (sent - frames * room)) * 1.001
    assert found["gap"] == pytest.approx(1e9 * frames / (found["rate"] or 0))


def test_a_burst_that_doesnt_fit_in_the_buffer_passes_at_no_rate() -> None:
    run = measure(bursts(64), forwarding_fps=10**6, buffer_frames=127)
    assert run.experiments[0].values == [0]
    assert figures(run, "burst")["gap"] is None


def test_the_gap_leaves_out_the_burst_itself_where_its_rate_is_known() -> None:
    run = measure(bursts(100, maximum_rate="1M"), forwarding_fps=200_000, buffer_frames=200)
    found = figures(run, "burst")
    assert found["rate"] == pytest.approx(100_000, rel=0.002)
    assert found["gap"] == pytest.approx(1e9 * (100 / 100_000 - 100 / 1e6), rel=0.002)


# --- system recovery


def recovery(rate: float, **own: Any) -> dict[str, Any]:
    return {"name": "recovery", "procedure": {"name": "system-recovery"} | own, "rate": rate}


@settings(max_examples=40, deadline=None)
@given(
    rate=st.integers(10_000, 500_000),
    recovery_s=st.floats(0.001, 0.45),
    buffer=st.integers(0, 500),
    directions=DIRECTIONS,
)
def test_the_recovery_time_is_the_models(rate: int, recovery_s: float, buffer: int, directions: str) -> None:
    run = measure(
        recovery(rate) | {"directions": directions},
        forwarding_fps=rate * streams(directions),
        recovery_time=recovery_s,
        buffer_frames=buffer,
    )
    found = figures(run, "recovery")
    # The last frame lost is due up to one interval of half the overload's rate before the outage ends.
    assert found["recovery"] == pytest.approx(recovery_s, abs=1.01 / (1.1 * rate / 2))
    assert (found["recovery_forward"] is None) == (directions == "reverse")
    trial = run.experiments[0].repetitions[0].trials[0]
    overload, half = trial.result.streams[:2]
    assert (overload.intended_rate_fps, half.intended_rate_fps) == pytest.approx((1.1 * rate, 0.55 * rate))
    assert half.name == f"{overload.name} at half the rate"
    excess = 100 * (1 - 1 / 1.1) - 100 * buffer / streams(directions) / (1.1 * rate * 0.5)
    for stream in ("forward", "reverse"):
        lost = found[f"overload_loss_{stream}"]
        assert lost is None or lost == pytest.approx(max(0.0, excess), abs=0.1)


def test_a_gateway_that_recovers_at_once() -> None:
    run = measure(recovery(100_000), forwarding_fps=200_000)
    assert figures(run, "recovery")["recovery"] == 0
    assert [trial.verdict for trial in run.experiments[0].repetitions[0].trials] == [Verdict.PASS]


def test_a_gateway_that_does_not_recover_has_no_recovery_time() -> None:
    run = measure(recovery(100_000, recovery="200ms"), code=4, forwarding_fps=200_000, recovery_time=0.3)
    assert figures(run, "recovery")["recovery"] is None
    assert "frames are lost to the end, forward, reverse" in run.experiments[0].repetitions[0].reason


def test_the_overload_is_no_faster_than_the_medium() -> None:
    run = measure(recovery(100_000, maximum_rate=104_000), forwarding_fps=230_000)
    repetition = run.experiments[0].repetitions[0]
    assert [trial.rate_fps for trial in repetition.trials] == [104_000]
    assert "the overload lost nothing" in repetition.reason
    plan = resolve(plan_of(recovery(100_000)))
    assert "lasts 500 ms; RFC 2544 §26.5 asks for at least 60 s" in " ".join(
        each.text for each in caveats_of_plan(plan)
    )


# --- reset


def reset(rate: float, **own: Any) -> dict[str, Any]:
    return {"name": "reset", "procedure": {"name": "reset"} | own, "rate": rate}


@settings(max_examples=40, deadline=None)
@given(rate=st.integers(1000, 500_000), restart_s=st.floats(0.01, 1.5), directions=DIRECTIONS)
def test_the_reset_time_is_the_models(rate: int, restart_s: float, directions: str) -> None:
    run = measure(
        reset(rate, steady="700ms", recovery="1.8s") | {"directions": directions},
        forwarding_fps=rate * 2,
        restart_time=restart_s,
    )
    found = figures(run, "reset")
    assert found["loss"] == pytest.approx(restart_s, abs=1.01 / rate)
    # From the last frame before to the first after: one interval more than were lost.
    assert found["timestamps"] == pytest.approx((found["loss"] or 0) + 1 / rate, abs=1e-6)
    assert (found["loss_reverse"] is None) == (directions == "forward")
    silence = run.experiments[0].repetitions[0].trials[0].result.streams[0].longest_silence
    assert silence is not None
    assert silence.start_s == pytest.approx(0.8, abs=1.01 / rate)


def test_a_reset_that_outlasts_the_traffic_has_no_time() -> None:
    run = measure(reset(10_000), code=4, restart_time=3)
    assert figures(run, "reset")["loss"] is None
    assert "lost to the end, forward, reverse: raise `recovery`" in run.experiments[0].repetitions[0].reason


CONNECTIONS = {"connections": 100, "phase1_rate": "10k"}


@settings(max_examples=20, deadline=None)
@given(
    after=st.sampled_from(["misroute", "drop"]),
    restart_s=st.just(0.0) | st.floats(1e-9, 0.35),
    directions=DIRECTIONS,
)
def test_a_gateway_that_comes_back_without_its_connections_has_no_reset_time(
    after: str, restart_s: float, directions: str
) -> None:
    """The outage may be short compared with the traffic before and after it."""
    plan = reset(10_000, steady="5s") | CONNECTIONS | {"directions": directions}
    run = measure(plan, code=4, restart_time=restart_s, after_restart=after)
    assert set(figures(run, "reset").values()) == {None}
    misrouted = after == "misroute" and directions != "reverse"
    words = "came through with other four-tuples" if misrouted else "frames are lost to the end"
    assert words in run.experiments[0].repetitions[0].reason


def test_kept_connections_have_the_reset_time_of_the_model() -> None:
    run = measure(reset(10_000) | CONNECTIONS, restart_time=0.2)
    assert figures(run, "reset")["loss"] == pytest.approx(0.2, abs=1e-4)
    assert run.experiments[0].repetitions[0].reason == ""


def test_what_a_reset_runs_on_the_gateways_core_is_no_disturbance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatedTestbed, "_absence", lambda _: Absence(0.2))
    [repetition] = measure(reset(10_000), restart_time=0.2).experiments[0].repetitions
    [trial] = repetition.trials
    assert (trial.verdict, trial.gateway_pause_s) == (Verdict.FAIL, 0.2)
    assert repetition.figures["loss"] == pytest.approx(0.2, abs=1e-4)


def test_methods_that_differ_are_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    once = SimulatedDut.restart

    def again(dut: SimulatedDut) -> None:
        once(dut)
        dut.outages.append(Outage(0.1, 0.15))

    monkeypatch.setattr(SimulatedDut, "restart", again)
    run = measure(reset(10_000) | {"directions": "forward"}, restart_time=0.1)
    said = run.experiments[0].repetitions[0].reason
    assert said.startswith("the methods differ, forward: 150 ms by lost frames, 100 ms by time stamps")


def test_a_reset_that_does_not_show_takes_no_time() -> None:
    run = measure(reset(10_000), restart_time=0)
    found = figures(run, "reset")
    assert (found["loss"], found["timestamps"]) == (0, 0)
    assert "did not interrupt" in run.experiments[0].repetitions[0].reason


def test_links_may_fall_with_a_gateway_that_is_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    may_fall = []
    once = SimulatedEngine.run_trial

    def note(engine: SimulatedEngine, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        may_fall.append(request.limits.link_may_fall)
        return once(engine, request, on_progress)

    monkeypatch.setattr(SimulatedEngine, "run_trial", note)
    measure(reset(10_000), bursts(64), forwarding_fps=10**6, buffer_frames=1000)
    assert may_fall[0] is True
    assert {*may_fall[1:]} == {False}


def test_a_gateway_that_cannot_be_reset_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: SimulatedGateway) -> None:
        raise DutError("the power switch does not answer")

    monkeypatch.setattr(SimulatedGateway, "restart", fail)
    run = measure(reset(10_000), code=4)
    assert run.experiments[0].reason == "the power switch does not answer"


def test_a_reset_that_came_after_the_traffic_is_the_testers_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.engine.simulation.engine.PROGRESS_S", 10.0)
    run = measure(reset(10_000), code=3)
    assert "only after the traffic had ended" in run.experiments[0].reason


def test_what_is_reset_by_whom_has_to_fit() -> None:
    plan_of(reset(10_000, kind="power", command=["true"], command_timeout="500ms"))
    with pytest.raises(ValueError, match=r"greater than 0|more than 0"):
        plan_of(reset(10_000, kind="power", command=["true"], command_timeout=0))
    with pytest.raises(ValueError, match="kind power needs the `command`"):
        plan_of(reset(10_000, kind="power"))
    with pytest.raises(PlanProblems, match="a simulated gateway runs no commands"):
        resolve(plan_of(reset(10_000, kind="power", command=["true"])))
