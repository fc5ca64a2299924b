# SPDX-License-Identifier: Apache-2.0
"""Makes the requests of a trial from a configuration and arguments.

The streams are those of siitperf: fields that vary do so independently of each other, background frames are native
IPv6, and phase 1 enumerates. Every frame has correct checksums, whatever varies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from natxy.api.engine import (
    AddressField,
    FlowSpace,
    FrameFormat,
    PortField,
    Side,
    StreamKind,
    StreamRole,
    StreamSpec,
    TaggedFrames,
    TrialLimits,
    TrialRequest,
)
from natxy.api.terms import AddressRange, Family, Order, Selection
from natxy_siitperf.arguments import ArgumentError, Arguments, Phase1, counts_connections
from natxy_siitperf.conf import Conf
from natxy_siitperf.program import Program
from natxy_siitperf.sides import (
    ORDERS,
    Direction,
    Letter,
    active,
    destination_key,
    enumerates,
    family,
    hosts,
    initiator,
    networks,
    order_of,
    port_order,
    port_range,
    real_key,
)

TTL: Final = 10
MOST_OVERRUN: Final = 1e-5
"""The share of a trial by which siitperf's sender may be late."""

# The engine repeats the order of foreground and background after at most so many frames.
_LONGEST_CYCLE: Final = 1000
_SIDES: Final = {Letter.LEFT: Side.LEFT, Letter.RIGHT: Side.RIGHT}


PRELIMINARY: Final = "Preliminary"
"""siitperf's word for phase 1."""


@dataclass(frozen=True)
class Limits:
    """Limits how late a sender may be: to siitperf's share of the duration, or to `floor_s` if that is longer."""

    floor_s: float = 0.0

    def overrun_s(self, duration_s: float) -> float:
        return max(self.floor_s, MOST_OVERRUN * duration_s)


def trial_request(conf: Conf, arguments: Arguments, seed: int, limits: Limits) -> TrialRequest:
    """Requests the traffic of the active directions, with the delays that the program needs.

    Raises ArgumentError if natxy cannot send it.
    """
    if arguments.program is Program.LATENCY and arguments.foreground - _first_tag(arguments) < arguments.timestamps:
        tagged = f"{arguments.foreground - _first_tag(arguments)} foreground frames come after the delay"
        text = f"timestamps is {arguments.timestamps}, and {tagged}; lower it, or raise m: natxy tags no background"
        raise ArgumentError(text)
    return TrialRequest(
        streams=[stream for direction in active(conf) for stream in _streams(conf, arguments, direction)],
        seed=seed,
        drain_s=arguments.timeout_ms / 1000,
        drain_ends_early=True,
        # Each stream is judged by the whole duration, also one of the last frames alone.
        limits=TrialLimits(max_overrun_ratio=MOST_OVERRUN, overrun_floor_s=limits.overrun_s(arguments.duration_s)),
        delay_histogram=arguments.program is Program.PDV and not arguments.frame_timeout_ms,
    )


def establish_request(
    conf: Conf, arguments: Arguments, phase1: Phase1, direction: Direction, seed: int, limits: Limits
) -> TrialRequest:
    """Requests phase 1. Raises ArgumentError if natxy cannot send it."""
    connections = arguments.foreground_of_phase1
    if connections < phase1.frames and counts_connections(arguments, conf):
        raise ArgumentError(
            f"m is {arguments.m}, less than n, {arguments.n}, and natxy's phase 1 has no background: where it is what "
            f"is measured, as here, a script would never count all {phase1.frames} of its frames; give m = n"
        )
    own = family(conf, direction.sender)
    if enumerates(conf):
        ports, ips = (ORDERS.get(conf.number(f"Enumerate-{what}")) for what in ("ports", "ips"))
        flows = _flows(conf, direction, own, ports=ports, ips=ips)
        if flows.size < connections:
            text = f"N makes {connections} connections, and the ranges have {flows.size} four-tuples; widen them"
            raise ArgumentError(text)
    else:
        flows = _flows_of_traffic(conf, direction, own)
    stream = StreamSpec(
        name=PRELIMINARY,
        source=_SIDES[direction.sender],
        role=StreamRole.PHASE1,
        frame=_frame(arguments, own),
        rate_fps=phase1.rate_fps * connections / phase1.frames,
        frames=connections,
        flows=flows,
        arrives_as=family(conf, direction.sender.opposite),
        selection=Selection.ENUMERATE if enumerates(conf) else Selection.RANDOM,
    )
    return TrialRequest(
        streams=[stream],
        seed=seed,
        drain_s=phase1.timeout_ms / 1000,
        drain_ends_early=True,
        limits=TrialLimits(max_overrun_ratio=MOST_OVERRUN, overrun_floor_s=limits.floor_s),
    )


def _streams(conf: Conf, arguments: Arguments, direction: Direction) -> Iterator[StreamSpec]:
    """Yields the streams of one direction: foreground, background, and those of an incomplete last cycle."""
    if arguments.m >= arguments.n:
        yield _foreground(conf, arguments, direction, arguments.frames, float(arguments.rate_fps))
        return
    if arguments.m == 0:
        yield _native(conf, arguments, direction, arguments.frames, float(arguments.rate_fps))
        return
    if arguments.n > _LONGEST_CYCLE:
        raise ArgumentError(f"n is {arguments.n}, and natxy mixes at most {_LONGEST_CYCLE} frames; lower n and m")
    whole, rest = divmod(arguments.frames, arguments.n)
    parts = [(whole * arguments.n, whole * arguments.m, 0.0)] if whole else []
    if rest:
        parts.append((rest, min(rest, arguments.m), whole * arguments.n / arguments.rate_fps))
    for number, (frames, foreground, start_s) in enumerate(parts):
        suffix = " rest" if number else ""
        share = foreground / frames
        own = _foreground(conf, arguments, direction, foreground, arguments.rate_fps * share)
        tagged = _tagged(arguments, begin=whole * arguments.m if number and whole else 0, frames=foreground)
        own = own.model_copy(update={"name": f"{own.name}{suffix}", "start_s": start_s, "tagged": tagged})
        yield own
        if foreground < frames:
            native = _native(conf, arguments, direction, frames - foreground, arguments.rate_fps * (1 - share))
            other = {"name": f"{native.name}{suffix}", "start_s": start_s, "interleaved_with": own.name}
            yield native.model_copy(update=other)


