# SPDX-License-Identifier: Apache-2.0
"""Tests that every procedure has a truth, and compares the truths of a token bucket with a simulated one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.calibration.calibration import SCALES, Calibration
from natxy.calibration.case import Case
from natxy.calibration.scale import Scale
from natxy.calibration.truths import TRUTHS, connections, rates
from natxy.calibration.wiring import Wiring
from natxy.errors import PlanError
from natxy.plan.gateways.reference import ReferenceConfig
from natxy.plan.procedures import DECLARATIONS

SCALE = SCALES[Wiring.MEMIF]


def cases(wiring: Wiring, *only: str) -> tuple[Case, ...]:
    return Calibration.choose(wiring, only=only).cases


# What hosts measure is iperf3's figure: no frame of it is natxy's, nor one that the reference gateway forwards. And no
# frame tells what a processor has executed. The reference gateway is no DNS64 server: a server in the engine's tests is
# one that keeps nothing, and servers of others are compared with what dnsperf says of them.
BY_FRAMES = [
    name
    for name, declaration in DECLARATIONS.items()
    if not (declaration.between_hosts or declaration.counts_instructions or declaration.asks_dns64)
]


@pytest.mark.parametrize("procedure", BY_FRAMES)
def test_every_procedure_has_a_truth(procedure: str) -> None:
    assert procedure in TRUTHS, f"{procedure} is not calibrated: add its cases to natxy.calibration.truths"
    own = [*TRUTHS[procedure](SCALE)]
    headline = DECLARATIONS[procedure].headline().name
    assert own
    assert all(case.procedure == procedure and headline in case.figures for case in own)


@pytest.mark.parametrize("wiring", Wiring)
def test_a_calibration_is_a_plan(wiring: Wiring) -> None:
    calibration = Calibration.choose(wiring)
    experiments = calibration.plan.experiments
    assert [experiment.name for experiment in experiments] == [case.name for case in calibration.cases]
    hops = [hop for experiment in experiments for hop in experiment.gateway.hops]
    assert all(isinstance(hop, ReferenceConfig) for hop in hops)


def test_a_part_of_it_by_procedure_and_by_name() -> None:
    assert {case.procedure for case in cases(Wiring.MEMIF, "latency")} == {"latency"}
    assert [case.name for case in cases(Wiring.MEMIF, "duplicates")] == ["duplicates"]
    with pytest.raises(PlanError, match="unknown procedure or row 'latenzy'; did you mean 'latency'"):
        cases(Wiring.MEMIF, "latenzy")


def test_delays_have_no_truth_where_the_kernel_is_part_of_them() -> None:
    over_veth = {case.procedure for case in cases(Wiring.VETH)}
    assert over_veth == {*BY_FRAMES} - {"latency", "single-tag-latency", "pdv", "ipdv"}
    with pytest.raises(PlanError, match="Not measured over veth pairs: latency, "):
        cases(Wiring.VETH, "pdv")


def lost(frames: int, sent_fps: float, passed_fps: float, depth: int) -> int:
    """Returns the loss of frames that arrive one by one at a token bucket, which is full at first."""
    tokens, dropped = float(depth), 0
    for _ in range(frames):
        if tokens >= 1 - 1e-9:
            tokens -= 1
        else:
            dropped += 1
        tokens = min(depth, tokens + passed_fps / sent_fps)
    return dropped


scales = st.builds(
    Scale,
    rate_fps=st.floats(min_value=2_000, max_value=40_000),
    trial_s=st.floats(min_value=0.1, max_value=0.5),
    connections=st.integers(min_value=2_000, max_value=20_000),
)


@given(scale=scales)
def test_the_highest_rate_is_what_a_token_bucket_passes(scale: Scale) -> None:
    expected = rates.highest_rate(scale)
    depth = scale.buffer(scale.rate_fps)

    def loses(rate_fps: float) -> bool:
        return lost(round(rate_fps * scale.trial_s), rate_fps, scale.rate_fps, depth) > 0

    assert not loses(expected.truth - 2 / scale.trial_s)
    assert loses(expected.truth + 3 / scale.trial_s)


@given(scale=scales)
def test_the_highest_connection_rate_is_what_a_token_bucket_passes(scale: Scale) -> None:
    (case,) = connections.connection_rate(scale)
    truth, depth = case.figures["rate"].truth, scale.buffer(scale.connections_cps)
    assert lost(scale.connections, truth * 0.998, scale.connections_cps, depth) == 0
    assert lost(scale.connections, truth * 1.002, scale.connections_cps, depth) > 0


@given(scale=scales)
def test_the_longest_burst_is_what_a_token_bucket_holds(scale: Scale) -> None:
    (case,) = rates.back_to_back(scale)
    frames = round(case.figures["burst"].truth)
    assert lost(frames - 1, 2 * scale.rate_fps, scale.rate_fps, rates.BUFFER) == 0
    assert lost(frames + 3, 2 * scale.rate_fps, scale.rate_fps, rates.BUFFER) > 0


@given(scale=scales)
def test_twice_the_rate_passes_at_the_rate_and_once_the_buffer(scale: Scale) -> None:
    (case,) = rates.receive_rate(scale)
    expected = case.figures["receive_rate"]
    frames = round(2 * scale.rate_fps * scale.trial_s)
    dropped = lost(frames, 2 * scale.rate_fps, scale.rate_fps, scale.buffer(scale.rate_fps))
    assert abs((frames - dropped) / scale.trial_s - expected.truth) <= expected.above


@given(scale=scales)
def test_the_loss_at_twice_the_rate_is_what_a_token_bucket_drops(scale: Scale) -> None:
    (case,) = rates.frame_loss_rate(scale)
    expected = case.figures["loss_at_maximum_forward"]
    frames = round(2 * scale.rate_fps * scale.trial_s)
    dropped = lost(frames, 2 * scale.rate_fps, scale.rate_fps, scale.buffer(scale.rate_fps))
    assert abs(100 * dropped / frames - expected.truth) <= expected.above
