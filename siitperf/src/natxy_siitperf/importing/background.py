# SPDX-License-Identifier: Apache-2.0
"""Writes the background of a plan, and says how siitperf's differs."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.api.plans import DEFAULTS, LONGEST_CYCLE
from natxy.api.terms import AddressRange, Family, LinkAddresses
from natxy_siitperf.arguments import ArgumentError
from natxy_siitperf.importing.addresses import keys_of_hosts
from natxy_siitperf.importing.links import link_around
from natxy_siitperf.importing.source import Source
from natxy_siitperf.importing.text import Field, mapping
from natxy_siitperf.sides import Letter, active, order_of, port_order, real_key


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
    ports = " and ".join(f"{direction.ports}-…" for direction in active(conf))
    said = [
        "background frames alternate evenly with the others",
        f"they have the ports of RFC 4814, and siitperf's those of {ports}",
    ]
    if varying := _background_varies_by(source):
        said.append(f"they have one address on each side, and siitperf's vary by {source.of(*varying)}")
    keys = []
    for name, side, own in zip(("left", "right"), (source.left, source.right), source.families, strict=True):
        if own == Family.IPV6:
            # One link cannot have the same prefix twice.
            link: LinkAddresses = getattr(DEFAULTS.background, name)
            said.append(f"those on the {name} have the address {link.tester.ip}")
        else:
            real = conf.address(f"IPv6-{side}-Real")
            around = link_around(real, AddressRange(first=real, last=real))
            assert around, "one host leaves room"
            settings[name] = {"dut": around.dut, "tester": around.tester}
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


def keys_of_background(source: Source) -> Iterator[str]:
    """Yields the keys of siitperf's background frames; nothing without them."""
    conf = source.conf
    if not source.has_background:
        return
    for side in Letter:
        yield from keys_of_hosts(conf, side, real_key(side, Family.IPV6))
    for direction in active(conf):
        yield f"Num-{direction.sender.opposite}-Nets"
        for port in ("sport", "dport"):
            yield f"{direction.ports}-var-{port}"
            if port_order(conf, direction, port):
                yield from (f"{direction.ports}-{port}-{end}" for end in ("min", "max"))
