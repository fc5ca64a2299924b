# SPDX-License-Identifier: Apache-2.0
"""Writes a first plan from a few answers: what is there, which gateway, and what matters."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from natxy.dut.registry import SINGLE_GATEWAYS
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import Kernel, TranslationKind
from natxy.plan.zero_checksums import tolerance_needed
from natxy.shipped import schema_comment

# As it is, it is the kernel as a router, so that the plan can be tried before it is filled in.
_COMMANDS: Final = """\
&mine
      driver: command
      # Programs with their arguments, without a shell. Each has to end within 60 s: what stays is started with
      # [sh, -c, "PROGRAM > FILE 2>&1 & echo $! > FILE.pid"]. {left} and {right} are the DUT's interfaces.
      apply:
        - [sysctl, -qw, net.ipv4.ip_forward=1]
        # Start your gateway here.
      remove:
        - ["true"] # End it here. No error if it does not run.
      # wait_ready: [ip, link, show, tun0] # repeated until it succeeds
      version: [uname, -sr]
      describe:
        - [ip, route]
      # A gateway with connections also has these, and its experiments `connections`:
      # stateful: true
      # masquerades: true # the left side has private addresses; needs `stateful` too
      # clear: [[conntrack, -F]]
      # count: [cat, /proc/sys/net/netfilter/nf_conntrack_count]"""
# Of `make vm`.
_NOT_IN_THE_IMAGE: Final = frozenset({"map646", "snabb", "vpp"})
NO_TRANSLATION: Final = "none"
"""Stands for traffic of one family, among translations."""
# Longer than the slowest trial of these plans.
_TIMEOUT_S: Final = 300
# What a machine of its own has room for: 400 MB, and for PF 700 MB.
_CABLED_CONNECTIONS: Final = "500k"
_CABLED_TABLE: Final = "1M"


class Place(StrEnum):
    """Names where the gateway runs: in a lab on this machine, on a machine of its own, or in a virtual machine."""

    LAB = "lab"
    HARDWARE = "hardware"
    VM = "vm"


class Aspect(StrEnum):
    """Names what may matter about a gateway."""

    CONNECTIONS = "connections"
    THROUGHPUT = "throughput"
    LATENCY = "latency"


PLACES: Final[Mapping[str, str]] = {
    Place.LAB: "on this machine, in a lab that natxy makes and removes",
    Place.HARDWARE: "on a machine of its own, cabled to two ports of this one",
    Place.VM: "in a virtual machine on this one",
}
ASPECTS: Final[Mapping[str, str]] = {
    Aspect.CONNECTIONS: "how many connections it sets up per second",
    Aspect.THROUGHPUT: "how many frames per second it forwards without loss, also as a share of plain forwarding",
    Aspect.LATENCY: "for how long frames are on their way, at half of that rate",
}
PROTOCOLS: Final[Mapping[str, str]] = {
    Protocol.UDP: "as RFC 9693 has them, so that results compare with others'",
    Protocol.TCP: "by handshakes, as most connections of a network are",
}
TRANSLATIONS: Final[Mapping[str, str]] = {
    NO_TRANSLATION: "within IPv4, or within IPv6",
    TranslationKind.NAT64: "from IPv6 clients to IPv4 servers, with connections",
    TranslationKind.SIIT: "between IPv6 and IPv4, address by address, without connections",
}


@dataclass(frozen=True)
class Cabling:
    """Describes the tester's two ports, each a PCI address or the name of an interface, and the DUT behind them."""

    left: str
    right: str
    dut: str
    dut_left: str
    dut_right: str
    line_rate: str


@dataclass(frozen=True)
class Answers:
    """Holds the answers. Place.HARDWARE has `cabling`, and the other places have none.

    `translation`: one of `translations_of` the gateway; None for the usual one. `protocol` is that of all frames.
    """

    file: str
    name: str
    place: Place
    gateway: str
    aspects: Collection[Aspect]
    cabling: Cabling | None = None
    translation: str | None = None
    protocol: Protocol = Protocol.UDP


def gateways_at(place: Place) -> list[str]:
    """Returns the drivers that a first plan can measure there."""
    # One end of a softwire is no gateway by itself, and a DNS64 server forwards nothing.
    models = {name: _model(name) for name in SINGLE_GATEWAYS}
    return [
        name
        for name, model in models.items()
        if _runs(model, place) and translations_of(name) and not model.dns64_prefix
    ]


