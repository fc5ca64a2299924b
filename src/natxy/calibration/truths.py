# SPDX-License-Identifier: Apache-2.0
"""What every procedure has to find. A new procedure adds its cases to TRUTHS.

A truth is what follows from the gateway's settings by arithmetic; a tolerance is what the search, the clock and the
limits of a valid trial leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from natxy.calibration.case import Case, Expected, exactly, within
from natxy.calibration.scale import MAX_PAUSE_S, Scale
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.model.units import Unit, format_duration
from natxy.plan.procedures.system_recovery import OVERLOAD_SHARE
from natxy.procedures.back_to_back import FRAMES_AT_ONCE

PHASE2_CONNECTIONS: Final = 1000
BURST: Final = 64
BUFFER: Final = 2000
RECOVERY_S: Final = 0.1
CAPACITY: Final = 3000
CLEAR_S: Final = 0.02
TEAR_DOWN_S: Final = 0.5

# Of a delay: a frame waits until its receiver looks, twice, and its time stamp is of when it was made.
DELAY_NS: Final = 50_000
_WHY_DELAY: Final = "two looks into a ring, each within 25 µs on a shared machine"
# Of a command to the gateway, as seen by who gives it.
COMMAND_S: Final = 0.01
_WHY_COMMAND: Final = f"two commands are timed from outside, to {format_duration(COMMAND_S)}"

_WHY_PAUSE: Final = f"the tester's core may pause for {format_duration(MAX_PAUSE_S)}"

Truth = Callable[[Scale], Iterator[Case]]


def limited(scale: Scale, **others: Any) -> dict[str, Any]:
    """A gateway that forwards the scale's rate in each direction."""
    rate_fps = scale.rate_fps
    own = {"max_rate": rate_fps, "rate_scope": "direction", "buffer_frames": scale.buffer(rate_fps)}
    return own | others


def highest_rate(scale: Scale) -> Expected:
    """Of trials that the buffer helps to pass."""
    rate_fps, trial_s = scale.rate_fps, scale.trial_s
    late_fps = (rate_fps * scale.late_s + 1) / trial_s
    truth = rate_fps + scale.buffer(rate_fps) / trial_s
    why = scale.why_rate(Unit.FPS, scale.error_fps)
    return Expected(truth, why, below=scale.error_fps + late_fps, above=late_fps)


def throughput(scale: Scale) -> Iterator[Case]:
    search = {"procedure": "throughput", "search": scale.search(scale.rate_fps)}
    figures = {"rate": highest_rate(scale)}
    nat: dict[str, Any] = {"connections": PHASE2_CONNECTIONS, "phase1_rate": scale.connections_cps}
    yield Case("throughput", "Forwarding", limited(scale), search, figures)
    if high := scale.high:
        search_high = {"procedure": "throughput", "search": high.search(high.rate_fps)}
        figures_high = {"rate": highest_rate(high)}
        yield Case("throughput-high", "Forwarding at a high rate", limited(high), search_high, figures_high)
    yield Case("throughput-ipv6", "Forwarding IPv6", limited(scale), search | {"family": "ipv6"}, figures)
    yield Case("throughput-siit", "SIIT", limited(scale), search | {"translation": "siit"}, figures)
    gateway = limited(scale, mode="nat")
    yield Case("throughput-nat44", "NAT44", gateway, search | nat, figures)
    yield Case("throughput-nat66", "NAT66", gateway, search | nat | {"family": "ipv6"}, figures)
    yield Case("throughput-nat64", "NAT64", gateway, search | nat | {"translation": "nat64"}, figures)
    yield Case("throughput-nat46", "NAT46", gateway, search | nat | {"translation": "nat46"}, figures)


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
        {"lossless_rate": exactly(rate_fps, "one of the rates tried"), **_both("loss_at_maximum", loss, loss)},
    )  # fmt: skip


def latency(scale: Scale) -> Iterator[Case]:
    yield Case(
        "latency", "Latency",
        _delaying(_delays((0.98, 1e-3), (0.02, 3e-3)), _delays((0.98, 2e-3), (0.02, 4e-3))),
        {"procedure": {"name": "latency", "tagged_frames": round(scale.delays_fps * scale.moment_s / 2)}}
        | _for_a_moment(scale),
        {"tl": _steady_delay(2e6), "wcl": _delay(4e6)}
        | _both("tl", _steady_delay(1e6), _steady_delay(2e6))
        | _both("wcl", _delay(3e6), _delay(4e6))
        | _both("lost_tagged", exactly(0), exactly(0)),
    )  # fmt: skip


