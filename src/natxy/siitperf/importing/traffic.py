# SPDX-License-Identifier: Apache-2.0
"""From the ports, orders and frames of a configuration to those of a plan."""

from __future__ import annotations

from typing import Final

from natxy.errors import PlanError
from natxy.plan.address_presets import RANDOM_PORTS
from natxy.plan.model.address_ranges import AddressRange
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.model.background import DEFAULT_LINKS, LONGEST_CYCLE
from natxy.plan.model.terms import Family, Order
from natxy.plan.model.traffic import SMALLEST_FRAME, PortRange
from natxy.siitperf.importing.links import link_around
from natxy.siitperf.importing.source import Source
from natxy.siitperf.importing.text import Field, mapping
from natxy.siitperf.sides import ORDERS, Letter, active, order_of, port_order, port_range

_TTL: Final = 10
_NAMES: Final = {"sport": "source", "dport": "destination"}


def frame_fields(source: Source) -> list[Field]:
    """Returns `frame_size`, `ttl` and `directions`."""
    fields = []
    if source.arguments:
        smallest = max(SMALLEST_FRAME[each] for each in source.families)
        size = source.arguments.size
        only_ipv4 = smallest == SMALLEST_FRAME[Family.IPV4]
        shown = source.arguments.sent_size(Family.IPV4) if only_ipv4 else size
        if shown != smallest:
            fields.append(
                Field("frame_size", str(shown), "argument size" + (", less 20 for IPv4" if only_ipv4 else ""))
            )
    fields.append(Field("ttl", str(_TTL), "siitperf's frames have it"))
    sends = active(source.conf)
    if source.phase2 and len(sends) == 1:
        shown_direction = "forward" if sends[0] is source.first else "reverse"
        fields.append(Field("directions", shown_direction, source.of("Forward", "Reverse")))
    return fields


def port_fields(source: Source) -> list[Field]:
    """Returns `ports` and `orders`."""
    conf, direction = source.conf, source.sending[0]
    enumerated = ORDERS.get(conf.number("Enumerate-ports"))
    ports: dict[str, PortRange] = {}
    orders: dict[str, Order] = {}
    for port, name in _NAMES.items():
        order = enumerated if source.stateful else port_order(conf, direction, port)
        ports[name] = port_range(conf, direction, port, varies=order is not None)
        if order and ports[name].size > 1:
            orders[f"{name}_port"] = order
    fields = []
    default = {"source": RANDOM_PORTS.source, "destination": RANDOM_PORTS.destination}
    shown = {name: _text(own) for name, own in ports.items() if source.stateful or own != default[name]}
    if shown:
        prefix = direction.ports
        keys = ["Enumerate-ports"] if source.stateful else []
        for port, name in _NAMES.items():
            if name in shown:
                keys += [] if source.stateful else [f"{prefix}-var-{port}"]
                keys += [f"{prefix}-{port}-{end}" for end in ("min", "max")] if ports[name].size > 1 else []
        fields.append(Field("ports", mapping(shown), source.of(*keys)))
    orders |= _address_orders(source) | _state_order(source)
    # Pseudorandom is the default.
    written = {name: order.value for name, order in orders.items() if order != Order.PSEUDORANDOM}
    if written:
        fields.append(Field("orders", mapping(written), source.of(*_order_keys(source, [*written]))))
    return fields


def background_fields(source: Source) -> list[Field]:
    arguments, conf = source.arguments, source.conf
    if arguments is None or arguments.m >= arguments.n or not source.phase2:
        return []
    if arguments.m == 0:
        text = (
            "m is 0, so that all frames are native IPv6; import with IP-L-Vers 6 and IP-R-Vers 6, and m of at least n"
        )
        raise PlanError(text)
    few, of = arguments.n - arguments.m, arguments.n
    if of > LONGEST_CYCLE:
        raise PlanError(
            f"n is {of}, and a plan's background repeats after at most {LONGEST_CYCLE} frames; lower n and m"
        )
    settings: dict[str, object] = {"share": f"{100 * few / of!r}%"}
    said = ["background frames alternate evenly with the others, and have the ports of RFC 4814"]
    keys = []
    for name, side, own in zip(("left", "right"), (source.left, source.right), source.families, strict=True):
        if own == Family.IPV6:
            # One link cannot have the same prefix twice.
            link: LinkAddresses = getattr(DEFAULT_LINKS, name)
            said.append(f"those on the {name} have the address {link.tester.ip}")
        else:
            real = conf.address(f"IPv6-{side}-Real")
            link = link_around(real, AddressRange(first=real, last=real))
            settings[name] = {"dut": link.dut, "tester": link.tester}
            keys.append(f"IPv6-{side}-Real")
    if arguments.phase1:
        said.append("phase 1 has no background")
    source.differences.append(f"The plan's {', '.join(said)}.")
    return [Field("background", mapping(settings), f"arguments n, m, {source.of(*keys)}".rstrip(", "))]


def _address_orders(source: Source) -> dict[str, Order]:
    conf = source.conf
    own, far = order_of(conf, source.sending[0].sender), order_of(conf, source.sending[0].sender.opposite)
    if source.stateful:
        enumerated = ORDERS.get(conf.number("Enumerate-ips"))
        own, far = (enumerated if varies else None for varies in (own, far))
    elif len(source.sending) > 1:
        # Both directions have one order; that of a field with a single value does not matter.
        own = far = own or far
    return {name: order for name, order in (("source_address", own), ("destination_address", far)) if order is not None}


def _state_order(source: Source) -> dict[str, Order]:
    order = ORDERS.get(source.conf.number("Responder-tuples"))
    replies = source.stateful and source.conf.flag(source.second.key)
    return {"state_table": order} if order and replies and source.phase2 else {}


def _order_keys(source: Source, written: list[str]) -> list[str]:
    keys = []
    prefix = source.sending[0].ports
    for name in written:
        if name == "state_table":
            keys.append("Responder-tuples")
        elif name.endswith("_port"):
            keys.append("Enumerate-ports" if source.stateful else f"{prefix}-var-{name[0]}port")
        elif source.stateful:
            keys.append("Enumerate-ips")
        else:
            keys += [f"IP-{side}-var" for side in Letter if order_of(source.conf, side)]
    return [*dict.fromkeys(keys)]


def _text(ports: PortRange) -> str:
    return str(ports.min) if ports.size == 1 else f"{ports.min}-{ports.max}"
