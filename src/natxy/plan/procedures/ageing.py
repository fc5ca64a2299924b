# SPDX-License-Identifier: Apache-2.0
"""Declares `ageing`, which finds the lifetime of an idle connection (RFC 4787 §4.3, RFC 5382 §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.frames.forms import Protocol
from natxy.plan.frames.segments import SYN_ACK, Conversation, Flags, Sender
from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import LifeStep
from natxy.plan.procedures.figures import Figure
from natxy.plan.procedures.lives import OpenedAtRate, close, steps_of

State = Literal["opened", "replied", "used", "closed", "reset"]

# A gateway such as Linux counts a connection of UDP as used when a frame comes after it is two seconds old.
_USED_AFTER_S: Final = 2.5
_STEP_S: Final = 0.1
_UDP: Final = (
    ("reply", _STEP_S, Sender.RESPONDER),
    ("later frame", _USED_AFTER_S, Sender.INITIATOR),
)
_STATES: Final[Mapping[Protocol, tuple[State, ...]]] = {
    Protocol.UDP: ("opened", "replied", "used"),
    Protocol.TCP: ("opened", "replied", "used", "closed", "reset"),
}


def _conversation(state: State) -> Conversation:
    """Returns the segments that bring a connection of TCP into a state."""
    if state == "opened":
        return Conversation().say("syn", Sender.INITIATOR, Flags.SYN)
    if state == "replied":
        return _conversation("opened").say("syn-ack", Sender.RESPONDER, Flags.SYN_ACK)
    # A gateway may keep a connection for less time while data are not acknowledged.
    used = Conversation().open().exchange(acknowledged=state == "used")
    if state == "used":
        return used
    return close(used, "initiator" if state == "closed" else "reset")


class AgeingConfig(OpenedAtRate):
    name: Literal["ageing"] = "ageing"
    state: State = "replied"
    """State in which connections are left idle: only `opened`, `replied` to, `used` in both directions, or for TCP
    `closed` by FINs or `reset`."""
    longest: Annotated[Duration, Field(gt=0, le=86_400)] = 150.0
    """Longest time for which a connection is left idle."""

    list_position: ClassVar = 590
    mostly_waits: ClassVar = True
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
        return [*_STATES[protocol]]

    def life(self, protocol: Protocol) -> tuple[LifeStep, ...]:
        """Returns the frames that bring a connection into the state, and the one that asks whether it is kept."""
        if protocol == Protocol.UDP:
            before = _STATES[protocol].index(self.state) if self.state in _STATES[protocol] else 0
            steps = [LifeStep(*each) for each in _UDP[:before]]
            asks = None
        else:
            said = _conversation(self.state).said
            steps = steps_of(said[1:], _STEP_S, _STEP_S)
            # A segment that acknowledges what was not sent would be refused, whatever the connection's age.
            asks = dict(said).get("response", SYN_ACK)
        return (*steps, LifeStep("probe", (steps[-1].age_s if steps else 0.0) + _STEP_S, Sender.RESPONDER, asks))
