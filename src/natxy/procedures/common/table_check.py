# SPDX-License-Identifier: Apache-2.0
"""Tells whether a gateway's table is emptied and counted as its driver says.

A `clear` that leaves connections, or a `count` that is not theirs, would turn the rate of old connections into that of
new ones. So a few connections are made before the first attempt of an experiment, and the table is emptied: then no
reply of these connections may come through. After the first complete phase 1, the count is compared with the
connections made. Before later attempts, a few replies of the phase 1 before them tell whether the table is still
emptied. All this is done while no trial runs.
"""

from __future__ import annotations

import time
from typing import Final

from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Order, Selection, TranslationKind
from natxy.plan.model.traffic import Directions
from natxy.procedures.common.expiry import Bed, expiry, made_s
from natxy.procedures.common.streams import establish_request, first_reply_request, traffic_request
from natxy.procedures.faults.astray import check_translated

CONNECTIONS: Final = 16
"""Few enough for a gateway that gives each host a small set of ports."""
RATE_FPS: Final = 100.0
"""Low enough for any gateway."""
MOST_TRIES: Final = 3
LATER_RATE_FPS: Final = 10_000.0
"""High enough to take no time: replies that are lost are expected."""
LEAST_DRAIN_S: Final = 0.02

_TIMES_THE_DELAY: Final = 2
_LONG_S: Final = 1.0
_TIMES_THE_CHECK: Final = 20
# A gateway may count a connection once for each direction, and its machine has connections of its own.
_MOST_TIMES: Final = 2
_OF_THE_MACHINE: Final = 1000
# A full table keeps a part of the connections, which a procedure tells better than a count.
_LEAST_SHARE: Final = 0.5


class TableError(DutError):
    """The gateway's table is not as its `clear` or `count` says, whatever is asked of the gateway."""


class TableCheck:
    """Checks one experiment's table.

    `clear` is tried on connections made for that, before the first attempt, and then on those of earlier attempts.
    Where the latter takes more than a second, it takes a twentieth of the time at most. `count` is compared once.
    """

    def __init__(self) -> None:
        self._tried = False
        self._compared = False
        self._made_by: Bed | None = None
        self._phase1: TrialResult | None = None
        self._not_before_s = 0.0

    def try_clear(self, bed: Bed) -> None:
        """Makes connections in an empty table, empties it and sends replies. The table has to be emptied again.

        TableError if a reply comes through, DutError if nothing translates. Where the connections cannot all be made,
        nothing is known, and they are made again at once, because there may be no later attempt. Where the gateway lets
        frames through that no connection expects, nothing can be known.
        """
        if self._tried or not drops_unknown_replies(bed.experiment):
            return
        self._made_by = None
        for _ in range(MOST_TRIES):
            if _is_emptied(bed):
                break
        self._tried = True

    def try_again(self, bed: Bed) -> None:
        """Empties the table and sends replies of the last phase 1, if it passed. The table has to be emptied again.

        TableError if replies come through twice: then the next phase 1 would make no new connections. The first ones
        may belong to frames that were still in the gateway when the table was emptied.
        """
        made, phase1 = self._made_by is bed, self._phase1
        began_s = time.monotonic()
        if not made or phase1 is None or began_s < self._not_before_s or not drops_unknown_replies(bed.experiment):
            return
        self._made_by = None
        request = _few_replies(bed, phase1)
        for _ in range(2):
            _clear(bed)
            replies = bed.engine.run_trial(request).streams
            answered = sum(stream.received for stream in replies)
            if not answered:
                break
        else:
            raise TableError(_not_emptied(answered, sum(stream.planned for stream in replies), _counted(bed)))
        ended_s = time.monotonic()
        if ended_s - began_s > _LONG_S:
            self._not_before_s = ended_s + _TIMES_THE_CHECK * (ended_s - began_s)

    def compare(self, bed: Bed, phase1: TrialResult) -> None:
        """Compares the count with the connections of a phase 1 that has just passed.

        TableError if the count cannot be that of these connections, or says that many have expired already. Nothing is
        compared while they are only a few.
        """
        frames = sum(stream.received for stream in phase1.streams)
        of_all_pairs = len(phase1.streams) == bed.experiment.pair_count
        self._made_by, self._phase1 = (bed, phase1) if of_all_pairs and phase1.verdict == Verdict.PASS else (None, None)
        if self._compared or phase1.verdict != Verdict.PASS or frames < CONNECTIONS:
            return
        self._compared = True
        counted, own = _counted(bed), bed.experiment
        made = round(frames * (own.distinct_connections or 1) / (own.connections or 1))
        if counted is None or is_count_of(counted, made):
            return
        found = f"`count` said {counted:,} after phase 1 had made {made:,} connections"
        if 0 < counted < made and (expired := expiry(bed, made_s(phase1))):
            raise TableError(f"{found}: {expired}")
        raise TableError(
            f"{found}; expected was that number, or twice that where each direction is counted: let `count` print the "
            "number of connections alone, or enlarge the gateway's table if it holds so few"
        )


