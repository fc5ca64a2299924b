# SPDX-License-Identifier: Apache-2.0
"""Holds what was observed of probe frames: how they fared, and what the DUT's kernel says before and after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from natxy.engine.messages.common import IPAddress, Side

# Address requests and errors are frames too, so that fewer than all of the probe frames count as "the frames".
_ENOUGH: Final = 0.5


class Refusal(StrEnum):
    """An ICMP error that came back to the sender, by what it says."""

    PROHIBITED = "administratively prohibited"
    PORT = "port unreachable"
    NO_ROUTE = "no route to the network or host"
    TOO_LONG = "frame too long"
    LOOP = "time to live exceeded"
    OTHER = "unreachable"


@dataclass(frozen=True)
class Passage:
    """Counts what became of the probe frames of one direction; sizes are in bytes, FCS included.

    `longest` is the longest frame that arrived with another length or checksum than it left with; None if none did.
    `damage` says what was wrong with the first of these.
    """

    source: Side
    size: int
    sent: int
    arrived: int
    misrouted: int = 0
    corrupt: int = 0
    longest: int | None = None
    refusals: tuple[Refusal, ...] = ()
    damage: str = ""

    @property
    def merged(self) -> bool:
        """True if a frame arrived that is longer than those that were sent."""
        return self.longest is not None and self.longest > self.size

    @property
    def good(self) -> bool:
        return self.arrived > 0 and not self.merged


def together(passages: Sequence[Passage]) -> Passage:
    """Returns passages of the same direction and size as one."""
    longest = [passage.longest for passage in passages if passage.longest is not None]
    return replace(
        passages[0],
        sent=sum(passage.sent for passage in passages),
        arrived=sum(passage.arrived for passage in passages),
        misrouted=sum(passage.misrouted for passage in passages),
        corrupt=sum(passage.corrupt for passage in passages),
        longest=max(longest, default=None),
        refusals=tuple(dict.fromkeys(refusal for passage in passages for refusal in passage.refusals)),
    )


@dataclass(frozen=True)
class Interface:
    """An interface of the DUT, and the frames that it has received and sent."""

    mac: str
    up: bool
    received: int
    sent: int


@dataclass(frozen=True)
class Route:
    """The DUT's answer to where it would send a frame: an interface, or the error in the kernel's words."""

    interface: str | None = None
    by_default: bool = False
    error: str = ""


@dataclass(frozen=True)
class DutState:
    """Holds what a Linux DUT says about itself.

    `routes` are those of frames from each side, `routes_back` those to their senders. `strict` has the interfaces whose
    reverse path filter drops frames with another way back. `drops` has the rules and policies that drop or refuse
    frames, each with the number of frames that it counted, None without a counter. `merging` has offloads that are on
    and merge UDP, by interface. `forwards` says for each version of IP whether the kernel forwards it.
    """

    interfaces: Mapping[str, Interface]
    default_routes: tuple[str, ...] = ()
    forwards: Mapping[int, bool] = field(default_factory=dict)
    strict: tuple[str, ...] = ()
    path_filter_drops: int = 0
    routes: Mapping[Side, Route] = field(default_factory=dict)
    routes_back: Mapping[Side, Route] = field(default_factory=dict)
    drops: Mapping[str, int | None] = field(default_factory=dict)
    merging: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def without_kernel(self) -> DutState:
        """Returns the state without what concerns only frames that the kernel forwards."""
        return replace(self, forwards={}, strict=(), path_filter_drops=0, routes={}, routes_back={}, drops={})


@dataclass(frozen=True)
class Observed:
    """All that is known about the frames from one side.

    `near` and `far` are the DUT's interfaces towards the frames' sender and receiver. `mac` answered the sender's
    requests for the DUT's address; None if nothing did, and then there is no `passage` and `asked` requests were sent,
    unless frames go to `given`, the DUT's address in the plan.
    `translates`: the gateway translates between address families. `unwraps`: its end of a softwire, if it takes these
    frames out of IPv6. `before` and `after` are None for a DUT that natxy
    cannot ask.
    """

    source: Side
    near: str
    far: str
    sender: IPAddress
    receiver: IPAddress
    mac: str | None
    passage: Passage | None
    given: str | None = None
    asked: int = 0
    translates: bool = False
    unwraps: IPAddress | None = None
    before: DutState | None = None
    after: DutState | None = None

    @property
    def frames(self) -> int:
        return self.passage.sent if self.passage else self.asked

    @property
    def state(self) -> DutState:
        """Returns what the DUT said last; a state without any fact if it could not be asked."""
        return self.after or DutState({})

    @property
    def reached(self) -> str | None:
        """The DUT's interface at the other end of the sender's cable; None if unknown."""
        interfaces = self.state.interfaces
        if self.mac:
            # A bridge or a VLAN has the address of an interface below it.
            owners = [name for name, interface in interfaces.items() if interface.mac == self.mac]
            return next((name for name in (self.near, self.far, *owners) if name in owners), None)
        if self.counts and self.has_received(self.far) and not self.has_received(self.near):
            return self.far
        return None

    def has_received(self, interface: str) -> bool:
        """Returns True when the DUT received about as many frames on this interface as the sender sent."""
        return self._growth(interface, "received") >= max(1, _ENOUGH * self.frames)

    def has_sent(self, interface: str) -> bool:
        return self._growth(interface, "sent") >= max(1, _ENOUGH * self.frames)

    @property
    def is_elsewhere(self) -> bool:
        """True if the sender's cable leads to another interface than the plan says."""
        return self.reached not in {None, self.near}

    @property
    def counts(self) -> bool:
        """True if the DUT's counters of both interfaces are known before and after the frames."""
        return all(
            state is not None and name in state.interfaces
            for state in (self.before, self.after)
            for name in (self.near, self.far)
        )

    def _growth(self, interface: str, counter: str) -> int:
        if self.before is None or self.after is None:
            return 0
        before, after = (state.interfaces.get(interface) for state in (self.before, self.after))
        return getattr(after, counter) - getattr(before, counter) if before and after else 0
