# SPDX-License-Identifier: Apache-2.0
"""Checks the keys of a configuration against each other.

siitperf refuses the same combinations, but for ranges whose ends are exchanged.
"""

from __future__ import annotations

from natxy.api.terms import Family
from natxy_siitperf.conf import Conf
from natxy_siitperf.sides import (
    FORWARD,
    REVERSE,
    Direction,
    Letter,
    active,
    destination_key,
    family,
    has_hosts,
    initiator,
    offset_key,
    order_of,
    port_order,
    real_key,
)


def check(conf: Conf, *, background: bool = False) -> None:
    """Raises ConfError for the first error; with `background`, native IPv6 traffic needs its addresses, too."""
    first = initiator(conf)
    _check_directions(conf, first)
    for direction in (FORWARD, REVERSE):
        if direction in active(conf) or direction == first:
            _check_cores(conf, direction)
            _check_addresses(conf, direction, background=background, replies=first not in (None, direction))
            _check_ports(conf, direction, enumerated=direction == first and conf.number("Enumerate-ports") != 0)
    for side in Letter:
        _check_varying(conf, side)
    _check_enumeration(conf, first)


def _check_directions(conf: Conf, first: Direction | None) -> None:
    if first is None and not active(conf):
        raise conf.wrong("Forward", "Forward and Reverse are both 0, and without Stateful nothing would be sent")
    if first and family(conf, first.sender.opposite) == Family.IPV6:
        key = f"IP-{first.sender.opposite}-Vers"
        text = "the responder must be IPv4, because frames of another family count as background and fill no table"
        raise conf.wrong(key, f"{text}; expected 4")


def _check_cores(conf: Conf, direction: Direction) -> None:
    receiver = direction.sender.opposite
    why = f"; {direction.key} needs it" if conf.flag(direction.key) else "; the initiator needs it"
    for key in (f"CPU-{direction.sender}-Send", f"CPU-{receiver}-Recv"):
        if not conf.has(key):
            raise conf.missing(key, why)


def _check_addresses(conf: Conf, direction: Direction, *, background: bool, replies: bool) -> None:
    sender, of = direction.sender, family(conf, direction.sender)
    # A responder swaps the addresses that it received.
    far = sender.opposite
    keys = [] if replies else [(sender, real_key(sender, of)), (far, destination_key(conf, far, of))]
    if background:
        keys += [(side, real_key(side, Family.IPV6)) for side in Letter]
    for side, key in keys:
        if not conf.has(key):
            raise conf.missing(key, f"; frames of {direction.key} need it")
        if not has_hosts(conf, side, key):
            raise conf.missing(offset_key(key), f"; IP-{side}-var needs it for frames of {direction.key}")


def _check_ports(conf: Conf, direction: Direction, *, enumerated: bool) -> None:
    for port in ("sport", "dport"):
        if not enumerated and port_order(conf, direction, port) is None:
            # Nothing reads the range of a port that is fixed.
            continue
        low, high = (f"{direction.ports}-{port}-{end}" for end in ("min", "max"))
        if conf.number(low) > conf.number(high):
            shown = high if conf.has(high) else low
            raise conf.wrong(shown, f"{low} is {conf.number(low)} and {high} {conf.number(high)}; exchange them")


def _check_varying(conf: Conf, side: Letter) -> None:
    key = f"IP-{side}-var"
    if not conf.number(key):
        return
    for needed in (f"IP-{side}-min", f"IP-{side}-max"):
        if not conf.has(needed):
            raise conf.missing(needed, f"; {key} needs it")
    if conf.number(f"IP-{side}-min") > conf.number(f"IP-{side}-max"):
        raise conf.wrong(f"IP-{side}-max", f"it is below IP-{side}-min; exchange them")
    for other in Letter:
        if conf.number(f"Num-{other}-Nets") > 1:
            raise conf.wrong(key, f"addresses cannot vary while Num-{other}-Nets is above 1; set one of both")


def _check_enumeration(conf: Conf, first: Direction | None) -> None:
    ports, ips = conf.number("Enumerate-ports"), conf.number("Enumerate-ips")
    if not ports and not ips:
        return
    shown = "Enumerate-ports" if ports else "Enumerate-ips"
    if first is None:
        raise conf.wrong(shown, "only phase 1 enumerates; set Stateful to 1 or 2, or this to 0")
    varying = [side for side in Letter if order_of(conf, side)]
    if ports and ips and ports != ips:
        raise conf.wrong("Enumerate-ips", f"expected the same as Enumerate-ports, {ports}, or 0")
    if ports and conf.number(f"Num-{first.sender.opposite}-Nets") > 1:
        raise conf.wrong("Enumerate-ports", f"Num-{first.sender.opposite}-Nets must be 1, so that each is used once")
    if ports and not ips and varying:
        raise conf.wrong("Enumerate-ports", f"IP-{varying[0]}-var varies addresses; set Enumerate-ips too, or it to 0")
    for direction in (FORWARD, REVERSE):
        if ips and not ports and (port_order(conf, direction, "sport") or port_order(conf, direction, "dport")):
            text = f"the ports of {direction.key} vary; set Enumerate-ports too, or {direction.ports}-var-… to 0"
            raise conf.wrong("Enumerate-ips", text)
    if ips and len(varying) < len(Letter):
        raise conf.wrong("Enumerate-ips", "expected IP-L-var and IP-R-var from 1 to 3")
