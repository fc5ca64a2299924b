# SPDX-License-Identifier: Apache-2.0
"""One end of a softwire by the Linux kernel: IPv4 packets in IPv6 packets, with nothing between the two headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv6Address
from itertools import chain
from typing import ClassVar, Final

from natxy.addressing.map_rules import MapRule, MapSubscriber
from natxy.addressing.softwire_tables import SoftwireTable, TableSubscriber
from natxy.addressing.subscriber_ranges import SubscriberRange, changed
from natxy.dut.linux.own_routes import OWN_PROTOCOL, OWN_ROUTE, flush_rules
from natxy.dut.linux.softwires import HOP_LIMIT, SoftwireEndGateway, several_of
from natxy.errors import DutError
from natxy.plan.gateways.softwire import SoftwireBy, SoftwireConfig
from natxy.plan.path import OWN_NETWORK

# For subscribers that share addresses: their routing tables, and the priorities of rules for their ports, for ports
# that nobody has, and for the last port, which the kernel takes in no rule for ports.
_FIRST_TABLE: Final = 110_000
_OWN_PORTS, _NOBODYS_PORTS, _LAST_PORT = 110, 111, 112
_LAST: Final = 65535
_INSTEAD: Final = {SoftwireBy.SEG6: SoftwireBy.IP6_TUNNEL, SoftwireBy.IP6_TUNNEL: SoftwireBy.SEG6}


class SoftwireGateway(SoftwireEndGateway[SoftwireConfig]):
    """Puts the packets to the networks of the other end into IPv6, and takes packets from the other end out of it.

    `seg6` does both by routes: a list of one segment needs no routing header (RFC 8986 §5.2), so that plain
    IPv4-in-IPv6 is on the wire. `ip6_tunnel` does both by an interface, without an encapsulation limit (RFC 2473
    §4.1.1), which would be an option between the headers; several subscribers share one interface, and their routes
    say both ends of the softwire.
    """

    name = "softwire"
    summary = "an end of a softwire, IPv4 in IPv6 by the kernel: B4 and AFTR of DS-Lite, the tunnels of lw4o6 and MAP-E"
    position = 7
    tunnel: ClassVar[str] = "natxy-softwire"
    """The interface of `ip6_tunnel`."""

    def install(self) -> None:
        # A killed run may have left its routes on a DUT that survives the run.
        self.uninstall()
        self.unbound = ()
        if self.config.by == SoftwireBy.SEG6 and int(source := self._source()):
            raise DutError(
                f"the DUT has an owner's source of tunnels, {source} (`ip sr tunsrc show`), which natxy would replace: "
                "there is one for all of them; set it to ::, or give the gateway `by: ip6_tunnel`"
            )
        try:
            self.batch("ip", self._installed(), force=False)
        except DutError as error:
            by = self.config.by
            raise DutError(
                f"{error}. Does the kernel have {by}? If not, give the gateway `by: {_INSTEAD[by]}`"
            ) from error

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        withdrawn, added = changed(self.unbound, without)
        interface = self._interface
        commands = chain(
            *(self._bindings(each, interface, route="del", rule="del") for each in withdrawn),
            *(self._bindings(each, interface) for each in added),
        )
        self.change(without, lambda: self.batch("ip", commands, force=False))

    def uninstall(self) -> None:
        if self._shared:
            flush_rules(self.transport, "-4")
        self.batch("ip", self._removed(), force=True)

    def configuration(self) -> str:
        shown = ["ip", "sr", "tunsrc", "show"]
        if self.config.by == SoftwireBy.IP6_TUNNEL:
            shown = ["ip", "-6", "tunnel", "show", self.tunnel]
        return f"# {' '.join(shown)}\n{self.transport.run(shown).stdout.rstrip()}\n{super().configuration()}"

    @property
    def _interface(self) -> str:
        """Returns the interface of the routes to the other ends."""
        return self.outer if self.config.by == SoftwireBy.SEG6 else self.tunnel

    @property
    def _subscribers(self) -> MapRule | SoftwireTable | None:
        """Returns the subscribers; None if there is one alone."""
        return several_of(self.softwire)

    @property
    def _shared(self) -> MapRule | SoftwireTable | None:
        """Returns the subscribers if they share addresses; None if none do, so that no ports need rules."""
        several = self._subscribers
        return several if several and several.psid_length else None

    def _installed(self) -> Iterator[str]:
        own, far, subscribers = self.softwire.own, self.softwire.far, self._subscribers
        interface = self._interface
        if self.config.by == SoftwireBy.SEG6:
            yield f"sr tunsrc set {own}"
            yield self._route("replace", f"{own}/128", "encap seg6local action End.DX4 nh4 0.0.0.0", interface)
            through = self._through(far)
        elif subscribers:
            yield from self.made_tunnel(self.tunnel)
        else:
            yield f"address replace {own}/128 dev {self.outer} nodad"
            ends = f"local {own} remote {far} dev {self.outer}"
            yield f"link add {self.tunnel} type ip6tnl mode ipip6 {ends} encaplimit none hoplimit {HOP_LIMIT}"
            yield f"link set {self.tunnel} up"
            through = ""
        if subscribers:
            everyone = (subscribers.subscriber(number) for number in range(subscribers.subscriber_count))
            yield from self._bindings(everyone, interface)
            return
        yield from (self._route("replace", str(network), through, interface) for network in self.softwire.carries)

    def _through(self, far: IPv6Address) -> str:
        """Returns what puts the packets of a route into the softwire whose other end is `far`."""
        if self.config.by == SoftwireBy.SEG6:
            return f"encap seg6 mode encap.red segs {far}"
        return f"encap ip6 id 0 src {self.softwire.own} dst {far} hoplimit {HOP_LIMIT}"

    def _bindings(
        self,
        subscribers: Iterable[MapSubscriber | TableSubscriber],
        interface: str,
        *,
        route: str = "replace",
        rule: str = "add",
    ) -> Iterator[str]:
        """Yields a route for each subscriber's address or, where subscribers share addresses, a rule for each range of
        ports with a routing table of its own; `route` and `rule` say what is done with them."""
        for each in subscribers:
            through = self._through(each.address)
            if each.ports.psid_length == 0:
                yield self._route(route, f"{each.ipv4}/32", through, interface)
                continue
            table = _FIRST_TABLE + each.number
            yield f"{self._route(route, 'default', through, interface)} table {table}"
            chosen = f"to {each.ipv4}/32 protocol {OWN_PROTOCOL}"
            for ports in each.ports.ranges:
                # The kernel takes neither port 0 nor the last one.
                first, last = max(ports[0], 1), min(ports[-1], _LAST - 1)
                if first <= last:
                    dport = f"{first}" if first == last else f"{first}-{last}"
                    yield f"rule {rule} priority {_OWN_PORTS} ipproto udp dport {dport} {chosen} lookup {table}"
            if _LAST in each.ports:
                nobodys = f"ipproto udp dport 1-{_LAST - 1} {chosen} blackhole"
                yield f"rule {rule} priority {_NOBODYS_PORTS} {nobodys}"
                yield f"rule {rule} priority {_LAST_PORT} ipproto udp {chosen} lookup {table}"

    def _removed(self) -> Iterator[str]:
        own = self.softwire.own
        if shared := self._shared:
            yield from (f"route flush table {_FIRST_TABLE + number}" for number in range(shared.subscriber_count))
        yield f"route flush proto {OWN_PROTOCOL}"
        if self.config.by == SoftwireBy.SEG6:
            yield self._route("del", f"{own}/128")
            if self._source() in OWN_NETWORK:
                yield "sr tunsrc set ::"
        else:
            yield from self.removed_tunnel(self.tunnel)

    def _source(self) -> IPv6Address:
        """Returns the source of what the kernel puts into IPv6; :: if none is set, and if the DUT does not tell."""
        shown = self.transport.run(["ip", "sr", "tunsrc", "show"], check=False).stdout.split()
        try:
            return IPv6Address(shown[-1])
        except (IndexError, ValueError):
            return IPv6Address(0)

    def _route(self, verb: str, network: str, through: str = "", interface: str = "") -> str:
        device = ["dev", interface] if interface else []
        return " ".join(["route", verb, network, *through.split(), *device, *OWN_ROUTE])
