# SPDX-License-Identifier: Apache-2.0
"""TCP segments, numbered as two hosts number them, so that a gateway which follows connections accepts each of them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, Self


class Sender(StrEnum):
    """Says which side of a connection sends a frame. The initiator opens the connection."""

    INITIATOR = "initiator"
    RESPONDER = "responder"

    @property
    def other(self) -> Sender:
        return Sender.RESPONDER if self == Sender.INITIATOR else Sender.INITIATOR


class Flags(StrEnum):
    """Names the control bits of a segment by their initials (RFC 9293 §3.1)."""

    SYN = "S"
    SYN_ACK = "SA"
    ACK = "A"
    DATA = "PA"
    FIN = "FA"
    RESET = "RA"


class Sent(NamedTuple):
    """Counts what a side has sent: control bits that take a sequence number, and segments of data, all of one size."""

    controls: int = 0
    segments: int = 0

    def bytes(self, data_bytes: int) -> int:
        """Returns by how much the side's sequence number has grown, with so many bytes of data in a segment."""
        return self.controls + self.segments * data_bytes

    def after(self, flags: Flags) -> Sent:
        """Returns what the side has sent after a segment with these flags."""
        controls = self.controls + (flags in {Flags.SYN, Flags.SYN_ACK, Flags.FIN})
        return Sent(controls, self.segments + (flags == Flags.DATA))


class Segment(NamedTuple):
    """A segment of a connection: what its side had sent before it, and what of the other side it acknowledges."""

    sender: Sender
    flags: Flags
    sequence: Sent = Sent()
    acknowledged: Sent = Sent()

    @property
    def has_data(self) -> bool:
        return self.flags == Flags.DATA


SYN: Final = Segment(Sender.INITIATOR, Flags.SYN)
SYN_ACK: Final = Segment(Sender.RESPONDER, Flags.SYN_ACK, acknowledged=Sent(1))
ACK: Final = Segment(Sender.INITIATOR, Flags.ACK, Sent(1), Sent(1))
# The first data of each side, before any of the other's. Over connections that stay, all segments are these: whichever
# of them a gateway loses, the next has a number that it expects.
REQUEST: Final = ACK._replace(flags=Flags.DATA)
RESPONSE: Final = REQUEST._replace(sender=Sender.RESPONDER)


class Conversation:
    """Numbers the segments of a connection in the order in which they are sent (RFC 9293 §3.4).

    Each segment acknowledges all that the other side has sent. `said` lists the segments with their names.
    """

    def __init__(self) -> None:
        self.said: list[tuple[str, Segment]] = []
        self._sent = dict.fromkeys(Sender, Sent())

    def say(self, name: str, sender: Sender, flags: Flags) -> Self:
        """Adds a segment."""
        segment = Segment(sender, flags, self._sent[sender], self._sent[sender.other])
        self._sent[sender] = segment.sequence.after(flags)
        self.said.append((name, segment))
        return self

    def open(self) -> Self:
        """Adds the three segments of a handshake (RFC 9293 §3.5)."""
        self.say("syn", Sender.INITIATOR, Flags.SYN)
        return self.say("syn-ack", Sender.RESPONDER, Flags.SYN_ACK).say("ack", Sender.INITIATOR, Flags.ACK)

    def exchange(self, requests: int = 1, responses: int = 1, prefix: str = "", *, acknowledged: bool = False) -> Self:
        """Adds segments of data, first from the initiator, then from the responder; if `acknowledged`, with an
        acknowledgment after those of each side."""
        for name, sender, count in (
            ("request", Sender.INITIATOR, requests),
            ("response", Sender.RESPONDER, responses),
        ):
            for number in range(1, count + 1):
                self.say(f"{prefix}{name}" + (f" {number} of {count}" if count > 1 else ""), sender, Flags.DATA)
            if acknowledged and count:
                self.say(f"{prefix}{name} ack", sender.other, Flags.ACK)
        return self

    def close(self, first: Sender) -> Self:
        """Adds the three segments by which a side closes the connection first (RFC 9293 §3.6)."""
        self.say("fin", first, Flags.FIN).say("second fin", first.other, Flags.FIN)
        return self.say("last ack", first, Flags.ACK)

    def reset(self) -> Self:
        """Adds a reset by the initiator."""
        return self.say("reset", Sender.INITIATOR, Flags.RESET)
