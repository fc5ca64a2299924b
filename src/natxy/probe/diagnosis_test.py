# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address
from typing import Any, Final

import pytest

from natxy.engine.messages.common import Side
from natxy.probe.diagnosis import caveats, diagnose, untranslated
from natxy.probe.observed import DutState, Interface, Observed, Passage, Refusal, Route

NEAR_MAC, FAR_MAC, THIRD_MAC = ("02:00:00:00:00:11", "02:00:00:00:01:11", "02:00:00:00:02:11")


def state(near: int = 0, far: int = 0, **facts: Any) -> DutState:
    """Returns the state of a DUT that has received `near` frames on d-left and sent `far` on d-right."""
    interfaces = {
        "d-left": Interface(NEAR_MAC, True, 100 + near, 100),
        "d-right": Interface(FAR_MAC, True, 100, 100 + far),
        "mgmt": Interface(THIRD_MAC, True, 5000, 5000),
    }
    return replace(DutState(interfaces, routes={Side.LEFT: Route("d-right")}, forwards={4: True}), **facts)


LOST: Final = Passage(Side.LEFT, size=64, sent=16, arrived=0)
# The DUT has the frames and sends them nowhere.
STUCK: Final = Observed(
    source=Side.LEFT,
    near="d-left",
    far="d-right",
    sender=ip_address("10.0.0.2"),
    receiver=ip_address("198.19.0.2"),
    mac=NEAR_MAC,
    passage=LOST,
    before=state(),
    after=state(near=16),
)
BLIND: Final = replace(STUCK, before=None, after=None)
UNANSWERED: Final = replace(STUCK, mac=None, passage=None, asked=5, after=state())


def after(**facts: Any) -> Observed:
    return replace(STUCK, after=state(near=16, **facts))


def fared(**facts: Any) -> Observed:
    return replace(STUCK, passage=replace(LOST, **facts))


def linkless() -> DutState:
    seen = state()
    return replace(seen, interfaces={**seen.interfaces, "d-left": Interface(NEAR_MAC, False, 100, 100)})


def with_far_receiving() -> DutState:
    seen = state()
    return replace(seen, interfaces={**seen.interfaces, "d-right": Interface(FAR_MAC, True, 105, 100)})


RULE: Final = "nft inet filter forward: policy drop"
COUNTED: Final = "iptables -A FORWARD -j DROP"

CAUSES: Final = {
    "no link": (replace(UNANSWERED, after=linkless()), "d-left has no link; check that the tester's left port"),
    "swapped, by MAC": (replace(STUCK, mac=FAR_MAC), "interfaces are swapped: the tester's left port is cabled to d-r"),
    "swapped, by counters": (replace(UNANSWERED, after=with_far_receiving()), "interfaces are swapped"),
    "swapped, with a MAC of the plan's": (
        replace(UNANSWERED, given=NEAR_MAC, after=with_far_receiving()),
        "interfaces are swapped: the tester's left port is cabled to d-right",
    ),
    "MACs of the plan swapped": (
        replace(STUCK, given=FAR_MAC),
        "the plan's MAC addresses of the DUT are swapped: testbed.left.dut_mac is 02:00:00:00:01:11, which is that of "
        "d-right and not of d-left; exchange testbed.left.dut_mac and testbed.right.dut_mac",
    ),
    "MAC of the plan's wrong": (
        replace(STUCK, given=THIRD_MAC),
        "testbed.left.dut_mac is 02:00:00:00:02:11, and the DUT's d-left has 02:00:00:00:00:11",
    ),
    "requests without an answer, with a MAC of the plan's": (
        replace(STUCK, mac=None, given=NEAR_MAC, after=state(near=16, drops={RULE: None})),
        "a firewall on the DUT drops the frames",
    ),
    "MAC of the plan's right": (
        replace(STUCK, given=NEAR_MAC, after=state(near=16, drops={RULE: None})),
        "a firewall on the DUT drops the frames",
    ),
    "unknown, with a MAC of the plan's": (
        replace(BLIND, given=NEAR_MAC),
        "the cabling, and whether testbed.left.dut_mac is an address of the DUT there",
    ),
    "another port": (replace(STUCK, mac=THIRD_MAC), "wrong port: the tester's left port is cabled to the DUT's mgmt"),
    "nothing arrives": (UNANSWERED, "nothing that the tester's left port sends arrives at the DUT's d-left"),
    "address missing": (replace(UNANSWERED, after=state(near=5)), "arrive at d-left, and it does not answer"),
    "merged, seen": (
        fared(arrived=3, corrupt=1, longest=530),
        "64 bytes arrive merged into longer ones of up to 530 bytes: an offload does this; switch it off on the DUT",
    ),
    "merged, by the DUT": (
        replace(
            fared(corrupt=2, longest=530),
            after=state(near=16, merging={"d-left": ("rx-udp-gro-forwarding",), "d-right": ()}),
        ),
        "by offloads of the DUT: rx-udp-gro-forwarding on d-left; switch them off: "
        "ethtool -K d-left rx-udp-gro-forwarding off",
    ),
    "prohibited": (fared(refusals=(Refusal.PROHIBITED,)), "a firewall refuses the frames and answers by ICMP, admin"),
    "rejected": (
        replace(fared(refusals=(Refusal.PORT,)), after=state(near=16, drops={RULE: None})),
        f"a firewall refuses the frames and answers by ICMP, port unreachable (`{RULE}`); let it pass what comes from",
    ),
    "prohibited, without commands": (
        replace(BLIND, passage=replace(LOST, refusals=(Refusal.PROHIBITED,))),
        "a firewall refuses the frames",
    ),
    "too long": (fared(refusals=(Refusal.TOO_LONG,)), "64 bytes are too long for a link of the DUT"),
    "rp_filter, by route": (
        after(routes={Side.LEFT: Route(error="Invalid cross-device link")}),
        "reverse path filter drops the frames: its route to their source, 10.0.0.2, does not lead through d-left",
    ),
    "rp_filter, before any frame": (
        replace(UNANSWERED, after=state(near=5, routes={Side.LEFT: Route(error="Invalid cross-device link")})),
        "reverse path filter drops the frames",
    ),
    "rp_filter, by settings": (
        after(strict=("d-left",), routes_back={Side.LEFT: Route("mgmt")}, routes={Side.LEFT: Route(error="No route")}),
        "reverse path filter drops the frames",
    ),
    "a way back by the same interface": (
        after(strict=("d-left",), routes_back={Side.LEFT: Route("d-left")}, drops={RULE: None}),
        "a firewall on the DUT drops",
    ),
    "rp_filter, by counter": (after(path_filter_drops=16), "net.ipv4.conf.d-left.rp_filter to 0"),
    "not forwarding": (after(forwards={4: False, 6: True}), "does not forward: net.ipv4.ip_forward is 0"),
    "default route": (
        after(routes={Side.LEFT: Route("d-left", by_default=True)}),
        "no route of its own to 198.19.0.2, and its default route leads through the test interface d-left, not d-right",
    ),
    "another route": (
        after(routes={Side.LEFT: Route("mgmt")}),
        "route to 198.19.0.2 leads through mgmt, not through d-right",
    ),
    "no route": (
        after(routes={Side.LEFT: Route(error="Network is unreachable")}),
        "no route to 198.19.0.2 (Network is unreachable); give it a route to 198.19.0.2 through d-right",
    ),
    "no route, without commands": (
        replace(BLIND, passage=replace(LOST, refusals=(Refusal.NO_ROUTE,))),
        "the DUT has no route to 198.19.0.2; give it",
    ),
    "loop": (fared(refusals=(Refusal.LOOP,)), "time to live ends on the way"),
    "translated wrongly": (
        replace(fared(misrouted=16), after=state(near=16, far=16)),
        "the gateway translates wrongly: 16 frames came through with other addresses",
    ),
    "corrupted": (fared(corrupt=16), "16 frames came through with a wrong checksum or length"),
    "dropped": (after(drops={RULE: None}), f"a firewall on the DUT drops the frames (`{RULE}`)"),
    "dropped and counted": (
        after(drops={RULE: None, COUNTED: 16}),
        f"a firewall on the DUT drops the frames (`{COUNTED}`)",
    ),
    "a rule that counted nothing": (
        after(drops={COUNTED: 0}),
        "the DUT has received the frames on d-left, and has sent none on d-right; check the gateway's routes and rules",
    ),
    "unknown, without commands": (BLIND, "check the gateway's routes and rules, and the cabling"),
}