def aspects_of(gateway: str) -> list[Aspect]:
    """Returns what can be measured of a gateway: a stateless one has no connections."""
    return [each for each in Aspect if each != Aspect.CONNECTIONS or _model(gateway).keeps_connections]


def translations_of(gateway: str) -> list[str]:
    """Returns the translations that a first plan can measure of a gateway, the usual one first."""
    model = _model(gateway)
    stateful = [TranslationKind.NAT64] if model.keeps_connections else []
    kinds = [each for each in (None, *stateful, TranslationKind.SIIT) if each in model.translations]
    return [each.value if each else NO_TRANSLATION for each in kinds]


def protocols_of(gateway: str) -> list[str]:
    """Returns the protocols of frames that a first plan can have: a gateway without connections treats all alike."""
    return [each.value for each in Protocol if each == Protocol.UDP or _model(gateway).keeps_connections]


def is_pci(port: str) -> bool:
    """Returns True for a PCI address; other ports are interfaces."""
    return ":" in port


def first_plan(answers: Answers) -> str:
    """Returns the plan as YAML with comments."""
    lines = [*_head(answers), "", "experiments:"]
    for comment, fields in _experiments(answers):
        lines.append(f"  # {comment}")
        lines += [f"  {'  ' if number else '- '}{name}: {text}" for number, (name, text) in enumerate(fields.items())]
    return "\n".join(lines) + "\n"


def _model(gateway: str) -> GatewayModel:
    return TypeAdapter[GatewayModel](GatewayConfig).validate_python({"driver": gateway})


def _runs(gateway: GatewayModel, place: Place) -> bool:
    if not gateway.is_gateway or gateway.in_virtual_time or gateway.polls:
        return False
    if place == Place.HARDWARE:
        return True
    return not gateway.on_other_machine and (place == Place.LAB or gateway.driver not in _NOT_IN_THE_IMAGE)


def _head(answers: Answers) -> Iterator[str]:
    yield schema_comment(Path(answers.file).parent)
    yield f"# `natxy check {answers.file}` says what this plan measures and how long that takes."
    yield f"# `natxy run {answers.file}` measures it."
    if untried := _model(answers.gateway).untried:
        yield f"# natxy's driver {answers.gateway} {untried}."
    yield f"name: {json.dumps(answers.name)}"
    yield "seed: 1 # the same seed sends the same frames"
    yield "repeat: 3 # 20 for results to publish"
    yield "timing: lab # short trials; `rfc` has those of RFC 2544, of a minute each"
    yield ""
    yield "testbed:"
    yield f"  kind: {answers.place}"
    if cabling := answers.cabling:
        yield "  # The tester's two ports: `left` is the initiator's, `right` the responder's."
        yield f"  left: {_port(cabling.left)}"
        yield f"  right: {_port(cabling.right)}"
        yield "  # The gateway, and its interfaces that are cabled to these ports."
        yield "  dut:"
        for name, text in (("ssh", cabling.dut), ("left", cabling.dut_left), ("right", cabling.dut_right)):
            yield f"    {name}: {json.dumps(text)}"
        yield f"line_rate: {cabling.line_rate}"
    yield ""
    yield "defaults:"
    yield "  # A trial that a pause of the tester may have spoilt is invalid and repeated: allow more attempts than 3."
    yield "  max_invalid: 20"
    if answers.protocol == Protocol.TCP:
        yield "  protocol: tcp # every connection by a handshake"


def _port(name: str) -> str:
    return f"{{{'pci' if is_pci(name) else 'interface'}: {json.dumps(name)}}}"


