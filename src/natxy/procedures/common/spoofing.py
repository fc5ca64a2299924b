# SPDX-License-Identifier: Apache-2.0
"""Makes streams of spoofed frames: those of a softwire that another subscriber, or another core, has (RFC 7596 §6.2,
RFC 7597 §8.1)."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import IPv6Address
from typing import Final

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.requests import StreamSpec, SubscriberRule, TrialRequest
from natxy.plan.experiment import Experiment
from natxy.plan.frames.background import LONGEST_CYCLE
from natxy.plan.model.traffic import Directions
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import ANY_LOSS

_ASIDE: Final = 1 << 16
"""An end that nobody has lies so far beside an end that is alone."""


def played_side(experiment: Experiment) -> Side:
    """Returns the side on which the tester plays the end of a softwire; it has to play one."""
    return Side.LEFT if experiment.forms_of_ports[0].in_softwire else Side.RIGHT


def spoofed(stream: StreamSpec) -> StreamSpec:
    """Returns the stream with a neighbour's address as that of its own end of a softwire; all of it may be lost.

    Frames of phase 1 stay frames of phase 1.
    """
    softwire = stream.frame.softwire
    assert softwire
    if stream.source == Side.LEFT:
        other = softwire.model_copy(
            update={"table": _rotated(softwire.table)}
            if softwire.table
            else {"subscribers": _neighbors(softwire.subscribers)}
        )
    else:
        other = softwire.model_copy(update={"core": softwire.core + _ASIDE})
    role = stream.role if stream.role == StreamRole.PHASE1 else StreamRole.SPOOFED
    frame = stream.frame.model_copy(update={"softwire": other})
    return stream.model_copy(
        update={"frame": frame, "role": role, "max_loss_ratio": ANY_LOSS, "max_backlog_s": None, "tagged": None}
    )


def traffic_beside_spoofed(experiment: Experiment, rate_fps: float, seed: int, share: float) -> TrialRequest:
    """Requests traffic at `rate_fps` in each direction, and between the good frames from the tester's end of the
    softwire spoofed ones, as many as are a `share` of them."""
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


def _neighbors(rule: SubscriberRule) -> SubscriberRule:
    """Returns the rule by which each subscriber has the address of the next one."""
    if rule.psid_mask:
        further = (1 << rule.psid_shift << 64) + (1 if rule.identifier else 0)
    elif rule.address_mask:
        further = (1 << rule.address_shift << 64) + (_ASIDE if rule.identifier else 0)
    else:
        further = _ASIDE
    return rule.model_copy(update={"address": IPv6Address(int(rule.address) + further)})


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
