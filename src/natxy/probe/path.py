# SPDX-License-Identifier: Apache-2.0
"""Checks before the first trial that frames pass the gateway, and says what is in the way if none do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from natxy.dut.base import Gateway
from natxy.engine.interface import Engine
from natxy.engine.messages.common import IPAddress, Side
from natxy.engine.messages.ports import NeighborsResolve
from natxy.errors import DutError
from natxy.plan.caveats import Caveat
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import SoftwireEnd
from natxy.plan.path import Hop
from natxy.probe.diagnosis import caveats, diagnose, untranslated
from natxy.probe.dns64 import check_answers
from natxy.probe.dut_state import read_default_routes, read_dut, read_seen_as
from natxy.probe.frames import send_probes
from natxy.probe.observed import DutState, Observed, Passage
from natxy.procedures.common.streams import learning_request, neighbors_request

# A machine may take a core away for some milliseconds, and frames with it. A path that is blocked stays so.
_ATTEMPTS: Final = 3
# The time for the requests of one side alone, ten a second.
_ASK_S: Final = 0.5
_ASKED: Final = 5
# Frames that tell the opening of a connection from single address requests in the DUT's counters.
_OPENINGS: Final = 8
# Drivers of some cards renew their counters this seldom.
_COUNTERS_RENEWED_S: Final = 2.1


@dataclass(frozen=True)
class ProbedPath:
    """The way of an experiment's frames through its gateway.

    `asks_dut`: the gateway's commands run on the DUT itself, so that its kernel can be asked. `answer_s`: how long it
    may take to answer the first requests for its addresses. `dut_macs`: those of the sides on which frames go to an
    address of the plan's, whatever the DUT answers.
    """

    engine: Engine
    gateway: Gateway[Any]
    experiment: Experiment
    asks_dut: bool
    sleep: Callable[[float], None] = time.sleep
    answer_s: float = 3.0
    dut_macs: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Resolves the DUT's addresses and sends a few frames each way.

        Raises DutError with the cause and the remedy if an address is not resolved, or if no frame of a direction
        arrives as it should. Gateways of natxy's own make the faults that their plan asks for, and get no frames.
        """
        request = neighbors_request(self.experiment)
        macs = self._resolve(request)
        if not self.experiment.gateway.is_probed:
            return
        if self.experiment.procedure.asks_dns64:
            check_answers(self.engine, self.experiment)
            return
        if self._blocked():
            self._explain(request, macs)
        self._check_translated()
        for pair in range(1, self.experiment.pair_count):
            if blocked := self._blocked(pair):
                raise DutError(f"pair {pair + 1} of interfaces: {_title(blocked[0])}; check its cables and interfaces")

    def _blocked(self, pair: int = 0) -> list[Passage]:
        """Returns the directions in which frames do not pass between the interfaces of a pair."""
        for attempt in range(_ATTEMPTS):
            found = send_probes(self.engine, self.experiment, pair=pair, attempt=attempt)
            # Frames that the tester could not send say nothing about the gateway; the trials tell about them.
            blocked = [passage for passage in found if passage.sent and not passage.good]
            if not blocked or any(passage.merged for passage in blocked):
                break
        return blocked

    def caveats(self) -> list[Caveat]:
        """Returns what disturbs a measurement on this DUT although the frames pass."""
        if not self.asks_dut or not self.experiment.gateway.is_probed:
            return []
        return [
            caveat
            for hop in self.gateway.hops
            for caveat in caveats(read_default_routes(hop.transport), hop.interfaces.left, hop.interfaces.right)
        ]

    def learn(self) -> None:
        """Resolves the DUT's addresses anew, from each of the tester's on the link, so that the DUT learns these.

        Raises DutError as `check` does.
        """
        self._resolve(learning_request(self.experiment))

    def _resolve(self, request: NeighborsResolve) -> dict[Side, str]:
        neighbors = [
            neighbor if neighbor.pair else neighbor.model_copy(update={"gateway_mac": self.dut_macs.get(neighbor.side)})
            for neighbor in request.neighbors
        ]
        request = request.model_copy(update={"timeout_s": self.answer_s, "neighbors": neighbors})
        try:
            resolved = self.engine.resolve_neighbors(request)
        except DutError as error:
            if self.experiment.gateway.is_probed and self.asks_dut and (cause := self._why_unresolved(request)):
                raise DutError(f"{error}. Found: {cause}") from error
            raise
        return {neighbor.side: neighbor.mac for neighbor in resolved.neighbors if neighbor.pair == 0}

    def _why_unresolved(self, request: NeighborsResolve) -> str | None:
        """Returns the cause of a missing answer to address requests, if the DUT's counters tell it."""
        for side in Side:
            place = self._places(side)[0]
            before = place.state()
            answered = self._answered(side, request)
            observed = self._observed(side, answered, None, before, place)
            if observed.is_elsewhere or not (answered or side in self.dut_macs):
                return diagnose(observed)
        return None

    def _answered(self, side: Side, request: NeighborsResolve) -> dict[Side, str]:
        """Returns the DUT's address on a side as it tells it when asked, whatever the plan has; empty without an
        answer."""
        own = [
            neighbor.model_copy(update={"gateway_mac": None}) for neighbor in request.neighbors if neighbor.side == side
        ]
        try:
            resolved = self.engine.resolve_neighbors(NeighborsResolve(neighbors=own, timeout_s=_ASK_S))
        except DutError:
            return {}
        return {side: resolved.neighbors[0].mac}

    def _check_translated(self) -> None:
        """Raises DutError when the probe's connection has kept its source address through a gateway that hides it."""
        experiment = self.experiment
        hides = experiment.gateway.hides_left and experiment.uses_connections and experiment.translation is None
        if not hides or not self.asks_dut:
            return
        for place in self._places(Side.LEFT):
            if place.hop.gateway.hides_left and place.hop.addresses.translation is None:
                seen_as = read_seen_as(place.gateway.transport, place.left, place.right)
                if seen_as and (cause := untranslated(place.left, seen_as)):
                    raise DutError(f"{place.named}{cause}")

    def _explain(self, request: NeighborsResolve, macs: dict[Side, str]) -> None:
        """Sends the frames once more between two looks at the DUT, and raises DutError if they are still blocked."""
        # The cables are known by the addresses that answer, and not by those that the plan has.
        macs = {side: mac for side, mac in macs.items() if side not in self.dut_macs}
        if self.dut_macs:
            for side in map(Side, self.dut_macs):
                macs |= self._answered(side, request)
            # The engine sends to those that answered until it is given the plan's again.
            self._resolve(request)
        places = self._places(Side.LEFT)
        before = [place.state() for place in places]
        found = send_probes(self.engine, self.experiment, _OPENINGS)
        blocked = [passage for passage in found if passage.sent and not passage.good]
        if not blocked:
            return
        side = blocked[0].source
        order = range(len(places))[:: 1 if side == Side.LEFT else -1]
        seen = [self._observed(side, macs, blocked[0], before[number], places[number]) for number in order]
        number, observed = next(
            ((number, each) for number, each in zip(order, seen, strict=True) if not each.has_sent(each.far)),
            (order[-1], seen[-1]),
        )
        if number != order[0] and not observed.has_received(observed.near):
            left, right = (places[each].title for each in sorted((number, number - order.step)))
            raise DutError(
                f"{_title(blocked[0])}: the frames do not come to {observed.near} of {places[number].title}; "
                f"look at the link between {left} and {right}"
            )
        # A cable in the wrong port can stop the frames that are to leave by it, and no others.
        last = places[order[-1]]
        other = self._seen(side.opposite, macs, None, before[order[-1]], seen[-1].after, last)
        wrong = other if other.is_elsewhere and not observed.is_elsewhere else observed
        raise DutError(f"{_title(blocked[0])}: {places[number].named}{diagnose(wrong)}")

    def _observed(
        self, side: Side, macs: Mapping[Side, str], passage: Passage | None, before: DutState | None, place: _Place
    ) -> Observed:
        """Returns what is known of one side's frames at a gateway, with the gateway's state as it is now."""
        observed = self._seen(side, macs, passage, before, place.state(), place)
        if observed.counts and not observed.has_received(observed.near):
            self.sleep(_COUNTERS_RENEWED_S)
            observed = replace(observed, after=place.state())
        return observed

    def _seen(
        self,
        side: Side,
        macs: Mapping[Side, str],
        passage: Passage | None,
        before: DutState | None,
        after: DutState | None,
        place: _Place,
    ) -> Observed:
        interfaces = place.gateway.interfaces
        near, far = (interfaces.left, interfaces.right)[:: 1 if side == Side.LEFT else -1]
        if after and place.gateway.config.bypasses_kernel:
            after = after.without_kernel
        sender, receiver = (place.left, place.right)[:: 1 if side == Side.LEFT else -1]
        return Observed(
            source=side,
            near=near,
            far=far,
            sender=sender,
            receiver=receiver,
            mac=macs.get(side),
            passage=passage,
            given=self.dut_macs.get(side),
            asked=_ASKED,
            translates=place.hop.addresses.translates,
            unwraps=place.unwraps(side),
            before=before,
            after=after,
        )

    def _places(self, side: Side) -> list[_Place]:
        """Returns the gateways in the order in which frames from a side come to them."""
        own, path = self.experiment.addresses, self.experiment.path
        hosts = path.hosts(own.left_hosts.first, own.right_hosts.first)
        places = [
            _Place(gateway, title, hop, *ends, asked=self.asks_dut, alone=len(path.hops) == 1)
            for gateway, title, hop, ends in zip(
                self.gateway.hops, self.experiment.gateway.hop_titles, path.hops, hosts, strict=True
            )
        ]
        return places if side == Side.LEFT else places[::-1]


