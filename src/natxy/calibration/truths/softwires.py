# SPDX-License-Identifier: Apache-2.0
"""Truths about the boxes of IPv4 as a service: the rate of each with the tester as the other one, and the faults of the
frames that a box sends.

What an end sends arrives in one direction alone, so a fault has the other direction's frames as its witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from natxy.addressing.port_sets import PortSet
from natxy.calibration.case import Case, Expected, Span, exactly, within
from natxy.calibration.scale import MAX_PAUSE_S, Scale
from natxy.calibration.truths.rates import PHASE2_CONNECTIONS, highest_rate, limited
from natxy.calibration.truths.recovery import WHY_PAUSE
from natxy.plan.model.terms import MapEnd, SoftwireEnd
from natxy.plan.procedures.figures import STREAMS
from natxy.results.trials import TrialKind

WRONG_EVERY: Final = 50
# A binding that was changed: in so many of each so many packets, the end does not know it yet.
STALE: Final = {"every": 500, "frames": 20}
BINDING_DELAY_S: Final = 0.1
WHY_COUNT: Final = "a trial may begin at any frame of the gateway's count"
# A MAP domain whose subscribers share addresses (RFC 7597): 2^15 addresses, 2^5 port sets of each.
MILLION: Final = {"ipv4": "198.18.128.0/17", "ipv6": "fd00:2:10::/44", "ea_length": 20, "offset": 0}
# 256 subscribers, of which 16 share each address.
SHARED: Final = {"ipv4": "198.18.128.0/28", "ea_length": 8}
# 15 ranges of 64 ports (RFC 7597 §5.1), of which some gateways use the first one alone.
SET: Final = {"psid": 3, "psid_length": 6, "offset": 4}
PORTS: Final = PortSet(**SET)


@dataclass(frozen=True)
class _Fault:
    """Holds a fault of the frames that an end sends: its settings, and what the tester counts.

    `frames` of `every` have it, and come as `pieces` that are foreign, or as corrupt frames if there is no `kind`.
    """

    title: str
    kind: str
    settings: dict[str, Any]
    every: int = WRONG_EVERY
    frames: int = 1
    pieces: int = 1


FAULTS: Final = {
    "wrong-softwire": _Fault(
        "Another subscriber's softwire", "wrong_softwire", {"wrong_subscriber_every": WRONG_EVERY}
    ),
    "headers-in-softwire": _Fault(
        "Options between the headers", "headers_in_softwire", {"option_every": WRONG_EVERY}
    ),
    "not-in-softwire": _Fault("Plain IPv4 that leaks", "not_in_softwire", {"leak_every": WRONG_EVERY}),
    "interface-source": _Fault(
        "Outer source of the interface", "wrong_softwire", {"interface_source_every": WRONG_EVERY}
    ),
    "stale-binding": _Fault("Stale bindings", "wrong_softwire", {"stale_binding": STALE}, **STALE),
    "spent-hop-limit": _Fault("Outer hop limit not set", "spent_hop_limit", {"hop_limit_every": WRONG_EVERY}),
    "inner-fragments": _Fault(
        "Inner packets in fragments", "ipv4_fragment", {"inner_fragments_every": WRONG_EVERY}, pieces=2
    ),
    "outer-fragments": _Fault(
        "Outer packets in fragments", "ipv6_fragment", {"outer_fragments_every": WRONG_EVERY}, pieces=2
    ),
}  # fmt: skip


def softwires(scale: Scale) -> Iterator[Case]:
    yield from _rates(scale)
    yield from _port_sets(scale)
    for end in SoftwireEnd:
        for name, fault in FAULTS.items():
            yield _faulty(scale, end, name, fault)
        yield _without_checksum(scale, end)


def _rates(scale: Scale) -> Iterator[Case]:
    """Yields a row for each box: a B4 or lwB4, lwAFTRs or border relays of MAP-E, AFTRs, a customer's edge, a CLAT."""
    search = {"procedure": "throughput", "search": scale.search(scale.rate_fps)}
    connections = {"connections": PHASE2_CONNECTIONS, "phase1_rate": scale.connections_cps}
    of_set = connections | {"connections": len(PORTS) // 2}
    ends: list[tuple[str, str, SoftwireEnd | None, dict[str, Any], dict[str, Any]]] = [
        ("softwire-edge", "Edge of a softwire", SoftwireEnd.EDGE, {}, {}),
        ("softwire-core", "Core of a softwire", SoftwireEnd.CORE, {}, {}),
        ("softwire-core-256", "Core of 256 softwires", SoftwireEnd.CORE, {}, {"subscribers": {}}),
        ("softwire-core-million", "Core of a million softwires", SoftwireEnd.CORE, {}, {"subscribers": MILLION}),
        ("port-set-edge", "Edge with a port set", SoftwireEnd.EDGE, {"mode": "nat", "port_set": SET}, of_set),
        ("aftr", "AFTR", SoftwireEnd.CORE, {"mode": "nat"}, connections),
        ("aftr-256", "AFTR of 256 softwires", SoftwireEnd.CORE, {"mode": "nat"}, connections | {"subscribers": {}}),
        ("clat", "CLAT", None, {}, {"translation": "clat"}),
    ]  # fmt: skip
    for name, title, end, gateway, experiment in ends:
        yield Case(
            name, title, limited(scale, **gateway), search | experiment, {"rate": highest_rate(scale)},
            end=end,
        )  # fmt: skip


def _port_sets(scale: Scale) -> Iterator[Case]:
    """Yields how many connections a subscriber gets to one destination: the ports of its set, or of the first range."""
    edge = SoftwireEnd.EDGE
    yield capacity_of_ports(scale, "ports-of-set", "Ports of a subscriber", len(PORTS), edge)
    first = len(PORTS.ranges[0])
    yield capacity_of_ports(scale, "first-range", "First range of a port set alone", first, edge, first_range_only=True)


def capacity_of_ports(
    scale: Scale, name: str, title: str, capacity: int, end: SoftwireEnd | MapEnd, **settings: Any
) -> Case:
    """Returns the row of a customer's box with a port set that makes so many connections to one destination."""
    rate_cps = scale.connections_cps / 10
    return Case(
        name, title, {"mode": "nat", "port_set": SET, **settings},
        {
            "procedure": {
                "name": "table-capacity", "initial_connections": 32, "max_connections": len(PORTS),
                "beta": 0.9, "gamma": 0.9,
            },
            "search": {"min_rate": rate_cps / 2, "max_rate": rate_cps, "error": rate_cps / 2},
        },
        {"capacity": exactly(capacity)},
        end=end,
    )  # fmt: skip


def binding_check(scale: Scale) -> Iterator[Case]:
    """A packet with a neighbour's address passes only a gateway that takes any."""
    good = scale.delays_fps * scale.trial_s
    lossless = {"spoofed": exactly(round(good / 10)), "lost_alone": exactly(0), "lost_beside": exactly(0)}
    subscribers: dict[str, dict[str, Any]] = {"": {"subscribers": {}}, "-million": {"subscribers": MILLION}}
    for accepts in (False, True):
        fault = {"softwire": {"accepts_any_subscriber": True}} if accepts else {}
        for name, own in subscribers.items():
            yield Case(
                f"binding-check{name}{'-accepts-any' if accepts else ''}",
                f"Core of {'a million' if name else '256'} softwires that {'takes any' if accepts else 'checks'}",
                fault, {"procedure": "binding-check", "rate": scale.delays_fps, **own},
                {"passed": exactly(100 if accepts else 0), **lossless},
                end=SoftwireEnd.CORE,
            )  # fmt: skip
        yield Case(
            f"binding-check-map-t{'-accepts-any' if accepts else ''}",
            f"Core of MAP-T that {'takes any port' if accepts else 'checks ports'}",
            {"map_t": {"accepts_any_subscriber": True}} if accepts else {},
            {"procedure": "binding-check", "rate": scale.delays_fps, "subscribers": SHARED},
            {"passed": exactly(100 if accepts else 0), **lossless},
            end=MapEnd.CORE,
        )


def binding_churn(scale: Scale) -> Iterator[Case]:
    """A quarter of the subscribers lose their bindings and a quarter get some, at once or after a time."""
    fps, late_s = scale.delays_fps / 4, BINDING_DELAY_S
    outage_s, confirmed_s = late_s / 2, late_s / 5
    cases: tuple[tuple[str, str, dict[str, float], float, float, float], ...] = (
        ("binding-churn", "Bindings changed at once", {}, 0.0, 0.0, 0.0),
        ("binding-churn-late", "Bindings changed late", {"binding_delay": late_s}, late_s, late_s, 0.0),
        (
            "binding-churn-outage", "Bindings changed with an outage",
            {"binding_time": confirmed_s, "binding_outage": outage_s}, 0.0, outage_s, outage_s,
        ),
    )  # fmt: skip
    ends: dict[str, SoftwireEnd | MapEnd] = {"": SoftwireEnd.CORE, "-map-t": MapEnd.CORE}
    for (name, title, settings, old_s, new_s, silent_s), (of_end, end) in product(cases, ends.items()):
        time_s = {"old_time": _moment(old_s, fps), "new_time": _moment(new_s, fps), "new_whole": _moment(new_s, fps)}
        frames = {"old_passed": _frames(old_s, fps), "new_lost": _frames(new_s, fps)}
        yield Case(
            f"{name}{of_end}", f"{title}, MAP-T" if of_end else title, settings,
            {
                "procedure": {"name": "binding-churn", "recovery": 10 * late_s}, "rate": scale.delays_fps,
                "subscribers": SHARED if of_end else {},
            },
            {"unchanged_lost": _frames(silent_s, 4 * fps) if silent_s else exactly(0)}
            | {f"{figure}_{way}": truth for figure, truth in {**time_s, **frames}.items() for way in STREAMS},
            end=end,
            # They count from natxy's request or the gateway's answer, and natxy may lose its core between the two.
            span=Span("change", settings.get("binding_time", 0.0), ("old_", "new_")),
        )  # fmt: skip


def _moment(time_s: float, fps: float) -> Expected:
    return within(time_s, MAX_PAUSE_S + 2 / fps, WHY_PAUSE)


def _frames(time_s: float, fps: float) -> Expected:
    return within(time_s * fps, MAX_PAUSE_S * fps + 2, WHY_PAUSE)


def at_one_rate(scale: Scale) -> dict[str, Any]:
    """Returns a search of a single step."""
    return {"procedure": "throughput", "search": {"min_rate": scale.delays_fps, "max_rate": scale.delays_fps}}


def _faulty(scale: Scale, end: SoftwireEnd, name: str, fault: _Fault) -> Case:
    frames = round(scale.delays_fps * scale.trial_s)
    wrong = frames * fault.frames // fault.every
    return Case(
        f"{end}-{name}", f"{fault.title}, of the {end}", {"softwire": fault.settings}, at_one_rate(scale),
        counts={
            (TrialKind.TRAFFIC, fault.kind): within(fault.pieces * wrong, fault.pieces * fault.frames, WHY_COUNT),
            (TrialKind.TRAFFIC, "lost"): _about(wrong, fault.frames),
            (TrialKind.TRAFFIC, "corrupt"): exactly(0),
        },
        end=end,
    )  # fmt: skip


def _without_checksum(scale: Scale, end: SoftwireEnd) -> Case:
    wrong = round(scale.delays_fps * scale.trial_s) // WRONG_EVERY
    direction = "forward" if end == SoftwireEnd.EDGE else "reverse"
    return Case(
        f"{end}-zero-checksum", f"UDP checksum removed, of the {end}",
        {direction: {"zero_checksum_every": WRONG_EVERY}}, at_one_rate(scale),
        counts={(TrialKind.TRAFFIC, name): _about(wrong) for name in ("corrupt", "lost")},
        end=end,
    )  # fmt: skip


def _about(frames: int, tolerance: int = 1) -> Expected:
    return within(frames, tolerance, WHY_COUNT)