@pytest.mark.parametrize(("observed", "sentence"), CAUSES.values(), ids=CAUSES.keys())
def test_each_cause_has_its_sentence(observed: Observed, sentence: str) -> None:
    found = diagnose(observed)
    assert sentence in found
    # The remedy follows, unless it is all that is known.
    assert "; " in found or found.startswith("check ") or ": the cable" in found


@pytest.mark.parametrize(
    "observed",
    [
        after(routes={Side.LEFT: Route("nat64")}, drops={}),
        after(routes={Side.LEFT: Route("d-right")}),
    ],
)
def test_a_translators_own_interface_is_no_wrong_route(observed: Observed) -> None:
    assert "leads through" not in diagnose(replace(observed, translates=True))


def test_frames_that_the_dut_sends_on_are_not_blamed_on_its_firewall() -> None:
    assert "has sent frames on d-right" in diagnose(replace(STUCK, after=state(near=16, far=16, drops={RULE: None})))


def test_a_bridge_has_the_address_of_its_member() -> None:
    seen = state(near=16)
    bridged = replace(seen, interfaces={"port0": Interface(NEAR_MAC, True, 0, 0), **seen.interfaces})
    assert replace(STUCK, after=bridged).reached == "d-left"


def test_caveats_name_only_test_interfaces() -> None:
    assert caveats(DutState({}, default_routes=("mgmt",)), "d-left", "d-right") == []
    (caveat,) = caveats(DutState({}, default_routes=("d-right", "d-right")), "d-left", "d-right")
    assert caveat.text.startswith("The DUT's default route leads through its test interface d-right")


def test_a_gateway_that_should_hide_the_left_side_and_does_not() -> None:
    private, public = ip_address("10.0.0.2"), ip_address("198.19.0.1")
    assert untranslated(private, public) is None
    assert "does not translate: frames from 10.0.0.2 leave it with this" in (untranslated(private, private) or "")


def test_a_box_that_does_not_decapsulate_has_a_route_to_the_host() -> None:
    own = ip_address("2001:2:0:5000::2")
    refused = replace(fared(refusals=(Refusal.NO_ROUTE,)), unwraps=own, after=state(near=16))
    text = diagnose(refused)
    assert text.startswith("the gateway does not take the packets out of the softwire: it answers that it has no route")
    assert str(own) in text
    assert "198.19.0.2" not in text
    # It lacks the route to the host as well, or alone.
    lacking = state(near=16, routes={Side.LEFT: Route(None, error="RTNETLINK answers: Network is unreachable")})
    assert "has no route to 198.19.0.2" in diagnose(replace(refused, after=lacking))


def test_a_kernel_that_is_to_forward_nothing_is_no_cause() -> None:
    kernels = after(forwards={4: False}, routes={Side.LEFT: Route(error="Network is unreachable")})
    assert "does not forward" in diagnose(kernels)
    found = diagnose(replace(kernels, after=kernels.state.without_kernel))
    assert "does not forward" not in found
    assert "no route" not in found