def _foreground(conf: Conf, arguments: Arguments, direction: Direction, frames: int, rate_fps: float) -> StreamSpec:
    own = family(conf, direction.sender)
    first = initiator(conf)
    replies = first is not None and first is not direction
    return StreamSpec(
        name=direction.key,
        source=_SIDES[direction.sender],
        kind=StreamKind.REPLIES if replies else StreamKind.FLOWS,
        frame=_frame(arguments, own),
        rate_fps=rate_fps,
        frames=frames,
        flows=None if replies else _flows_of_traffic(conf, direction, own),
        arrives_as=None if replies else family(conf, direction.sender.opposite),
        order=_order_of_replies(conf) if replies else Order.PSEUDORANDOM,
        active_connections=_active(conf, arguments) if replies else None,
        tagged=_tagged(arguments, begin=0, frames=frames),
        frame_timeout_s=_frame_timeout_s(arguments),
    )


def _native(conf: Conf, arguments: Arguments, direction: Direction, frames: int, rate_fps: float) -> StreamSpec:
    return StreamSpec(
        name=f"{direction.key} background",
        source=_SIDES[direction.sender],
        role=StreamRole.BACKGROUND,
        frame=FrameFormat(size=arguments.size, ttl=TTL),
        rate_fps=rate_fps,
        frames=frames,
        flows=_flows_of_traffic(conf, direction, Family.IPV6, native=True),
        frame_timeout_s=_frame_timeout_s(arguments),
    )


def _frame_timeout_s(arguments: Arguments) -> float | None:
    return arguments.frame_timeout_ms / 1000 or None


def _order_of_replies(conf: Conf) -> Order:
    return ORDERS.get(conf.number("Responder-tuples"), Order.INCREASING)


def _active(conf: Conf, arguments: Arguments) -> int:
    """Returns how many of the connections have replies: those in the table, or one of them."""
    table = arguments.phase1.table if arguments.phase1 else 1
    return table if conf.number("Responder-tuples") else 1


def _tagged(arguments: Arguments, *, begin: int, frames: int) -> TaggedFrames | None:
    """Returns the tags of the `frames` foreground frames of a direction from number `begin` on; None if it has none."""
    if arguments.program is not Program.LATENCY:
        return None
    first, tags = _first_tag(arguments), arguments.timestamps
    stride = (arguments.foreground - first) // tags
    # The tags before frame `begin`, and before the frame that follows the last one.
    before, up_to = (min(tags, max(0, -((first - end) // stride))) for end in (begin, begin + frames))
    if before == up_to:
        return None
    return TaggedFrames(first=first + before * stride - begin, stride=stride, count=up_to - before)


def _first_tag(arguments: Arguments) -> int:
    """Returns the number of a direction's first foreground frame after the delay."""
    return arguments.foreground * arguments.delay_s // arguments.duration_s


def _flows_of_traffic(conf: Conf, direction: Direction, of: Family, *, native: bool = False) -> FlowSpace:
    """Returns the flow space of frames that follow the keys of their direction."""
    far = direction.sender.opposite
    key = real_key(far, of) if native else destination_key(conf, far, of)
    many_networks = conf.number(f"Num-{far}-Nets") > 1
    sport, dport = (_port(conf, direction, port, port_order(conf, direction, port)) for port in ("sport", "dport"))
    return FlowSpace(
        source_address=_field(
            hosts(conf, direction.sender, real_key(direction.sender, of)), order_of(conf, direction.sender)
        ),
        destination_address=_field(networks(conf, far, key), None if many_networks else order_of(conf, far)),
        source_port=sport,
        destination_port=dport,
    )


def _flows(conf: Conf, direction: Direction, of: Family, *, ports: Order | None, ips: Order | None) -> FlowSpace:
    """Returns the flow space that phase 1 enumerates."""
    far = direction.sender.opposite
    sport, dport = (_port(conf, direction, port, ports) for port in ("sport", "dport"))
    return FlowSpace(
        source_address=_field(hosts(conf, direction.sender, real_key(direction.sender, of)), ips),
        destination_address=_field(hosts(conf, far, destination_key(conf, far, of)), ips),
        source_port=sport,
        destination_port=dport,
    )


def _port(conf: Conf, direction: Direction, port: str, order: Order | None) -> PortField:
    ports = port_range(conf, direction, port, varies=order is not None)
    return PortField(min=ports.min, max=ports.max, order=order or Order.PSEUDORANDOM)


def _field(of: AddressRange, order: Order | None) -> AddressField:
    if of.size == 1:
        return AddressField(address=of.first)
    low, high = of.values
    return AddressField(address=of.first, low_bit=of.low_bit, min=low, max=high, order=order or Order.PSEUDORANDOM)


def _frame(arguments: Arguments, of: Family) -> FrameFormat:
    return FrameFormat(size=arguments.sent_size(of), ttl=TTL)
