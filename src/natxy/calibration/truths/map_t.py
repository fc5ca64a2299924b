# SPDX-License-Identifier: Apache-2.0
"""Truths about the boxes of MAP-T: the rate of each with the tester as the other one, and the faults of the packets
that an end sends.

Such a packet arrives in one direction alone, so a fault has the other direction's frames as its witness.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from natxy.calibration.case import Case, exactly, within
from natxy.calibration.scale import Scale
from natxy.calibration.truths.rates import PHASE2_CONNECTIONS, highest_rate, limited
from natxy.calibration.truths.softwires import (
    MILLION,
    PORTS,
    SET,
    SHARED,
    STALE,
    WHY_COUNT,
    WRONG_EVERY,
    at_one_rate,
    capacity_of_ports,
)
from natxy.plan.model.terms import MapEnd
from natxy.results.trials import TrialKind

# Title, what the tester counts, settings, and how many packets of how many have the fault.
FAULTS: Final[dict[str, tuple[str, str, dict[str, Any], int, int]]] = {
    "wrong-subscriber": (
        "Another subscriber's address", "wrong_mapping", {"wrong_subscriber_every": WRONG_EVERY}, 1, WRONG_EVERY
    ),
    "stale-binding": (
        "Addresses from before a change", "wrong_mapping", {"stale_binding": STALE}, STALE["frames"], STALE["every"]
    ),
    "not-mapped": ("Plain IPv4 that leaks", "not_mapped", {"leak_every": WRONG_EVERY}, 1, WRONG_EVERY),
}  # fmt: skip


def map_t(scale: Scale) -> Iterator[Case]:
    yield from _rates(scale)
    yield capacity_of_ports(scale, "map-port-set", "Ports of a MAP-T subscriber", len(PORTS), MapEnd.EDGE)
    for end in MapEnd:
        for name in FAULTS:
            yield _faulty(scale, end, name)


def _rates(scale: Scale) -> Iterator[Case]:
    """Yields a row for each box: the translator of a CE, a whole CE, a border relay of many subscribers."""
    search = {"procedure": "throughput", "search": scale.search(scale.rate_fps)}
    connections = {"phase1_rate": scale.connections_cps}
    of_set = connections | {"connections": len(PORTS) // 2}
    behind = connections | {"connections": PHASE2_CONNECTIONS}
    boxes: list[tuple[str, str, MapEnd, dict[str, Any], dict[str, Any]]] = [
        ("map-edge", "Edge of MAP-T", MapEnd.EDGE, {}, {}),
        ("map-ce", "CE of MAP-T", MapEnd.EDGE, {"mode": "nat"}, behind),
        ("map-ce-port-set", "CE of MAP-T with a port set", MapEnd.EDGE, {"mode": "nat", "port_set": SET}, of_set),
        ("map-core", "Core of MAP-T", MapEnd.CORE, {}, {}),
        ("map-core-256", "Core of MAP-T's 256 subscribers", MapEnd.CORE, {}, {"subscribers": SHARED}),
        ("map-core-million", "Core of MAP-T's million subscribers", MapEnd.CORE, {}, {"subscribers": MILLION}),
    ]
    for name, title, end, gateway, experiment in boxes:
        yield Case(
            name, title, limited(scale, **gateway), search | experiment, {"rate": highest_rate(scale)}, end=end
        )  # fmt: skip


def _faulty(scale: Scale, end: MapEnd, name: str) -> Case:
    title, kind, settings, frames, every = FAULTS[name]
    wrong = round(scale.delays_fps * scale.trial_s) * frames // every
    subscribers = {"subscribers": SHARED} if end == MapEnd.CORE else {}
    return Case(
        f"{end}-{name}", f"{title}, of the {end}", {"map_t": settings}, at_one_rate(scale) | subscribers,
        counts={
            (TrialKind.TRAFFIC, kind): within(wrong, frames, WHY_COUNT),
            (TrialKind.TRAFFIC, "lost"): within(wrong, frames, WHY_COUNT),
            (TrialKind.TRAFFIC, "corrupt"): exactly(0),
        },
        end=end,
    )  # fmt: skip
