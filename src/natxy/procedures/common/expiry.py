# SPDX-License-Identifier: Apache-2.0
"""Finds out whether connections expired before they were used, which looks like a full table or like an overload.

A gateway deletes a connection that has had no frame for some time. If phase 1 takes longer, the oldest connections are
missing, and more of them the lower the rates are. A few connections tell this: they are made one after the other over
more than the longest time that a connection had to wait, and then all get a reply at once, the newest first. If the
missing ones are the oldest and no others, the age of the youngest of them is the lifetime. It explains the loss if a
connection had to wait for longer. A table that replaces old connections keeps so few of them, and a gateway that has to
learn something loses the first replies, which are those of the newest connections.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from natxy.dut.base import Gateway
from natxy.engine.interface import Engine
from natxy.engine.messages.results import StreamResult, TrialResult
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.frames import forms
from natxy.plan.model.terms import Order, Selection
from natxy.plan.model.timing import Timing
from natxy.plan.model.traffic import ActiveConnections, Directions
from natxy.plan.model.units import format_duration
from natxy.procedures.common.streams import establish_request, traffic_request, validate_request

CONNECTIONS: Final = 100
"""The resolution of a lifetime is this part of the time in which they are made."""
LEAST_WAIT_S: Final = 0.5
"""No gateway lets a connection expire so early."""

# A search ends where the longest wait is hardly longer than the lifetime, so they are made over more than that wait.
_LONGER: Final = 1.5
# A tester begins its trials a little late.
_MOST_LATE: Final = 1.1
# The replies take this share of the time in which the connections are made, but come no faster than any gateway can.
_REPLIES_SHARE: Final = 0.01
_MOST_REPLIES_FPS: Final = 2000.0
_OLDEST_FPS: Final = 1000.0
# A frame or two may be missing for another reason.
_FEW: Final = CONNECTIONS // 50
# A moment in which the gateway's core was away loses frames that tell nothing.
_TRIES: Final = 2


class Bed(Protocol):
    """Sends a few frames beside the trials of an experiment, as a repetition can."""

    @property
    def experiment(self) -> Experiment: ...

    @property
    def engine(self) -> Engine: ...

    @property
    def gateway(self) -> Callable[[], AbstractContextManager[Gateway[Any]]]: ...

    @property
    def plan_seed(self) -> int: ...


def wait_s(timing: Timing, connections: int, phase1_fps: float, first_use_s: float) -> float:
    """Returns how long the oldest connection may have to wait for its first frame after phase 1.

    `first_use_s` is the time in which the trial after phase 1 uses each connection for the first time.
    """
    drain_s = 0.0 if timing.drain_ends_early else timing.drain
    return connections / phase1_fps + drain_s + timing.learning_pause + first_use_s


def made_s(phase1: TrialResult) -> float:
    """Returns how long a phase 1 made connections."""
    return max(stream.planned / stream.intended_rate_fps for stream in phase1.streams)


def wait_between_s(timing: Timing, phase1: TrialResult, later: TrialResult) -> float:
    """Returns the longest wait between a phase 1 and the trial after it."""
    made = phase1.streams[0]
    uses_s = [min(made.planned, stream.planned) / stream.intended_rate_fps for stream in later.streams]
    return wait_s(timing, made.planned, made.intended_rate_fps, max(uses_s))


def oldest_answered(bed: Bed) -> tuple[int, int]:
    """Sends a reply to each of the first connections of the last phase 1. Returns how many there were, and how many
    replies came through. These frames belong to no trial."""
    own = bed.experiment
    asked = min(CONNECTIONS, own.connections or CONNECTIONS)
    update = {
        "directions": Directions.REVERSE,
        "active_connections": ActiveConnections(reverse=asked),
        "background": None,
        "pairs": None,
    }
    request = traffic_request(own.model_copy(update=update), _OLDEST_FPS, bed.plan_seed, frames=asked)
    return asked, sum(stream.received for stream in bed.engine.run_trial(request).streams)


def expiry(bed: Bed, waited_s: float) -> str:
    """Returns a sentence with the lifetime if connections of UDP that wait so long expire, otherwise an empty text.

    Its frames belong to no trial. A gateway that cannot be emptied meanwhile, or loses other connections than the
    oldest, tells nothing.
    """
    most = min(CONNECTIONS, bed.experiment.flow_space_size)
    if waited_s < LEAST_WAIT_S or most < CONNECTIONS or bed.experiment.protocol != forms.Protocol.UDP:
        return ""
    tried = (_told(bed, waited_s) for _ in range(_TRIES))
    return next((told for told in tried if told is not None), "")


def _told(bed: Bed, waited_s: float) -> str | None:
    """Returns what `expiry` returns; None if a frame or two were lost that neither show nor exclude a lifetime."""
    own = bed.experiment
    # The newest connections have their replies first.
    orders = own.orders.model_copy(update={"state_table": Order.DECREASING})
    update = {"connections": CONNECTIONS, "phase1_selection": Selection.ENUMERATE, "orders": orders}
    few = own.model_copy(update=update)
    made_in_s = _LONGER * waited_s
    rate_fps = CONNECTIONS / made_in_s
    replies_fps = min(rate_fps / _REPLIES_SHARE, _MOST_REPLIES_FPS)
    try:
        with bed.gateway() as gateway:
            gateway.clear()
    except DutError:
        return ""
    # Only a trial whose start is asked for tells when it began.
    at_once = {"begin_at_ns": 0}
    made = bed.engine.run_trial(establish_request(few, rate_fps, bed.plan_seed).model_copy(update=at_once))
    # A tester that was late made them all the same.
    if lost := sum(stream.lost for stream in made.streams):
        return None if lost <= _FEW else ""
    replies = bed.engine.run_trial(validate_request(few, replies_fps, bed.plan_seed).model_copy(update=at_once))
    answered = replies.streams[0]
    missing = oldest_missing(answered)
    if not missing:
        stray = 0 < answered.lost <= _FEW or _oldest_is_missing(answered)
        return None if stray else ""
    if made.began_ns is not None and replies.began_ns is not None:
        between_s = (replies.began_ns - made.began_ns) / 1e9
    else:
        between_s = made_in_s + (0.0 if own.timing.drain_ends_early else own.timing.drain)
    # Between the age of the youngest that is missing and that of the oldest that is not.
    lifetime_s = between_s + (CONNECTIONS - missing - 0.5) / replies_fps - (missing - 0.5) / rate_fps
    if lifetime_s > _MOST_LATE * waited_s:
        return ""
    return (
        f"the connections expired after about {_rounded(lifetime_s)} without a frame, and the oldest had to wait about "
        f"{_rounded(waited_s)}: of {CONNECTIONS} made one after the other in {_rounded(made_in_s)}, the {missing} "
        "oldest were missing; raise the gateway's timeouts, or make fewer connections, or at a higher rate"
    )


def oldest_missing(replies: StreamResult) -> int:
    """Returns how many connections are missing, if they are the oldest ones, whose replies came last; otherwise 0."""
    first = replies.first_lost
    if first is None or not first.sequence:
        return 0
    oldest = replies.planned - first.sequence
    return oldest if _oldest_is_missing(replies) and oldest - replies.lost <= _FEW else 0


def _oldest_is_missing(replies: StreamResult) -> bool:
    return replies.last_lost is not None and replies.last_lost.sequence == replies.planned - 1


def _rounded(seconds: float) -> str:
    return format_duration(float(f"{seconds:.2g}"))