@dataclass(frozen=True)
class _Place:
    """Holds a gateway, and a host on each side of it as its links have them."""

    gateway: Gateway[Any]
    title: str
    hop: Hop
    left: IPAddress
    right: IPAddress
    asked: bool
    alone: bool

    @property
    def named(self) -> str:
        """The beginning of a sentence about the gateway, if there are others."""
        return "" if self.alone else f"{self.title}: "

    def unwraps(self, side: Side) -> IPAddress | None:
        """Returns the gateway's end of a softwire, if it takes frames from this side out of it."""
        softwire = self.hop.addresses.softwire
        inner = Side.LEFT if softwire and softwire.end == SoftwireEnd.CORE else Side.RIGHT
        return softwire.own if softwire and side == inner else None

    def state(self) -> DutState | None:
        """Returns what the gateway's kernel says; None if it cannot be asked."""
        if not self.asked:
            return None
        return read_dut(self.gateway.transport, self.gateway.interfaces, self.left, self.right)


def _title(passage: Passage) -> str:
    if passage.merged:
        return f"frames from the {passage.source} do not pass the gateway as they are"
    ways = f"from the {passage.source} to the {passage.source.opposite}"
    return (
        f"the gateway forwards nothing {ways}: before the first trial, none of {passage.sent} probe frames arrived "
        "as it should"
    )
