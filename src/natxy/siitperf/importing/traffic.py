# SPDX-License-Identifier: Apache-2.0
"""Writes the ports, orders and frames of a plan from those of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from natxy.plan.address_presets import RANDOM_PORTS
from natxy.plan.model.address_ranges import AddressRange
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.model.background import DEFAULT_LINKS, LONGEST_CYCLE
from natxy.plan.model.terms import Family, Order
from natxy.plan.model.traffic import SMALLEST_FRAME, PortRange
from natxy.siitperf.arguments import ArgumentError
from natxy.siitperf.importing.links import link_around
from natxy.siitperf.importing.source import VALIDATING, Source
from natxy.siitperf.importing.text import Field, mapping
from natxy.siitperf.sides import ORDERS, Direction, Letter, active, order_of, port_order, port_range

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
    first, *others = [_way(source, direction) for direction in source.sending]
    default = {"source": RANDOM_PORTS.source, "destination": RANDOM_PORTS.destination}
    ports: dict[str, object] = {
        name: _text(own) for name, own in first.ports.items() if source.stateful or own != default[name]
    }
    # What is pseudorandom by default, and what has a single value, is left out.
    orders: dict[str, object] = {
        name: order.value for name, order in first.orders.items() if order and order != Order.PSEUDORANDOM
    }
    keys = {"ports": first.port_keys if ports else [], "orders": first.order_keys if orders else []}
    for other in others:
        reverse = {name: _text(own) for name, own in other.ports.items() if own != first.ports[name]}
        reverse_orders = {
            name: order.value
            for name, order in other.orders.items()
            if order and order != (first.orders[name] or Order.PSEUDORANDOM)
        }
        if reverse:
            ports["reverse"] = reverse
            keys["ports"] = keys["ports"] + other.port_keys
        if reverse_orders:
            orders["reverse"] = reverse_orders
            keys["orders"] = keys["orders"] + other.order_keys
    if state := _state_order(source):
        orders["state_table"] = state.value
        keys["orders"] = [*keys["orders"], "Responder-tuples"]
    fields = {"ports": ports, "orders": orders}
    return [
        Field(name, mapping(values), source.of(*dict.fromkeys(keys[name]))) for name, values in fields.items() if values
    ]


@dataclass(frozen=True)
class _Way:
    """The ports and orders of one direction; the order of a field with a single value is None."""

    ports: dict[str, PortRange]
    orders: dict[str, Order | None]
    port_keys: list[str]
    order_keys: list[str]


def _way(source: Source, direction: Direction) -> _Way:
    conf, prefix = source.conf, direction.ports
    by_enumeration = source.stateful and not source.draws
    enumerated = {what: ORDERS.get(conf.number(f"Enumerate-{what}")) for what in ("ports", "ips")}
    ports: dict[str, PortRange] = {}
    orders: dict[str, Order | None] = {}
    port_keys, order_keys = [], []
    for port, name in _NAMES.items():
        order = enumerated["ports"] if by_enumeration else port_order(conf, direction, port)
        varied = "Enumerate-ports" if by_enumeration else f"{prefix}-var-{port}"
        ports[name] = port_range(conf, direction, port, varies=order is not None)
        orders[f"{name}_port"] = order if ports[name].size > 1 else None
        port_keys += [varied, *(f"{prefix}-{port}-{end}" for end in ("min", "max") if order)]
        order_keys += [varied] if order else []
    for side, name in ((direction.sender, "source"), (direction.sender.opposite, "destination")):
        order = order_of(conf, side)
        varied = "Enumerate-ips" if by_enumeration else f"IP-{side}-var"
        orders[f"{name}_address"] = enumerated["ips"] if by_enumeration and order else order
        order_keys += [varied] if order else []
    return _Way(ports, orders, port_keys, order_keys)


def background_fields(source: Source) -> list[Field]:
    """Returns `background`, if frames of it are sent. ArgumentError if a plan cannot have so little foreground."""
    arguments, conf = source.arguments, source.conf
    if arguments is None or arguments.m >= arguments.n:
        return []
    if not source.phase2:
        source.differences.append(
            f"m is {arguments.m} of n {arguments.n}: the plan has no background, and the foreground of N and R."
        )
        return []
    if arguments.m == 0:
        text = (
            "m is 0, so that all frames are native IPv6; import with IP-L-Vers 6 and IP-R-Vers 6, and m of at least n"
        )
        raise ArgumentError(text)
    few, of = arguments.n - arguments.m, arguments.n
    if of > LONGEST_CYCLE:
        raise ArgumentError(
            f"n is {of}, and a plan's background repeats after at most {LONGEST_CYCLE} frames; lower n and m"
        )
    settings: dict[str, object] = {"share": f"{100 * few / of!r}%"}
    said = ["background frames alternate evenly with the others, and have the ports of RFC 4814"]
    if varying := _background_varies_by(source):
        said.append(f"they have one address on each side, and siitperf's vary by {source.of(*varying)}")
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
    source.differences.append(f"The plan's {'; '.join(said)}.")
    return [Field("background", mapping(settings), f"arguments n, m, {source.of(*keys)}".rstrip(", "))]


def _background_varies_by(source: Source) -> list[str]:
    """Returns the keys that vary the addresses of siitperf's background frames."""
    conf = source.conf
    varying = [key for side in Letter if order_of(conf, side) for key in (f"IP-{side}-var", f"IPv6-{side}-offset")]
    towards = [f"Num-{direction.sender.opposite}-Nets" for direction in active(conf)]
    return varying + [key for key in towards if conf.number(key) > 1]


def _state_order(source: Source) -> Order | None:
    """Returns the order of replies, if there are any and it is not natxy's default."""
    order = ORDERS.get(source.conf.number("Responder-tuples"))
    replies = source.procedure in VALIDATING or (
        source.stateful and source.phase2 and source.conf.flag(source.second.key)
    )
    return order if replies and order != Order.PSEUDORANDOM else None


def _text(ports: PortRange) -> str:
    return str(ports.min) if ports.size == 1 else f"{ports.min}-{ports.max}"
