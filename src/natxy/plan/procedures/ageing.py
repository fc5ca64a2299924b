# SPDX-License-Identifier: Apache-2.0
"""Declares `ageing`, which finds the lifetime of an idle connection (RFC 4787 §4.3, RFC 5382 §5)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.frames.forms import Protocol, Segment
from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import LifeStep
from natxy.plan.procedures.figures import Figure
from natxy.plan.procedures.lives import OpenedAtRate, closing_segments

State = Literal["opened", "replied", "used", "closed", "reset"]

_ESTABLISHED: Final = (Segment.SYN_ACK, Segment.ACK)
_TCP: Final = {
    "opened": (),
    "replied": (Segment.SYN_ACK,),
    # A gateway may keep a connection for less time while data are not acknowledged.
    "used": (*_ESTABLISHED, Segment.ANSWER, Segment.INITIATOR_ACK),
    "closed": (*_ESTABLISHED, Segment.ANSWER, *closing_segments("initiator")),
    "reset": (*_ESTABLISHED, Segment.ANSWER, *closing_segments("reset")),
}
_UDP_NAMES: Final = ("reply", "later frame")
_UDP: Final = {"opened": (), "replied": (Segment.ANSWER,), "used": (Segment.ANSWER, Segment.ACK)}
# A gateway such as Linux counts a connection of UDP as used when a frame comes after it is two seconds old.
_USED_AFTER_S: Final = 2.5
_STEP_S: Final = 0.1


class AgeingConfig(OpenedAtRate):
    name: Literal["ageing"] = "ageing"
    state: State = "replied"
    """State in which connections are left idle: only `opened`, `replied` to, `used` in both directions, or for TCP
    `closed` by FINs or `reset`."""
    longest: Annotated[Duration, Field(gt=0, le=86_400)] = 150.0
    """Longest time for which a connection is left idle."""

    list_position: ClassVar = 590
    summary: ClassVar = "how long a gateway keeps an idle connection (RFC 4787 §4.3, RFC 5382 §5)"
    figures: ClassVar = (
        Figure("lifetime", "Lifetime of an idle connection", Unit.SECONDS, more_is_better=True),
        Figure(
            "youngest_gone", "Idle time of the youngest connection that was gone", Unit.SECONDS, more_is_better=True
        ),
        Figure("oldest_kept", "Idle time of the oldest connection that was kept", Unit.SECONDS, more_is_better=True),
    )

    @classmethod
    def states_of(cls, protocol: Protocol) -> list[str]:
        """Returns the states that connections of a protocol can be left in."""
        return [*(_UDP if protocol == Protocol.UDP else _TCP)]

    def life(self, protocol: Protocol) -> tuple[LifeStep, ...]:
        """Returns the frames that bring a connection into the state, and the one that asks whether it is kept."""
        if protocol == Protocol.UDP:
            given = zip(_UDP_NAMES, _UDP.get(self.state, ()), (_STEP_S, _USED_AFTER_S), strict=False)
            steps = [LifeStep(*each) for each in given]
        else:
            steps = [LifeStep(each, each, number * _STEP_S) for number, each in enumerate(_TCP[self.state], 1)]
        # A segment that acknowledges what was not sent would be refused, whatever the connection's age.
        opening = protocol == Protocol.TCP and self.state in {"opened", "replied"}
        asks = Segment.SYN_ACK if opening else Segment.ANSWER
        return (*steps, LifeStep("probe", asks, (steps[-1].age_s if steps else 0.0) + _STEP_S))
