# SPDX-License-Identifier: Apache-2.0
"""Truths about softwires: the rate of each end, with the tester as the other, and the faults of the frames that the end
sends.

What an end sends arrives in one direction alone, so a fault has the other direction's frames as its witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from natxy.calibration.case import Case, Expected, exactly, within
from natxy.calibration.scale import Scale
from natxy.calibration.truths.rates import highest_rate, limited
from natxy.plan.model.terms import SoftwireEnd
from natxy.results.trials import TrialKind

WRONG_EVERY: Final = 50
_WHY_COUNT: Final = "a trial may begin at any frame of the gateway's count"
# A MAP domain whose subscribers share addresses (RFC 7597): 2^15 addresses, 2^5 port sets of each.
_MILLION: Final = {"ipv4": "198.18.128.0/17", "ipv6": "fd00:2:10::/44", "ea_length": 20, "offset": 0}
_FAULTS: Final = {
    "wrong_subscriber_every": ("wrong_softwire", "Another subscriber's softwire"),
    "option_every": ("headers_in_softwire", "Options between the headers"),
    "leak_every": ("not_in_softwire", "Plain IPv4 that leaks"),
}


def softwires(scale: Scale) -> Iterator[Case]:
    search = {"procedure": "throughput", "search": scale.search(scale.rate_fps)}
    ends: list[tuple[str, str, SoftwireEnd, dict[str, Any]]] = [
        ("edge", "Edge of a softwire", SoftwireEnd.EDGE, {}),
        ("core", "Core of a softwire", SoftwireEnd.CORE, {}),
        ("core-256", "Core of 256 softwires", SoftwireEnd.CORE, {"subscribers": {}}),
        ("core-million", "Core of a million softwires", SoftwireEnd.CORE, {"subscribers": _MILLION}),
    ]
    for name, title, end, subscribers in ends:
        yield Case(
            f"softwire-{name}", title, limited(scale), search | subscribers, {"rate": highest_rate(scale)},
            softwire_end=end,
        )  # fmt: skip
    frames = round(scale.delays_fps * scale.trial_s)
    at = {"procedure": "throughput", "search": {"min_rate": scale.delays_fps, "max_rate": scale.delays_fps}}
    for end in SoftwireEnd:
        for fault, (kind, title) in _FAULTS.items():
            yield Case(
                f"{end}-{kind.replace('_', '-')}", f"{title}, of the {end}", {"softwire": {fault: WRONG_EVERY}}, at,
                counts={
                    (TrialKind.TRAFFIC, kind): _about(frames // WRONG_EVERY),
                    (TrialKind.TRAFFIC, "lost"): _about(frames // WRONG_EVERY),
                    (TrialKind.TRAFFIC, "corrupt"): exactly(0),
                },
                softwire_end=end,
            )  # fmt: skip


def binding_check(scale: Scale) -> Iterator[Case]:
    """A packet of a neighbour's softwire passes only a gateway that takes any."""
    good = scale.delays_fps * scale.trial_s
    lossless = {"spoofed": exactly(round(good / 10)), "lost_alone": exactly(0), "lost_beside": exactly(0)}
    subscribers: dict[str, dict[str, Any]] = {"": {"subscribers": {}}, "-million": {"subscribers": _MILLION}}
    for accepts in (False, True):
        fault = {"softwire": {"accepts_any_subscriber": True}} if accepts else {}
        for name, own in subscribers.items():
            yield Case(
                f"binding-check{name}{'-accepts-any' if accepts else ''}",
                f"Core of {'a million' if name else '256'} softwires that {'takes any' if accepts else 'checks'}",
                fault, {"procedure": "binding-check", "rate": scale.delays_fps, **own},
                {"passed": exactly(100 if accepts else 0), **lossless},
                softwire_end=SoftwireEnd.CORE,
            )  # fmt: skip


def _about(frames: int) -> Expected:
    return within(frames, 1, _WHY_COUNT)
