# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_address

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    StreamKind,
    StreamSpec,
    TrialRequest,
)
from natxy.engine.messages.results import Cause, Progress, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import NatxyError
from natxy.plan.gateways.simulated import SimulatedConfig
from tests.support.engine_trials import phase1_of, validation_of

FRAME = FrameFormat(size=64)


def engine_for(tester_limit_fps: float | None = None, **settings: float) -> SimulatedEngine:
    config = SimulatedConfig.model_validate({"forwarding_fps": 1000, "connection_rate_fps": 500} | settings)
    return SimulatedEngine(SimulatedDut(config), tester_limit_fps)


def stream(rate_fps: float, source: Side = Side.LEFT, kind: StreamKind = StreamKind.FLOWS) -> StreamSpec:
    return StreamSpec(name=source, source=source, kind=kind, frame=FRAME, rate_fps=rate_fps, frames=1000)


def both(rate_fps: float) -> TrialRequest:
    return TrialRequest(streams=[stream(rate_fps), stream(rate_fps, Side.RIGHT)], seed=1)


def test_both_directions_share_the_forwarding_rate() -> None:
    engine = engine_for()
    assert engine.run_trial(both(500)).verdict == Verdict.PASS
    overloaded = engine.run_trial(both(1000))
    assert (overloaded.verdict, overloaded.cause) == (Verdict.FAIL, Cause.LOSS)
    assert [result.received for result in overloaded.streams] == [500, 500]


def test_one_lossy_direction_fails_a_trial() -> None:
    result = engine_for(reverse_loss_ratio=0.01).run_trial(both(10))
    assert result.verdict == Verdict.FAIL
    assert [stream.lost for stream in result.streams] == [0, 10]


def test_frames_that_come_after_their_timeout_are_lost() -> None:
    engine = engine_for(
        forward_delay_ns=1_000_000, reverse_delay_ns=3_000_000, delay_spread_ns=0, reverse_loss_ratio=0.1
    )
    request = both(10)
    timed = [each.model_copy(update={"frame_timeout_s": 0.002}) for each in request.streams]
    result = engine.run_trial(request.model_copy(update={"streams": timed}))
    assert (result.verdict, result.cause) == (Verdict.FAIL, Cause.LOSS)
    assert [(each.received, each.timed_out, each.lost) for each in result.streams] == [(1000, 0, 0), (0, 900, 1000)]
    assert result.streams[1].delay
    assert result.streams[1].delay.count == 900
    assert result.reason == "right: 1,000 of 1,000 frames lost (100.0000 %), 900 frames came later than 2 ms"
    exact = [each.model_copy(update={"frame_timeout_s": 0.003}) for each in request.streams]
    assert engine.run_trial(request.model_copy(update={"streams": exact})).streams[1].timed_out == 0


def test_a_slow_tester_is_invalid_and_not_the_duts_fault() -> None:
    result = engine_for(tester_limit_fps=300).run_trial(both(400))
    assert (result.verdict, result.cause) == (Verdict.INVALID, Cause.LATE)
    assert result.streams[0].pacing.overrun_ns > 0


def test_four_tuples_that_are_drawn_repeat() -> None:
    """1000 draws of 500 four-tuples are about 432 different ones, of which this gateway makes at most 200 a second."""
    address = AddressField(address=ip_address("198.18.0.2"))
    flows = FlowSpace(
        source_address=address,
        destination_address=address,
        source_port=PortField(min=1, max=500),
        destination_port=PortField(min=80, max=80),
    )
    drawn = stream(460).model_copy(update={"flows": flows})
    engine = engine_for(connection_rate_fps=200, table_capacity=432)
    result = engine.run_trial(phase1_of(drawn))
    assert (result.established, result.verdict) == (1000, Verdict.PASS)
    assert engine.run_trial(validation_of(drawn, rate_fps=100)).verdict == Verdict.PASS
    fast = drawn.model_copy(update={"rate_fps": 470})
    assert engine.run_trial(phase1_of(fast)).verdict == Verdict.FAIL
    small = engine_for(table_capacity=431)
    assert small.run_trial(phase1_of(drawn)).verdict == Verdict.FAIL


@pytest.mark.parametrize(("rate_fps", "capacity", "made"), [(500, 2000, 1000), (1000, 2000, 500), (500, 700, 700)])
def test_connections_are_limited_by_rate_and_table(rate_fps: float, capacity: int, made: int) -> None:
    engine = engine_for(table_capacity=capacity)
    result = engine.run_trial(phase1_of(stream(rate_fps)))
    assert result.established == made
    assert (result.verdict == Verdict.PASS) == (made == 1000)
    validated = engine.run_trial(validation_of(stream(500), rate_fps=100))
    assert validated.streams[0].lost == 1000 - made


@pytest.mark.parametrize(("cost", "made"), [(0.0, 1000), (1 / 999, 500), (3 / 999, 250)])
def test_more_connections_may_cost_more(cost: float, made: int) -> None:
    result = engine_for(connection_cost=cost, table_capacity=2000).run_trial(phase1_of(stream(500)))
    assert result.established == pytest.approx(made, abs=1)


@pytest.mark.parametrize(("rate_fps", "lost"), [(400, 0), (800, 500), (2000, 800)])
def test_a_validation_may_have_a_limit_of_its_own(rate_fps: float, lost: int) -> None:
    engine = engine_for(validation_fps=400, table_capacity=2000)
    engine.run_trial(phase1_of(stream(500)))
    result = engine.run_trial(validation_of(stream(500), rate_fps=rate_fps))
    assert result.streams[0].lost == lost


def test_replies_need_a_phase_1() -> None:
    request = TrialRequest(streams=[stream(10, Side.RIGHT, StreamKind.REPLIES)], seed=1)
    with pytest.raises(NatxyError, match="before a phase 1"):
        engine_for().run_trial(request)


def test_time_is_virtual() -> None:
    engine = engine_for()
    seen: list[Progress] = []
    engine.run_trial(both(10).model_copy(update={"drain_s": 2.0}), seen.append)
    assert engine.elapsed_s == pytest.approx(102)
    assert [progress.elapsed_s for progress in seen[:3]] == pytest.approx([0.2, 0.4, 0.6])
    assert seen[-1].sent == 2000


@pytest.mark.parametrize(("loss_ratio", "ends_early", "drain_s"), [(0, True, 0), (0.01, True, 2), (0, False, 2)])
def test_a_drain_ends_early_if_it_may_and_nothing_was_lost(loss_ratio: float, ends_early: bool, drain_s: float) -> None:
    engine = engine_for(forward_loss_ratio=loss_ratio, reverse_loss_ratio=loss_ratio)
    wait = {"drain_s": 2.0, "drain_ends_early": ends_early}
    engine.run_trial(both(10).model_copy(update=wait))
    assert engine.elapsed_s == pytest.approx(100 + drain_s)
    engine.run_trial(phase1_of(stream(100)).model_copy(update=wait))
    assert engine.elapsed_s == pytest.approx(110 + 2 * drain_s)
    engine.run_trial(validation_of(stream(500), rate_fps=100).model_copy(update=wait))
    assert engine.elapsed_s == pytest.approx(120 + 3 * drain_s)