def single_tag_latency(scale: Scale) -> Iterator[Case]:
    yield Case(
        "single-tag-latency", "Latency by one tag",
        _delaying(_delays((1, 1e-3)), _delays((1, 2e-3))),
        {"procedure": "single-tag-latency"} | _for_a_moment(scale),
        {"latency": _delay(2e6)} | _both("latency", _delay(1e6), _delay(2e6)),
    )  # fmt: skip


def pdv(scale: Scale) -> Iterator[Case]:
    """Of delays that are all as frequent, 99.9 % lie below 99.9 % of the way from the least to the greatest."""
    yield Case(
        "pdv", "PDV",
        _delaying([{"min": 1e-3, "max": 2e-3}], [{"min": 1e-3, "max": 3e-3}]),
        {"procedure": "pdv"} | _for_a_moment(scale),
        {"pdv": _delay(0.999 * 2e6)}
        | _both("pdv", _delay(0.999 * 1e6), _delay(0.999 * 2e6))
        | _both("min_delay", _steady_delay(1e6), _steady_delay(1e6))
        | _both("lost", exactly(0), exactly(0)),
    )  # fmt: skip


def ipdv(scale: Scale) -> Iterator[Case]:
    yield Case(
        "ipdv", "IPDV",
        _delaying(_delays((0.9, 1e-3), (0.1, 2e-3)), _delays((0.9, 1e-3), (0.1, 3e-3))),
        {"procedure": "ipdv"} | _for_a_moment(scale),
        {"max": _delay(2e6)}
        | _both("min", _delay(-1e6), _delay(-2e6))
        | _both("median", _steady_delay(0), _steady_delay(0))
        | _both("max", _delay(1e6), _delay(2e6)),
    )  # fmt: skip


def back_to_back(scale: Scale) -> Iterator[Case]:
    """While a burst of n frames comes in, the gateway forwards its share of them; the rest has to fit the buffer."""
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
    """The first frame of a burst finds room for the whole of it, or of what the bursts before it left."""
    rate_fps, buffer = scale.rate_fps, scale.buffer(scale.rate_fps) + BURST
    late_fps = (rate_fps * scale.late_s + BURST) / scale.trial_s
    truth = rate_fps + buffer / scale.trial_s
    why = f"{scale.why_rate(Unit.FPS, scale.error_fps)}, and the last burst need not fit"
    expected = Expected(truth, why, scale.error_fps + late_fps, late_fps)
    yield Case(
        "burst", "Bursts", limited(scale, buffer_frames=buffer),
        {"procedure": {"name": "burst", "frames": BURST}, "search": scale.search(rate_fps)},
        {"rate": expected},
    )  # fmt: skip


def system_recovery(scale: Scale) -> Iterator[Case]:
    """Recovery begins when the buffer is empty again, which it is some time after the rate was halved."""
    rate_fps, buffer = scale.rate_fps, scale.buffer(scale.rate_fps)
    overload_fps = OVERLOAD_SHARE * rate_fps
    recovery_s = RECOVERY_S + buffer / (rate_fps - overload_fps / 2)
    frames = overload_fps * scale.trial_s
    late = format_duration(scale.late_s)
    lost = within(
        100 * (1 - (rate_fps * scale.trial_s + buffer) / frames),
        100 * (rate_fps * scale.late_s + 1) / frames,
        f"the last frame may be {late} late",
    )
    time_s = within(recovery_s, MAX_PAUSE_S + 3 / overload_fps, _WHY_PAUSE)
    yield Case(
        "system-recovery", "System recovery", limited(scale, recovery_time=RECOVERY_S),
        {"procedure": "system-recovery", "rate": rate_fps},
        {"recovery": time_s} | _both("recovery", time_s, time_s) | _both("overload_loss", lost, lost),
    )  # fmt: skip


def reset(scale: Scale) -> Iterator[Case]:
    time_s = within(RECOVERY_S, MAX_PAUSE_S + 2 / scale.delays_fps, _WHY_PAUSE)
    methods = ("loss", "timestamps")
    directions = {name: time_s for each in methods for name in (each, f"{each}_forward", f"{each}_reverse")}
    yield Case(
        "reset",
        "Reset",
        {"restart_time": RECOVERY_S},
        {"procedure": {"name": "reset", "recovery": 10 * RECOVERY_S}, "rate": scale.delays_fps},
        directions,
    )


def overload(scale: Scale) -> Iterator[Case]:
    """With all connections in the table a frame costs twice as much as with one."""
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


def setting_up(scale: Scale, **others: Any) -> dict[str, Any]:
    """A gateway that sets up the scale's connections a second."""
    rate_cps = scale.connections_cps
    burst = scale.buffer(rate_cps)
    return {"mode": "nat", "connection_rate": rate_cps, "connection_burst": burst, **others}


