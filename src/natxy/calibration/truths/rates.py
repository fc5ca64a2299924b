# SPDX-License-Identifier: Apache-2.0
"""Truths about rates and bursts: throughput, frame loss rate, back-to-back frames, bursts, overload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from natxy.calibration.case import Case, Expected, both_directions, exactly, within
from natxy.calibration.scale import Scale
from natxy.plan.model.units import Unit, format_duration
from natxy.procedures.back_to_back import FRAMES_AT_ONCE

PHASE2_CONNECTIONS: Final = 1000
BURST: Final = 64
BUFFER: Final = 2000
_PARTIAL_LOSS: Final = 0.05


def throughput(scale: Scale) -> Iterator[Case]:
    yield _throughput("throughput", "Forwarding", scale)
    if high := scale.high:
        yield _throughput("throughput-high", "Forwarding at a high rate", high)
    yield _throughput("throughput-ipv6", "Forwarding IPv6", scale, family="ipv6")
    yield _throughput("throughput-siit", "SIIT", scale, translation="siit")
    nat = {"connections": PHASE2_CONNECTIONS, "phase1_rate": scale.connections_cps}
    yield _throughput("throughput-nat44", "NAT44", scale, **nat)
    yield _throughput("throughput-nat66", "NAT66", scale, **nat, family="ipv6")
    yield _throughput("throughput-nat64", "NAT64", scale, **nat, translation="nat64")
    yield _throughput("throughput-nat46", "NAT46", scale, **nat, translation="nat46")


def _throughput(name: str, title: str, scale: Scale, **experiment: Any) -> Case:
    gateway = limited(scale, mode="nat") if "connections" in experiment else limited(scale)
    search = {"procedure": "throughput", "search": scale.search(scale.rate_fps)}
    return Case(name, title, gateway, search | experiment, {"rate": highest_rate(scale)})


def ndr_pdr(scale: Scale) -> Iterator[Case]:
    """The gateway forwards its rate and, once, its buffer's frames; the rest of a trial is the allowed loss."""
    lossless = highest_rate(scale)
    more = 1 / (1 - _PARTIAL_LOSS)
    partial = Expected(lossless.truth * more, lossless.why, lossless.below * more, lossless.above * more)
    search = {"min_rate": 0.3 * scale.rate_fps, "max_rate": 2 * scale.rate_fps, "error": scale.rate_fps * scale.width}
    yield Case(
        "ndr-pdr", "NDR and PDR", limited(scale),
        {
            "procedure": {"name": "ndr-pdr", "partial_loss": f"{_PARTIAL_LOSS:.0%}"},
            "search": search | {"kind": "mlrsearch"},
        },
        {"rate": lossless, "partial_drop_rate": partial},
    )  # fmt: skip


def frame_loss_rate(scale: Scale) -> Iterator[Case]:
    yield _frame_loss("frame-loss-rate", "Frame loss", scale)
    if high := scale.high:
        yield _frame_loss("frame-loss-rate-high", "Frame loss at a high rate", high)


def _frame_loss(name: str, title: str, scale: Scale) -> Case:
    rate_fps, trial_s = scale.rate_fps, scale.trial_s
    offered = 2 * rate_fps * trial_s
    passed = rate_fps * trial_s + scale.buffer(rate_fps)
    late_percent = 100 * (rate_fps * scale.late_s + 1) / offered
    late = format_duration(scale.late_s)
    loss = within(100 * (1 - passed / offered), late_percent, f"the last frame may be {late} late")
    return Case(
        name, title, limited(scale),
        {"procedure": {"name": "frame-loss-rate", "maximum_rate": 2 * rate_fps}},
        {"lossless_rate": exactly(rate_fps, "one of the rates tried")}
        | both_directions("loss_at_maximum", loss, loss),
    )  # fmt: skip


