# SPDX-License-Identifier: Apache-2.0
"""Writes the ports, orders and frames of the foreground of a plan from those of a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from natxy.api.plans import DEFAULTS
from natxy.api.terms import SMALLEST_FRAME, Family, Order, PortRange
from natxy_siitperf.importing.source import Source
from natxy_siitperf.importing.text import Field, mapping
from natxy_siitperf.sides import ORDERS, Direction, active, order_of, port_order, port_range

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
    default = {"source": DEFAULTS.ports.source, "destination": DEFAULTS.ports.destination}
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


def ports_of(source: Source, direction: Direction) -> dict[str, PortRange]:
    """Returns the ports of the `source` and the `destination` in a direction."""
    return _way(source, direction).ports


def keys_of_flows(source: Source, direction: Direction) -> list[str]:
    """Returns the keys that the ports and orders of a direction are from, whether they are natxy's defaults or not."""
    way = _way(source, direction)
    return way.port_keys + way.order_keys


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


def _state_order(source: Source) -> Order | None:
    """Returns the order of replies, if there are any and it is not natxy's default."""
    order = ORDERS.get(source.conf.number("Responder-tuples"))
    return order if source.replies and order != Order.PSEUDORANDOM else None


def _text(ports: PortRange) -> str:
    return str(ports.min) if ports.size == 1 else f"{ports.min}-{ports.max}"
