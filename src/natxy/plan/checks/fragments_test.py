# SPDX-License-Identifier: Apache-2.0
"""Tests which frames are refused because a translator would cut them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

NAT: Final[dict[str, Any]] = {"connections": 1000, "phase1_rate": "1k"}
CUSTOMER: Final = {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}}


def chain(*gateways: str | dict[str, Any]) -> dict[str, Any]:
    return {"driver": "chain", "gateways": [*gateways]}


def problems(gateway: str | dict[str, Any], **fields: Any) -> list[tuple[Any, str]]:
    own = {"name": "x", "gateway": gateway, "procedure": "throughput", "search": {"max_rate": "10k"}} | fields
    own = {name: value for name, value in own.items() if value is not None}
    try:
        resolve(Plan.model_validate({"name": "p", "experiments": [own]}))
    except PlanProblems as refused:
        return [(each.location[2:], each.message) for each in refused.problems]
    return []


@pytest.mark.parametrize(
    ("gateway", "fields", "driver"),
    [
        (chain("tayga", "tayga-netfilter"), NAT, "tayga"),
        (chain(CUSTOMER, "map-t", "map-t"), NAT, "map-t"),
        (chain("map-t", "tester"), {}, "map-t"),
        # From the right, the core translates first.
        (chain("linux-forward", "map-t", "map-t"), {"directions": "reverse"}, "map-t"),
        ("tayga", {"translation": "siit"}, "tayga"),
        ("tayga-netfilter", {"translation": "nat64", "size_convention": "nominal"} | NAT, "tayga-netfilter"),
    ],
)
@pytest.mark.parametrize("size", [{"frame_size": 1518}, {"mix": "imix"}])
def test_long_frames_need_df_through_a_tayga(
    gateway: str | dict[str, Any], fields: dict[str, Any], driver: str, size: dict[str, Any]
) -> None:
    ((location, text),) = problems(gateway, **fields, **size)
    assert location == ("dont_fragment",)
    assert f"{driver} cuts packets without DF to the smallest MTU of IPv6, 1280 bytes" in text
    assert "give `dont_fragment: true`, or frames of at most 1278 bytes" in text
    assert problems(gateway, **fields, **size, dont_fragment=True) == []


@pytest.mark.parametrize(
    ("gateway", "fields"),
    [
        # With its IPv6 header, the packet has 1,280 bytes.
        (chain("tayga", "tayga"), {"frame_size": 1278}),
        (chain("softwire", "softwire"), {"frame_size": 1518}),
        # natxy tells a Jool the MTU of the links.
        (chain("jool-siit", "jool"), {"frame_size": 1518} | NAT),
        # All frames come from the IPv6 side.
        ("tayga", {"translation": "siit", "directions": "forward", "frame_size": 1518}),
        # The tester translates.
        (chain("tester", "map-t"), {"directions": "forward", "frame_size": 1518}),
        # Hosts find out by themselves.
        (
            "tayga",
            {"translation": "nat46", "directions": "forward", "procedure": "tcp-goodput", "search": None},
        ),
    ],
)
def test_what_no_translator_cuts_is_taken(gateway: str | dict[str, Any], fields: dict[str, Any]) -> None:
    assert problems(gateway, **fields) == []