def _is_emptied(bed: Bed) -> bool:
    """Returns True if `clear` deletes a few connections, False if they could not all be made. TableError if replies to
    them come through."""
    few = _with_few(bed.experiment)
    _clear(bed)
    made = bed.engine.run_trial(establish_request(few, RATE_FPS, bed.plan_seed))
    # Replies to hosts that nothing hides come through without any table.
    check_translated(few, made)
    _clear(bed)
    if any(stream.lost for stream in made.streams):
        return False
    replies = bed.engine.run_trial(first_reply_request(few, RATE_FPS, bed.plan_seed))
    if answered := sum(stream.received for stream in replies.streams):
        raise TableError(_not_emptied(answered, replies.streams[0].planned, _counted(bed)))
    return True


def drops_unknown_replies(experiment: Experiment) -> bool:
    """Returns true if a frame from the right passes only while the gateway's table holds its connection.

    A NAT64 has no other way to an IPv6 host. From an IPv6 responder, a NAT46 may let every frame through.
    """
    gateway = experiment.gateway
    if experiment.translation is None:
        return gateway.drops_unknown_replies
    return experiment.translation.kind == TranslationKind.NAT64 and gateway.keeps_connections is not False


def is_count_of(counted: int, connections: int) -> bool:
    """Returns true if a count can be that of so many connections."""
    return _LEAST_SHARE * connections <= counted <= _MOST_TIMES * connections + _OF_THE_MACHINE


def _with_few(experiment: Experiment) -> Experiment:
    connections = min(CONNECTIONS, experiment.connections or CONNECTIONS, experiment.flow_space_size)
    return experiment.model_copy(update={"connections": connections, "phase1_selection": Selection.ENUMERATE})


def _few_replies(bed: Bed, phase1: TrialResult) -> TrialRequest:
    """Requests replies of connections from all parts of each pair's state table."""
    own = bed.experiment
    few = own.model_copy(
        update={
            "directions": Directions.REVERSE,
            "active_connections": None,
            "background": None,
            "start_interval": None,
            "orders": own.orders.model_copy(update={"state_table": Order.PSEUDORANDOM}),
        }
    )
    request = traffic_request(few, LATER_RATE_FPS, bed.plan_seed, frames=min(CONNECTIONS, own.connections or 1))
    # Replies take about as long as the connections' own frames.
    longest_s = max((stream.delay.max_ns for stream in phase1.streams if stream.delay), default=0) / 1e9
    drain_s = min(own.timing.drain, max(LEAST_DRAIN_S, _TIMES_THE_DELAY * longest_s))
    return request.model_copy(update={"drain_s": drain_s})


def _clear(bed: Bed) -> None:
    with bed.gateway() as gateway:
        gateway.clear()


def _counted(bed: Bed) -> int | None:
    with bed.gateway() as gateway:
        return gateway.count()


def _not_emptied(answered: int, made: int, counted: int | None) -> str:
    although = "" if counted is None else f", although `count` said {counted:,}"
    return (
        f"`clear` does not empty the gateway's table: after it, replies of {answered} of {made} connections made "
        f"before it still came through, instead of none{although}; let `clear` delete all connections, and end only "
        "then"
    )
