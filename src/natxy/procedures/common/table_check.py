# SPDX-License-Identifier: Apache-2.0
"""Tells whether a gateway's table is emptied and counted as its driver says.

A `clear` that leaves connections, or a `count` that is not theirs, would turn the rate of old connections into that of
new ones. So a few connections are made before the first attempt of an experiment, and the table is emptied: then no
reply of these connections may come through. After the first complete phase 1, the count is compared with the
connections made. Before each later attempt, a few replies of the phase 1 before it tell whether the table is still
emptied. All this is done while no trial runs.
"""

from __future__ import annotations

from typing import Final

from natxy.engine.interface import Engine
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Order, Selection, TranslationKind
from natxy.plan.model.traffic import Directions
from natxy.procedures.common.expiry import Bed, expiry, made_s
from natxy.procedures.common.streams import PHASE1, establish_request, traffic_request, validate_request
from natxy.procedures.faults.astray import check_translated

CONNECTIONS: Final = 16
"""Few enough for a gateway that gives each host a small set of ports."""
RATE_FPS: Final = 100.0
"""Low enough for any gateway."""
MOST_TRIES: Final = 3
LATER_RATE_FPS: Final = 10_000.0
"""High enough to take no time: replies that are lost are expected."""
LATER_DRAIN_S: Final = 0.02

# A gateway may count a connection once for each direction, and its machine has connections of its own.
_MOST_TIMES: Final = 2
_OF_THE_MACHINE: Final = 1000
# A full table keeps a part of the connections, which a procedure tells better than a count.
_LEAST_SHARE: Final = 0.5


class TableCheck:
    """Checks one experiment's table: its `clear` by connections made for that, and then each time; its `count` once."""

    def __init__(self) -> None:
        self._tries = 0
        self._compared = False
        self._made_by: Engine | None = None

    def try_clear(self, bed: Bed) -> None:
        """Makes connections in an empty table, empties it and sends replies. The table has to be emptied again.

        DutError if a reply comes through, or if nothing translates. Where the connections cannot all be made, nothing
        is known, and a later attempt tries again. Where the gateway lets frames through that no connection expects,
        nothing can be known.
        """
        if self._tries >= MOST_TRIES or not drops_unknown_replies(bed.experiment):
            return
        self._tries += 1
        few = _with_few(bed.experiment)
        _clear(bed)
        made = bed.engine.establish(establish_request(few, RATE_FPS, bed.plan_seed))
        # Replies to hosts that nothing hides come through without any table.
        check_translated(few, made)
        _clear(bed)
        if any(stream.lost for stream in made.streams):
            return
        replies = bed.engine.validate(validate_request(few, RATE_FPS, bed.plan_seed))
        answered = sum(stream.received for stream in replies.streams)
        if answered:
            raise DutError(_not_emptied(answered, replies.streams[0].planned, _counted(bed)))
        self._tries = MOST_TRIES

    def try_again(self, bed: Bed) -> None:
        """Empties the table and sends replies of the last phase 1, if it passed. The table has to be emptied again.

        DutError if a reply comes through: then the next phase 1 would make no new connections.
        """
        if self._made_by is not bed.engine or not drops_unknown_replies(bed.experiment):
            return
        self._made_by = None
        _clear(bed)
        replies = bed.engine.run_trial(_few_replies(bed)).streams[0]
        if replies.received:
            raise DutError(_not_emptied(replies.received, replies.planned, _counted(bed)))

    def compare(self, bed: Bed, phase1: TrialResult) -> None:
        """Compares the count with the connections of a phase 1 that has just passed.

        DutError if the count cannot be that of these connections, or says that many have expired already. Nothing is
        compared while they are only a few.
        """
        frames = sum(stream.received for stream in phase1.streams)
        of_first_pair = phase1.streams[0].name == PHASE1
        self._made_by = bed.engine if of_first_pair and phase1.verdict == Verdict.PASS else None
        if self._compared or phase1.verdict != Verdict.PASS or frames < CONNECTIONS:
            return
        self._compared = True
        counted, own = _counted(bed), bed.experiment
        made = round(frames * (own.distinct_connections or 1) / (own.connections or 1))
        if counted is None or is_count_of(counted, made):
            return
        found = f"`count` said {counted:,} after phase 1 had made {made:,} connections"
        if 0 < counted < made and (expired := expiry(bed, made_s(phase1))):
            raise DutError(f"{found}: {expired}")
        raise DutError(
            f"{found}; expected was that number, or twice that where each direction is counted: let `count` print the "
            "number of connections alone, or enlarge the gateway's table if it holds so few"
        )


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


def _few_replies(bed: Bed) -> TrialRequest:
    """Requests replies of connections from all parts of the first pair's state table."""
    own = bed.experiment
    few = own.model_copy(
        update={
            "directions": Directions.REVERSE,
            "active_connections": None,
            "background": None,
            "pairs": None,
            "orders": own.orders.model_copy(update={"state_table": Order.PSEUDORANDOM}),
        }
    )
    request = traffic_request(few, LATER_RATE_FPS, bed.plan_seed, frames=min(CONNECTIONS, own.connections or 1))
    return request.model_copy(update={"drain_s": LATER_DRAIN_S})


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
