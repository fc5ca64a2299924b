# SPDX-License-Identifier: Apache-2.0
"""Tests the four-tuples of captured frames, for every notation of hosts in a plan and every order."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import TrialRequest
from natxy.plan.model.terms import Family, Order, Selection
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request
from tests.support import needs
from tests.support.captured_frames import FourTuple, judge, signature_of, tuple_of
from tests.support.nat_bed import PATIENTLY, NatBed, all_captured
from tests.support.undisturbed import repeated

pytestmark = needs.LAB

FRAMES = 200

# Notations of the left and the right hosts in a plan.
HOSTS: dict[str, dict[Family, tuple[Any, Any]]] = {
    "prefixes": {
        Family.IPV4: ("10.0.4.0/23", "198.19.8.0/22"),
        Family.IPV6: ("2001:2:0:1::/112", "2001:2:0:8001::40/122"),
    },
    "lists": {
        Family.IPV4: (["10.0.200.9", "10.0.7.1", "10.0.3.77"], ["198.19.77.2", "198.19.1.1"]),
        Family.IPV6: (["2001:2:0:77::9", "2001:2:0:1::9"], ["2001:2:0:8001::5", "2001:2:0:8042::1", "2001:2:0:8007::"]),
    },
    "odd bits": {
        Family.IPV4: (
            {"first": "10.0.2.9", "last": "10.0.37.41", "low_bit": 5},
            {"first": "198.19.1.3", "last": "198.19.254.131", "low_bit": 7},
        ),
        # The first range crosses the middle of the address, the second begins at the lowest bit of its upper half.
        Family.IPV6: (
            {"first": "2001:2:0:2:6000::2", "last": "2001:2:0:21:4000::2", "low_bit": 61},
            {"first": "2001:2:0:8001::1", "last": "2001:2:0:8001:63::1", "low_bit": 48},
        ),
    },
    "256 networks of 14 hosts": {
        Family.IPV4: ("10.0.9.0/28", [f"198.19.{128 + n // 2}.{n % 2 * 128}/28" for n in range(256)]),
        Family.IPV6: ("2001:2:0:9::/124", [f"2001:2:0:80{n:02x}::f0/124" for n in range(256)]),
    },
}


def all_of(written: Any) -> list[str]:
    if isinstance(written, list):
        return [address for each in written for address in all_of(each)]
    if isinstance(written, dict):
        first, last, step = int(ip_address(written["first"])), int(ip_address(written["last"])), 1 << written["low_bit"]
        kind = type(ip_address(written["first"]))
        return [str(kind(address)) for address in range(first, last + 1, step)]
    return [*map(str, ip_network(written).hosts())] if "/" in written else [written]


@pytest.mark.parametrize("turn", range(len(Order)))
@pytest.mark.parametrize("case", HOSTS)
@repeated
def test_every_flow_set_in_every_order(bed: NatBed, case: str, turn: int) -> None:
    """Compares the tuple of each frame with the plan. In the three turns each field has each order."""
    fields = ("destination_address", "source_address", "destination_port", "source_port")
    orders = {field: [*Order][(number + turn) % len(Order)] for number, field in enumerate(fields)}
    left, right = HOSTS[case][bed.family]
    experiment = {
        "name": "flows",
        "gateway": "nftables",
        "procedure": "connection-rate",
        "family": bed.family,
        "connections": FRAMES,
        "search": {"max_rate": "20k"},
        "addresses": {
            **{side: getattr(bed.links, side).model_dump(mode="json") for side in ("left", "right")},
            **{"left_hosts": left, "right_hosts": right},
        },
        "ports": {"source": "1024-1030", "destination": "80-84"},
        "orders": orders,
    }
    resolved = resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [experiment]}))
    request = establish_request(resolved.experiments[0], 20_000, seed=3)
    domains = [all_of(right), all_of(left), [*range(80, 85)], [*range(1024, 1031)]]
    sent: list[dict[int, FourTuple]] = []
    for selection, seed in (
        (Selection.ENUMERATE, 3),
        (Selection.RANDOM, 3),
        (Selection.RANDOM, 3),
        (Selection.RANDOM, 4),
    ):
        stream = request.streams[0].model_copy(update={"selection": selection})
        bed.gateway.clear()
        with bed.sent(Side.LEFT) as frames:
            bed.engine.run_trial(TrialRequest(streams=[stream], seed=seed, **PATIENTLY))
        all_captured(frames, FRAMES)
        for frame in frames:
            judge(frame, bed.family, stream.frame.longest, Side.LEFT, ttl=64)
        sent.append({signature_of(frame).sequence: tuple_of(frame) for frame in frames})
        assert sorted(sent[-1]) == list(range(FRAMES))

    enumerated, drawn, again, other_seed = sent
    assert len(set(enumerated.values())) == FRAMES
    assert drawn == again
    assert drawn != other_seed
    weight = 1
    for field, domain in zip(reversed(fields), reversed(domains), strict=True):
        place = ("source_address", "destination_address", "source_port", "destination_port").index(field)
        in_order: list[Any] = domain[::-1] if orders[field] == Order.DECREASING else domain
        for sequence in range(FRAMES):
            counted, alone = enumerated[sequence][place], drawn[sequence][place]
            if orders[field] == Order.PSEUDORANDOM:
                assert counted in in_order
                assert alone in in_order
            else:
                assert counted == in_order[sequence // weight % len(domain)], field
                assert alone == in_order[sequence % len(domain)], field
        weight *= len(domain)
