# SPDX-License-Identifier: Apache-2.0
"""Declares procedures whose connections come and go: of TCP, opened, used and closed (RFC 3511 §5.3, RFC 9411 §7.2),
and of any kind in a table whose old connections go as new ones come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.frames.forms import Protocol
from natxy.plan.frames.segments import Conversation, Segment, Sender
from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import LifeStep, ProcedureDeclaration
from natxy.plan.procedures.figures import Figure

Closing = Literal["initiator", "responder", "reset"]
SegmentCount = Annotated[int, Field(ge=0, le=32)]


def close(conversation: Conversation, closing: Closing) -> Conversation:
    """Adds the segments that close a connection of TCP, or reset it."""
    return conversation.reset() if closing == "reset" else conversation.close(Sender(closing))


def steps_of(said: Iterable[tuple[str, Segment]], first_age_s: float, step_s: float) -> list[LifeStep]:
    """Returns the steps in which named segments follow each other, the first at this age of a connection."""
    return [
        LifeStep(name, first_age_s + number * step_s, segment.sender, segment)
        for number, (name, segment) in enumerate(said)
    ]


class OpenedAtRate(ProcedureDeclaration):
    """Declares a procedure of one trial, which opens all connections at the experiment's `rate`; some may be lost."""

    rate_title: ClassVar = "Rate of new connections"
    rate_unit: ClassVar = Unit.CPS
    step_unit: ClassVar = Unit.CPS
    stateful: ClassVar = True
    counts_connections: ClassVar = True
    expects_loss: ClassVar = True
    timed: ClassVar = False
    takes: ClassVar = frozenset({"rate", "connections"})


class LivesDeclaration(ProcedureDeclaration):
    """Declares a search for the highest rate of connections of which each has further frames in the same trial."""

    step: Annotated[Duration, Field(gt=0, le=10)] = 0.05
    """Time from a connection's frame to the next, longer than the gateway delays a frame."""
    close: Closing = "initiator"
    """Side whose FIN closes a TCP connection first, or `reset` for an RST of the initiator."""

    step_unit: ClassVar = Unit.CPS
    stateful: ClassVar = True
    timed: ClassVar = False
    sustained: ClassVar = True
    takes: ClassVar = frozenset({"search", "connections", "pairs", "loss_tolerance"})


class TcpConnectionRateConfig(LivesDeclaration):
    name: Literal["tcp-connection-rate"] = "tcp-connection-rate"
    request: SegmentCount = 1
    """Segments of data from the initiator to the responder, which fill the experiment's `frame_size`."""
    response: SegmentCount = 1
    """Segments of data from the responder to the initiator, which fill the experiment's `frame_size`."""
    acknowledge: bool = False
    """Whether request and response are each acknowledged by a segment without data, as hosts do."""

    list_position: ClassVar = 570
    summary: ClassVar = "the highest rate of TCP connections, each opened, used and closed (RFC 3511 §5.3)"
    figures: ClassVar = (Figure("rate", "Maximum TCP connection rate", Unit.CPS),)
    supplies: ClassVar = "phase1_rate"
    needs_tcp: ClassVar = True

    def life(self, protocol: Protocol) -> tuple[LifeStep, ...]:
        said = close(
            Conversation().open().exchange(self.request, self.response, acknowledged=self.acknowledge), self.close
        ).said
        return tuple(steps_of(said[1:], self.step, self.step))


class ChurnConfig(LivesDeclaration):
    name: Literal["churn"] = "churn"
    age: Annotated[Duration, Field(gt=0)] = 1.0
    """Time after which each connection is used again, in both directions, at least three steps."""
    lifetime: Annotated[Duration, Field(gt=0)] | None = None
    """Time for which the gateway keeps an idle connection, of TCP a closed one; says how many there are at once."""

    list_position: ClassVar = 580
    summary: ClassVar = "the highest rate of new connections while old ones expire, the table in steady state"
    figures: ClassVar = (
        Figure("rate", "Highest rate of connections that come and go", Unit.CPS),
        Figure("entries", "Connections that the gateway counted at the end", Unit.CONNECTIONS, of_tester=True),
        Figure("expected_entries", "Connections whose lifetime had not passed", Unit.CONNECTIONS, of_tester=True),
        Figure("delay_new", "Median delay of frames that open a connection", Unit.NS),
        Figure("delay_old", "Median delay of frames of older connections, the slower step", Unit.NS),
        Figure("loss_new", "Loss of frames that open a connection, at the lowest rate that failed", Unit.PERCENT),
        Figure("loss_old", "Loss of frames of older connections, at the lowest rate that failed", Unit.PERCENT),
    )

    def life(self, protocol: Protocol) -> tuple[LifeStep, ...]:
        if protocol == Protocol.UDP:
            return (
                LifeStep("reply", self.step, Sender.RESPONDER),
                LifeStep("later frame", self.age, Sender.INITIATOR),
                LifeStep("later reply", self.age + self.step, Sender.RESPONDER),
            )
        talk = Conversation().open()
        opened = len(talk.said)
        close(talk.exchange(prefix="later "), self.close)
        return (
            *steps_of(talk.said[1:opened], self.step, self.step),
            *steps_of(talk.said[opened:], self.age, self.step),
        )

    def is_later(self, step: LifeStep) -> bool:
        """Returns true for a frame of an older connection."""
        return step.age_s >= self.age

    def left(self, connections: int, rate_fps: float) -> float | None:
        """Returns how many of the connections opened at a rate are left when the last one has had its last frame; None
        if the lifetime is unknown."""
        return None if self.lifetime is None else min(float(connections), rate_fps * self.lifetime)

    def most_at_once(self, connections: int, rate_fps: float | None, protocol: Protocol) -> int:
        if self.lifetime is None or rate_fps is None:
            return connections
        return min(connections, round(rate_fps * (self.life_s(protocol) + self.lifetime)))
