# SPDX-License-Identifier: Apache-2.0
"""Makes streams of spoofed frames, with the address of another subscriber or another core: in a softwire (RFC 7596
§6.2, RFC 7597 §8.1), or of MAP-T (RFC 7599 §8)."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import IPv6Address
from typing import Any, Final

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.requests import FrameFormat, StreamSpec, SubscriberRule, TrialRequest
from natxy.engine.messages.results import StreamResult
from natxy.plan.experiment import Experiment
from natxy.plan.frames.background import LONGEST_CYCLE
from natxy.plan.model.traffic import Directions
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import ANY_LOSS

_ASIDE: Final = 1 << 16
"""An end that nobody has lies so far beside an end that is alone."""


def played_side(experiment: Experiment) -> Side:
    """Returns the side of the tester's end of a softwire or of MAP-T; the tester has to play such an end."""
    left = experiment.forms_of_ports[0]
    return Side.LEFT if left.in_softwire or left.mapped else Side.RIGHT


def spoofed(stream: StreamSpec) -> StreamSpec:
    """Returns the stream with a neighbour's address as that of its own end; all of it may be lost.

    Frames of phase 1 stay frames of phase 1.
    """
    role = stream.role if stream.role == StreamRole.PHASE1 else StreamRole.SPOOFED
    return stream.model_copy(
        update={
            "frame": _of_neighbor(stream.frame, stream.source),
            "role": role,
            "max_loss_ratio": ANY_LOSS,
            "max_backlog_s": None,
            "tagged": None,
        }
    )


def _of_neighbor(frame: FrameFormat, source: Side) -> FrameFormat:
    if mapping := frame.mapping:
        other = mapping.model_copy(update={"subscribers": _neighbors(mapping.subscribers)})
        return frame.model_copy(update={"mapping": other})
    softwire = frame.softwire
    assert softwire
    update: dict[str, Any] = {"core": softwire.core + _ASIDE}
    if source == Side.LEFT:
        update = {"subscribers": _neighbors(softwire.subscribers)}
        if softwire.table:
            update = {"table": _rotated(softwire.table)}
    return frame.model_copy(update={"softwire": softwire.model_copy(update=update)})


def traffic_beside_spoofed(experiment: Experiment, rate_fps: float, seed: int, share: float) -> TrialRequest:
    """Requests traffic at `rate_fps` in each direction, and between the good frames from the tester's end spoofed ones,
    as many as are a `share` of them."""
    few, of = Fraction(share).limit_denominator(LONGEST_CYCLE // 2).as_integer_ratio()
    plain = traffic_request(experiment, rate_fps, seed)
    side = played_side(experiment)
    # Where the traffic goes only the other way, the spoofed frames are alone in theirs.
    both_ways = experiment.model_copy(update={"directions": Directions.BIDIRECTIONAL})
    own = next(stream for stream in traffic_request(both_ways, rate_fps, seed).streams if stream.source == side)
    cycles = max(1, round(own.frames / of))
    streams = [
        stream.model_copy(update={"frames": cycles * of}) if stream.source == side else stream
        for stream in plain.streams
    ]
    further = {
        "name": f"{side.direction} spoofed",
        "rate_fps": own.rate_fps * few / of,
        "frames": cycles * few,
        "interleaved_with": own.name if any(stream.source == side for stream in streams) else None,
    }
    return plain.model_copy(update={"streams": [*streams, spoofed(own).model_copy(update=further)]})


def passed_through(stream: StreamResult) -> int:
    """Returns the spoofed frames that came through, also in a way that no frame should."""
    return min(stream.sent, stream.received + stream.misrouted + stream.corrupt)


def _neighbors(rule: SubscriberRule) -> SubscriberRule:
    """Returns the rule by which each subscriber has the address of another, whose PSID or IPv4 address differs in the
    last bit; one that is alone has an address of nobody."""
    if rule.psid_mask:
        return rule.model_copy(update={"psid_xor": 1})
    if rule.address_mask:
        return rule.model_copy(update={"address_xor": 1})
    return rule.model_copy(update={"address": IPv6Address(int(rule.address) + _ASIDE)})


def _rotated(table: list[IPv6Address]) -> list[IPv6Address]:
    """Returns a table in which each subscriber has the end of the next one that has another; numbers of nobody stay so.

    Subscribers with several softwires may follow one another, and nobody else may have any.
    """
    ends = [end for end in table if int(end)]
    other = next((end for end in ends if end != ends[-1]), ends[0] + _ASIDE)
    others = [other]
    for end, following in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
        if following != end:
            other = following
        others.append(other)
    return [others.pop() if int(end) else end for end in table]