def _experiments(answers: Answers) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yields a comment and the fields of each experiment; one that takes a rate from another comes after it."""
    name, wants = answers.gateway, answers.aspects
    gateway = _model(name)
    translation = answers.translation or translations_of(name)[0]
    kind = None if translation == NO_TRANSLATION else translation
    guest = answers.place == Place.LAB and gateway.module is not None
    slow = answers.place == Place.VM or (answers.place == Place.LAB and kind is not None)
    rates = _search(answers, slow, "800k")
    new = {"connections": "20k" if slow else "50k", "search": _search(answers, slow, "1M")}
    if answers.cabling:
        # So many that a trial at the highest rate lasts for 100 ms.
        new = {"connections": _CABLED_CONNECTIONS, "search": "{min_rate: 20k, max_rate: 5M, error: 2%}"}

    # Latency is measured at a share of the throughput.
    if forwarded := Aspect.THROUGHPUT in wants or Aspect.LATENCY in wants:
        plain = {"gateway": _forwarding(gateway, guest)} | ({"family": "ipv6"} if kind else {})
        what = "Throughput" if gateway.is_router else "The baseline, 100 %: plain forwarding by the same system"
        yield f"{what}.", _experiment("forwarding", "Forwarding", "throughput", plain, search=rates)
        if Aspect.LATENCY in wants:
            rate = "{experiment: forwarding, percent: 50}"
            fields = _experiment("forwarding-latency", "Forwarding latency", "latency", plain, rate=rate)
            yield "Its latency at half of that rate.", fields
    if gateway.is_router:
        return

    through = {"gateway": _settings(gateway, guest, answers)} | ({"translation": kind} if kind else {})
    udp = answers.protocol == Protocol.UDP
    tolerance = tolerance_needed(gateway, TranslationKind(kind).families) if kind and udp else {}
    written = ", ".join(f"{direction}: {share}" for direction, share in tolerance.items())
    tolerated = {"loss_tolerance": f"{{{written}}} # UDP checksums of 0"} if tolerance else {}
    over = "Throughput."
    if gateway.keeps_connections:
        made = {**through, **tolerated, **new}
        yield (
            "How many connections per second the gateway sets up.",
            _experiment("rate", f"{name} connections", "connection-rate", made),
        )
        if Aspect.CONNECTIONS in wants:
            yield (
                "The same, if every connection also has to carry a reply.",
                _experiment("validated-rate", f"{name} validated connections", "validated-connection-rate", made),
            )
            if not udp:
                fields = _experiment("lives", f"{name} connections, whole", "tcp-connection-rate", made)
                yield "How many per second, if each is opened, used and closed.", fields
        through |= {"connections": new["connections"], "phase1_rate": "{experiment: rate, percent: 50}"}
        over = "Throughput over connections, which are made anew before every trial at half of that rate."
    if forwarded:
        fields = {**through, **tolerated, "baseline": "forwarding"}
        yield over, _experiment("throughput", f"{name} throughput", "throughput", fields, search=rates)
    if Aspect.LATENCY in wants:
        if gateway.driver == "command":
            through["gateway"] = "*mine"
        rate = "{experiment: throughput, percent: 50}"
        fields = _experiment("latency", f"{name} latency", "latency", through, rate=rate)
        yield "Latency at half of that throughput.", fields


def _experiment(name: str, title: str, procedure: str, fields: Mapping[str, str], **others: str) -> Mapping[str, str]:
    return {"name": name, "title": title, "procedure": procedure, **fields, **others}


def _forwarding(gateway: GatewayModel, guest: bool) -> str:
    if gateway.on_other_machine:
        return f"{{driver: {gateway.driver}, enabled: false}}"
    return f"{{driver: linux-forward, kernel: {Kernel.USER_MODE}}}" if guest else "linux-forward"


def _settings(gateway: GatewayModel, guest: bool, answers: Answers) -> str:
    if gateway.driver == "command":
        return _COMMANDS
    settings = {"driver": gateway.driver}
    if answers.cabling:
        settings |= dict.fromkeys(gateway.usual_table_sizes, _CABLED_TABLE)
    if guest:
        settings["kernel"] = Kernel.USER_MODE
    fields = type(gateway).model_fields
    if answers.protocol == Protocol.UDP and "udp_timeout_s" in fields:
        settings["udp_timeout_s"] = str(_TIMEOUT_S)
    if answers.protocol == Protocol.TCP and "tcp_timeouts_s" in fields:
        settings["tcp_timeouts_s"] = f"{{syn_sent: {_TIMEOUT_S}, syn_recv: {_TIMEOUT_S}}}"
    return "{" + ", ".join(f"{field}: {value}" for field, value in settings.items()) + "}"


def _search(answers: Answers, slow: bool, most: str) -> str:
    limits = ("10k", "100%") if answers.cabling else ("2k" if slow else "10k", most)
    return "{{min_rate: {}, max_rate: {}, error: 2%}}".format(*limits)