def receive_rate(scale: Scale) -> Iterator[Case]:
    """At twice the gateway's rate, it forwards that rate, and its buffer's frames once."""
    rate = highest_rate(scale)
    late_fps = rate.truth * scale.late_s / scale.trial_s
    expected = within(
        rate.truth, late_fps + 1 / scale.trial_s, f"the last frame may be {format_duration(scale.late_s)} late"
    )
    yield Case(
        "receive-rate", "Receive rate", limited(scale),
        {"procedure": {"name": "receive-rate", "maximum_rate": 2 * scale.rate_fps, "trials": 3}},
        {"receive_rate": expected} | both_directions("receive_rate", expected, expected),
    )  # fmt: skip


def back_to_back(scale: Scale) -> Iterator[Case]:
    """While a burst arrives, the gateway forwards a share of it; the rest has to fit into the buffer."""
    rate_fps = scale.rate_fps
    maximum_fps = 2 * rate_fps
    frames = BUFFER / (1 - rate_fps / maximum_fps)
    late = within(frames, FRAMES_AT_ONCE + 1, f"the tester sends up to {FRAMES_AT_ONCE} frames at once")
    per_frame_s = 1 / maximum_fps
    seconds = within(frames * per_frame_s, late.above * per_frame_s, late.why)
    yield Case(
        "back-to-back", "Back-to-back frames", limited(scale, buffer_frames=BUFFER),
        {
            "procedure": {"name": "back-to-back", "maximum_rate": maximum_fps, "longest_burst": 10 * BUFFER},
            "rate": rate_fps,
            "directions": "forward",
        },
        {"burst": late, "implied_buffer": seconds},
    )  # fmt: skip


def burst(scale: Scale) -> Iterator[Case]:
    """The buffer has room for a whole burst besides what earlier bursts have left."""
    rate_fps, buffer = scale.rate_fps, scale.buffer(scale.rate_fps) + BURST
    late_fps = (rate_fps * scale.late_s + BURST) / scale.trial_s
    truth = rate_fps + buffer / scale.trial_s
    why = f"{scale.why_rate(Unit.FPS, scale.error_fps)}, and the last burst may exceed the buffer"
    expected = Expected(truth, why, scale.error_fps + late_fps, late_fps)
    yield Case(
        "burst", "Bursts", limited(scale, buffer_frames=buffer),
        {"procedure": {"name": "burst", "frames": BURST}, "search": scale.search(rate_fps)},
        {"rate": expected},
    )  # fmt: skip


def overload(scale: Scale) -> Iterator[Case]:
    """With all connections in the table, a frame costs the gateway twice as much as with one."""
    connections = PHASE2_CONNECTIONS
    single = highest_rate(scale)
    many = Expected(single.truth / 2, single.why, single.below, single.above)
    most = 100 * (single.below + single.above) / single.truth
    yield Case(
        "overload", "Overload", limited(scale, mode="nat", flow_cost=1 / (connections - 1)),
        {
            "procedure": "overload",
            "connections": connections,
            "phase1_rate": scale.delays_fps,
            "search": scale.search(scale.rate_fps),
        },
        {"degradation": within(50, most, f"two searches, each: {single.why}"), "single": single, "many": many},
    )  # fmt: skip


def limited(scale: Scale, **others: Any) -> dict[str, Any]:
    """Returns the settings of a gateway that forwards the scale's rate in each direction."""
    rate_fps = scale.rate_fps
    return {"max_rate": rate_fps, "rate_scope": "direction", "buffer_frames": scale.buffer(rate_fps), **others}


def highest_rate(scale: Scale) -> Expected:
    """Returns the highest rate of a trial without loss, to which the buffer contributes."""
    rate_fps, trial_s = scale.rate_fps, scale.trial_s
    late_fps = (rate_fps * scale.late_s + 1) / trial_s
    truth = rate_fps + scale.buffer(rate_fps) / trial_s
    why = scale.why_rate(Unit.FPS, scale.error_fps)
    return Expected(truth, why, below=scale.error_fps + late_fps, above=late_fps)