def connection_rate(scale: Scale) -> Iterator[Case]:
    yield Case(
        "connection-rate", "Connections", setting_up(scale),
        {"procedure": "connection-rate"} | _connecting(scale),
        {"rate": _highest_connection_rate(scale)},
    )  # fmt: skip


def validated_connection_rate(scale: Scale) -> Iterator[Case]:
    yield Case(
        "validated-connection-rate", "Validated connections", setting_up(scale),
        {"procedure": "validated-connection-rate"} | _connecting(scale),
        {"rate": _highest_connection_rate(scale)},
    )  # fmt: skip


def tear_down_rate(scale: Scale) -> Iterator[Case]:
    net_s = TEAR_DOWN_S
    rate_cps = scale.connections / net_s
    share = COMMAND_S / net_s
    yield Case(
        "tear-down-rate", "Deleting connections", {"mode": "nat", "tear_down_rate": rate_cps, "clear_time": CLEAR_S},
        {"procedure": "tear-down-rate", "connections": scale.connections, "phase1_rate": scale.connections_cps},
        {
            "rate": within(rate_cps, rate_cps * share / (1 - share), _WHY_COMMAND),
            "net": within(net_s, COMMAND_S, _WHY_COMMAND),
        },
    )  # fmt: skip


def table_capacity(scale: Scale) -> Iterator[Case]:
    rate_cps = scale.connections_cps
    for policy in TablePolicy:
        yield Case(
            f"table-capacity-{policy}", f"Table that would {_POLICIES[policy]}",
            {"mode": "nat", "table_capacity": CAPACITY, "table_policy": policy.value},
            {
                # It sets up connections as fast with many: there is no need to try any slower.
                "procedure": {
                    "name": "table-capacity", "initial_connections": 1000, "max_connections": 20_000,
                    "beta": 0.9, "gamma": 0.9,
                },
                "search": {"min_rate": rate_cps / 2, "max_rate": rate_cps, "error": rate_cps / 2},
            },
            {"capacity": exactly(CAPACITY)},
        )  # fmt: skip


_POLICIES: Final = {
    TablePolicy.KEEP: "refuse new connections",
    TablePolicy.LRU: "replace the oldest ones",
    TablePolicy.EARLY_DROP: "replace those without a reply",
    TablePolicy.COLLAPSE: "collapse",
}

TRUTHS: Final[dict[str, Truth]] = {
    "throughput": throughput,
    "frame-loss-rate": frame_loss_rate,
    "latency": latency,
    "single-tag-latency": single_tag_latency,
    "pdv": pdv,
    "ipdv": ipdv,
    "back-to-back": back_to_back,
    "burst": burst,
    "system-recovery": system_recovery,
    "reset": reset,
    "overload": overload,
    "connection-rate": connection_rate,
    "validated-connection-rate": validated_connection_rate,
    "tear-down-rate": tear_down_rate,
    "table-capacity": table_capacity,
}


def _highest_connection_rate(scale: Scale) -> Expected:
    """All N connections pass when the buffer holds those that came too fast."""
    rate_cps, connections = scale.connections_cps, scale.connections
    truth = rate_cps * connections / (connections - scale.buffer(rate_cps))
    late_cps = truth * (rate_cps * scale.late_s + 1) / connections
    width = rate_cps * scale.width
    return Expected(truth, scale.why_rate(Unit.CPS, width), width + late_cps, late_cps)


def _connecting(scale: Scale) -> dict[str, Any]:
    return {"connections": scale.connections, "search": scale.search(scale.connections_cps)}


def _delay(truth_ns: float) -> Expected:
    return within(truth_ns, DELAY_NS, _WHY_DELAY, bears_pause_s=0)


def _steady_delay(truth_ns: float) -> Expected:
    """A median or a least one."""
    return within(truth_ns, DELAY_NS, _WHY_DELAY)


def _for_a_moment(scale: Scale) -> dict[str, Any]:
    return {"rate": scale.delays_fps, "timing": {"trial": scale.moment_s}}


def _delays(*shares: tuple[float, float]) -> list[dict[str, float]]:
    return [{"share": share, "min": delay_s} for share, delay_s in shares]


def _delaying(forward: list[dict[str, float]], reverse: list[dict[str, float]]) -> dict[str, Any]:
    return {"forward": {"delay": forward}, "reverse": {"delay": reverse}}


def _both(name: str, forward: Expected, reverse: Expected) -> dict[str, Expected]:
    return {f"{name}_forward": forward, f"{name}_reverse": reverse}
