# SPDX-License-Identifier: Apache-2.0
"""Reads what a configuration says of each side and of each direction of its traffic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from natxy.api.terms import AddressRange, CoresOfPort, CoresOfTasks, Family, IPAddress, Order, PortRange
from natxy_siitperf.conf import Conf

FIXED_SOURCE_PORT: Final = 49_184
FIXED_DESTINATION_PORT: Final = 7
"""siitperf's frames have these ports where no key varies them."""

ORDERS: Final = {1: Order.INCREASING, 2: Order.DECREASING, 3: Order.PSEUDORANDOM}
"""Maps the numbers that stand for orders to them, in `…-var-…`, `IP-*-var` and `Enumerate-…`."""

_FIELD: Final = 0xFFFF


class Letter(StrEnum):
    """Names a side as siitperf's keys do."""

    LEFT = "L"
    RIGHT = "R"

    @property
    def opposite(self) -> Letter:
        return Letter.RIGHT if self is Letter.LEFT else Letter.LEFT


@dataclass(frozen=True)
class Direction:
    """A direction: its key, the beginning of its ports' keys, and the side that sends."""

    key: str
    ports: str
    sender: Letter


FORWARD: Final = Direction("Forward", "Fwd", Letter.LEFT)
REVERSE: Final = Direction("Reverse", "Rev", Letter.RIGHT)


def initiator(conf: Conf) -> Direction | None:
    """Returns the direction that makes connections; None if the configuration is stateless."""
    return {1: FORWARD, 2: REVERSE}.get(conf.number("Stateful"))


def enumerates(conf: Conf) -> bool:
    """Returns whether phase 1 uses each four-tuple once; otherwise it draws them as its var keys say."""
    return bool(conf.number("Enumerate-ports") or conf.number("Enumerate-ips"))


def active(conf: Conf) -> list[Direction]:
    return [direction for direction in (FORWARD, REVERSE) if conf.flag(direction.key)]


def cores_of(conf: Conf, left: Letter = Letter.LEFT) -> CoresOfTasks | None:
    """Returns the cores that send and receive on each side; None if nothing is sent. `left`: the side that is left.

    Where a configuration names one core of a side, this has both tasks, because natxy's ports also answer the gateway's
    requests.
    """
    ports = {}
    for name, side in (("left", left), ("right", left.opposite)):
        send, receive = (conf.optional(f"CPU-{side}-{task}") for task in ("Send", "Recv"))
        named = [core for core in (send, receive) if core is not None]
        if not named:
            return None
        ports[name] = CoresOfPort(send=named[:1], receive=named[-1:])
    return CoresOfTasks(**ports)


def numbers_of(cores: CoresOfTasks) -> set[int]:
    """Returns the numbers of all cores that have a task."""
    return {core for *_, own in cores.tasks() for core in own}


def family(conf: Conf, side: Letter) -> Family:
    """Returns the family of the foreground frames that a side sends."""
    return Family.IPV4 if conf.number(f"IP-{side}-Vers") == 4 else Family.IPV6


def real_key(side: Letter, of: Family) -> str:
    return f"{_ip(of)}-{side}-Real"


def destination_key(conf: Conf, side: Letter, of: Family) -> str:
    """Returns the key of the address that foreground frames of a family are sent to on a side."""
    return f"{_ip(of)}-{side}-{'Real' if family(conf, side) == of else 'Virt'}"


def offset_key(key: str) -> str:
    """Returns the key of the offset at which the address of a key varies."""
    return f"{key.rpartition('-')[0]}-offset"


def has_hosts(conf: Conf, side: Letter, key: str) -> bool:
    """Returns whether the file has what `hosts` reads for the address of a key."""
    return conf.has(key) and (not conf.number(f"IP-{side}-var") or conf.has(offset_key(key)))


def order_of(conf: Conf, side: Letter) -> Order | None:
    """Returns the order of a side's varying addresses; None if they are fixed."""
    return ORDERS.get(conf.number(f"IP-{side}-var"))


def hosts(conf: Conf, side: Letter, key: str) -> AddressRange:
    """Returns the addresses that the one of a key stands for: itself, or as many as `IP-*-var` makes of it."""
    address = conf.address(key)
    if not conf.number(f"IP-{side}-var"):
        return AddressRange(first=address, last=address)
    low, high = (conf.number(f"IP-{side}-{end}") for end in ("min", "max"))
    first_byte = conf.number(offset_key(key))
    low_bit = address.max_prefixlen - 8 * first_byte - 16
    return _varying(address, low_bit, 16, low, high)


def networks(conf: Conf, side: Letter, key: str) -> AddressRange:
    """Returns the addresses that a side's peers send to: as `hosts`, or one in each of its networks."""
    count = conf.number(f"Num-{side}-Nets")
    if count == 1:
        return hosts(conf, side, key)
    address = conf.address(key)
    # The third byte of an IPv4 address, and the last one of an IPv6 address's first half.
    return _varying(address, 8 if address.version == 4 else 64, 8, 0, count - 1)


def _varying(address: IPAddress, low_bit: int, bits: int, low: int, high: int) -> AddressRange:
    rest = int(address) & ~(((1 << bits) - 1) << low_bit)
    first, last = (type(address)(rest | value << low_bit) for value in (low, high))
    return AddressRange(first=first, last=last, low_bit=low_bit if low != high else 0)


def port_order(conf: Conf, direction: Direction, port: str) -> Order | None:
    """Returns the order of `sport` or `dport` in a direction; None if the port is fixed."""
    return ORDERS.get(conf.number(f"{direction.ports}-var-{port}"))


def port_range(conf: Conf, direction: Direction, port: str, *, varies: bool) -> PortRange:
    """Returns the ports that `sport` or `dport` takes in a direction."""
    if not varies:
        only = FIXED_SOURCE_PORT if port == "sport" else FIXED_DESTINATION_PORT
        return PortRange(min=only, max=only)
    low, high = (conf.number(f"{direction.ports}-{port}-{end}") for end in ("min", "max"))
    return PortRange(min=low, max=high)


def _ip(of: Family) -> str:
    return "IPv4" if of == Family.IPV4 else "IPv6"
