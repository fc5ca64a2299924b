# SPDX-License-Identifier: Apache-2.0
"""An lwAFTR or MAP-E border relay, composed of a tunnel interface and traffic control filters of the Linux kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar, Final

from natxy.addressing.port_sets import PortSet
from natxy.addressing.subscriber_ranges import SubscriberRange, changed
from natxy.dut.linux.softwires import HOP_LIMIT, Binding, SoftwireEndGateway, bindings, bindings_of
from natxy.errors import DutError
from natxy.plan.gateways.lwaftr import LwaftrConfig

# The order of the filters: ports that nobody has, the bindings, and all other packets.
_NOBODYS_PORTS, _BINDINGS, _OTHERS = 1, 2, 3
# Only these have ports that a filter can tell.
_PROTOCOLS: Final = ("udp", "tcp")
_PORT_BITS: Final = 16
_SHOWN_LINES: Final = 200
# Both ways through the interface, and where the inner header has the subscriber's address.
_WAYS: Final = {"egress": "dst", "ingress": "src"}


class LwaftrGateway(SoftwireEndGateway[LwaftrConfig]):
    """Has one tunnel interface for all softwires. Routes lead packets for subscribers to the interface, where a filter
    says both ends of the softwire, by address and ports. A filter on packets that come out of softwires lets only those
    pass whose outer source is that of their inner source and its port.

    Filters look at UDP and TCP alone where a subscriber has a part of an address's ports. Both ways a packet is
    forwarded by the kernel, so that its inner TTL falls by one.
    """

    name = "lwaftr"
    summary = "an lwAFTR or MAP-E border relay that checks each packet's binding, composed of the kernel's tc filters"
    position = 7
    tunnel: ClassVar[str] = "natxy-lwaftr"

    @classmethod
    def programs(cls, config: LwaftrConfig) -> dict[str, str]:
        return super().programs(config) | {"tc": "apt install iproute2"}

    def install(self) -> None:
        # A killed run may have left its interface on a DUT that survives the run.
        self.uninstall()
        self.unbound = ()
        try:
            self.batch("ip", self._interface(), force=False)
            self.batch("tc", self._filters(), force=False)
        except DutError as error:
            raise DutError(
                f"{error}. Does the kernel have ip6_tunnel, cls_flower and act_tunnel_key, and no other tunnel "
                "interface that is `external`?"
            ) from error

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        withdrawn, added = changed(self.unbound, without)
        commands = chain(
            *(self._of_binding(each, "del") for each in bindings_of(withdrawn)),
            *(self._of_binding(each) for each in bindings_of(added)),
        )
        self.change(without, lambda: self.batch("tc", commands, force=False))

    def uninstall(self) -> None:
        # The interface's filters and routes go with it.
        self.batch("ip", self.removed_tunnel(self.tunnel), force=True)

    def configuration(self) -> str:
        shown = [f"tc filter show dev {self.tunnel} {way}" for way in ("egress", "ingress")]
        found = [self.transport.run(["sh", "-c", f"{each} | head -n {_SHOWN_LINES}"]).stdout.rstrip() for each in shown]
        filters = (f"# {each}, at most {_SHOWN_LINES} lines\n{text}" for each, text in zip(shown, found, strict=True))
        return "\n".join([*filters, super().configuration()])

    def _interface(self) -> Iterator[str]:
        yield from self.made_tunnel(self.tunnel)
        yield from (f"route replace {network} dev {self.tunnel}" for network in self.softwire.carries)

    def _filters(self) -> Iterator[str]:
        every = [*bindings(self.softwire, self.config.port_set)]
        yield f"qdisc add dev {self.tunnel} clsact"
        for way, inner in _WAYS.items():
            added = f"filter add dev {self.tunnel} {way} protocol"
            for ports in _first_ports(every[0].ports, inner):
                yield f"{added} ip pref {_NOBODYS_PORTS} flower {ports} action drop"
            yield f"{added} all pref {_OTHERS} matchall action drop"
        for each in every:
            yield from self._of_binding(each)

    def _of_binding(self, each: Binding, verb: str = "add") -> Iterator[str]:
        """Yields the commands that add a binding's filters or, by their handles, delete them."""
        own = self.softwire.own
        for way, inner in _WAYS.items():
            if way == "egress":
                end, action = "", f"tunnel_key set src_ip {own} dst_ip {each.far} id 0 ttl {HOP_LIMIT} pass"
            else:
                end, action = f"enc_src_ip {each.far} enc_dst_ip {own} ", "pass"
            for further, ports in enumerate(_own_ports(each.ports, inner), 1):
                handle = each.number * len(_PROTOCOLS) + further
                known = f"filter {verb} dev {self.tunnel} {way} protocol ip pref {_BINDINGS} handle {handle} flower"
                yield known if verb == "del" else f"{known} {end}{inner}_ip {each.inner}{ports} action {action}"


def _own_ports(ports: PortSet, inner: str) -> Iterator[str]:
    """Yields what a filter asks of the ports of a subscriber; nothing where the subscriber has all of them."""
    if ports.psid_length == 0:
        yield ""
        return
    shift = _PORT_BITS - ports.offset - ports.psid_length
    value, mask = ports.psid << shift, (1 << ports.psid_length) - 1 << shift
    yield from (f" ip_proto {protocol} {inner}_port {value:#06x}/{mask:#06x}" for protocol in _PROTOCOLS)


def _first_ports(ports: PortSet, inner: str) -> Iterator[str]:
    """Yields what a filter asks of the first ports, which nobody has with an offset (RFC 7597 §5.1)."""
    if ports.psid_length and ports.offset:
        mask = (1 << ports.offset) - 1 << _PORT_BITS - ports.offset
        yield from (f"ip_proto {protocol} {inner}_port 0x0000/{mask:#06x}" for protocol in _PROTOCOLS)
