# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import FrameFormat, StreamSpec, TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.engine.simulation.stalls import drawn_stalls
from natxy.plan.gateways.simulated import SimulatedConfig, Stalls
from tests.support.engine_trials import phase1_of, validation_of

FRAME = FrameFormat(size=64)


def stream(source: Side, rate_fps: float = 50_000, frames: int = 50_000) -> StreamSpec:
    return StreamSpec(name=source, source=source, frame=FRAME, rate_fps=rate_fps, frames=frames)


def stalling(*, duration: float, every: float = 1.0, buffer_frames: int = 0, watched: bool = True) -> SimulatedDut:
    stalls = {"every": every, "duration": duration, "watched": watched}
    return SimulatedDut(SimulatedConfig.model_validate({"buffer_frames": buffer_frames, "stalls": stalls}))


def measure(dut: SimulatedDut, seed: int) -> TrialResult:
    request = TrialRequest(streams=[stream(Side.LEFT), stream(Side.RIGHT)], seed=seed)
    return SimulatedEngine(dut).run_trial(request)


def test_stalls_come_as_often_as_asked_and_anywhere() -> None:
    drawn = drawn_stalls(Stalls(every=2.0, duration=0.01), 20_000, "1")
    assert len(drawn) == pytest.approx(10_000, rel=0.05)
    assert sum(stall.start_s % 1 < 0.5 for stall in drawn) == pytest.approx(5000, rel=0.1)


def test_a_stall_loses_what_arrives_meanwhile_and_silences_both_directions() -> None:
    dut = stalling(duration=0.01)
    seen = set()
    for seed in range(50):
        result = measure(dut, seed)
        stalls = [stall for stall in dut.stalls if stall.end_s < 1]
        if len(stalls) != len(dut.stalls):
            continue
        seen.add(len(stalls))
        assert dut.stalled_s == pytest.approx(0.01 * len(stalls))
        assert (result.verdict == Verdict.FAIL) == bool(stalls)
        for one in result.streams:
            assert one.lost == pytest.approx(500 * len(stalls), abs=2 * len(stalls))
            assert (one.longest_silence is not None) == bool(stalls)
            if one.longest_silence:
                assert one.longest_silence.duration_s == pytest.approx(0.01, abs=3e-5)
    assert {0, 1, 2} <= seen


def test_a_stall_that_the_buffer_covers_loses_nothing() -> None:
    dut = stalling(duration=0.01, buffer_frames=1000)
    assert all(measure(dut, seed).verdict == Verdict.PASS for seed in range(20))


def test_the_same_trial_has_the_same_stalls() -> None:
    dut = stalling(duration=0.01, every=0.2)
    assert measure(dut, 7) == measure(dut, 7).model_copy(update={"run_id": 1})


def test_connections_whose_frames_meet_a_stall_are_not_made() -> None:
    dut = stalling(duration=0.01, every=0.1)
    engine = SimulatedEngine(dut)
    made = engine.run_trial(phase1_of(stream(Side.LEFT))).established
    assert made is not None
    assert made <= 50_000 - 500 * (len(dut.stalls) - 1)
    validated = engine.run_trial(validation_of(stream(Side.LEFT), rate_fps=50_000, seed=2))
    assert validated.streams[0].received < made


def test_stalls_can_be_unknown() -> None:
    dut = stalling(duration=0.01, every=0.1, watched=False)
    assert measure(dut, 1).verdict == Verdict.FAIL
    assert dut.stalled_s is None
