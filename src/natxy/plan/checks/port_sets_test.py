# SPDX-License-Identifier: Apache-2.0
"""Tests what is said of plans for `port-set`, `binding-check` and `binding-churn` that cannot be carried out."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

SET = {"psid": 3, "psid_length": 6}
NAT = {"driver": "nftables", "port_set": SET}


def problems(**fields: Any) -> dict[str, str]:
    """Returns the text of each problem by its place in the experiment."""
    plan = {"name": "p", "timing": "lab", "experiments": [{"name": "x", "rate": "20k"} | fields]}
    try:
        resolve(Plan.model_validate(plan))
    except PlanProblems as refused:
        return {".".join(map(str, each.location[2:])): each.message for each in refused.problems}
    return {}


@pytest.mark.parametrize(
    "fields",
    [
        {"gateway": NAT},
        {"gateway": "nftables", "procedure": {"name": "port-set", "port_set": SET}},
        {"gateway": {"driver": "chain", "gateways": [NAT, "softwire", "tester"]}},
        {"gateway": {"driver": "chain", "gateways": [NAT, "tayga", "tayga"]}},
    ],
)
def test_a_port_set_is_the_gateways_or_the_procedures(fields: dict[str, Any]) -> None:
    assert problems(**{"procedure": "port-set"} | fields) == {}


@pytest.mark.parametrize(
    ("fields", "at", "text"),
    [
        ({"gateway": "nftables"}, "procedure.port_set", "nftables names no port set"),
        (
            {"gateway": NAT, "procedure": {"name": "port-set", "port_set": SET | {"psid": 4}}},
            "procedure.port_set",
            "the gateway has another",
        ),
        (
            {"gateway": NAT, "ports": {"source": "1024-2000"}},
            "ports.source",
            "977 source ports are fewer than the 1,260",
        ),
        ({"gateway": NAT, "ports": {"destination": "7-9"}}, "ports.destination", "3 are fewer than the procedure's 4"),
        (
            {"gateway": NAT, "rate": 100},
            "rate",
            "those of nftables end after 30 s: give a higher rate, or a `udp_timeout_s`",
        ),
        ({"gateway": "linux-forward"}, "gateway", "keeps no connections"),
    ],
)
def test_what_a_port_set_lacks_is_named(fields: dict[str, Any], at: str, text: str) -> None:
    found = problems(**{"procedure": "port-set"} | fields)
    assert text in found[at]


@pytest.mark.parametrize(
    ("gateways", "refused"),
    [(["tester", "softwire"], False), (["softwire", "tester"], False), (["softwire", "softwire"], True)],
)
def test_spoofed_frames_need_an_end_that_the_tester_plays(gateways: list[str], refused: bool) -> None:
    found = problems(procedure="binding-check", gateway={"driver": "chain", "gateways": gateways})
    assert ("the tester has to play one end of a softwire" in found.get("gateway", "")) == refused
    assert refused or not found


@pytest.mark.parametrize(
    ("gateways", "subscribers", "at", "text"),
    [
        (["tester", "map-t"], {"ipv4": "198.18.128.0/30", "ea_length": 4}, None, ""),
        (["tester", "map-t"], {"ipv4": "198.18.128.0/30"}, "subscribers", "needs subscribers who share an address"),
        (["tester", "map-t"], None, "subscribers", "needs subscribers who share an address"),
        (["map-t", "tester"], None, "gateway", "the tester has to be its subscribers"),
    ],
)
def test_spoofed_frames_of_map_t_need_subscribers_who_share_an_address(
    gateways: list[str], subscribers: dict[str, Any] | None, at: str | None, text: str
) -> None:
    own: dict[str, Any] = {"subscribers": subscribers} if subscribers else {}
    found = problems(procedure="binding-check", gateway={"driver": "chain", "gateways": gateways}, **own)
    assert [*found] == ([at] if at else [])
    assert text in found.get(at or "", "")


@pytest.mark.parametrize("share", ["0.1%", 0])
def test_too_few_spoofed_frames_are_refused(share: Any) -> None:
    with pytest.raises(ValueError, match=r"expected 0\.2% to 100 %"):
        problems(procedure={"name": "binding-check", "spoofed": share}, gateway="nftables")


def test_a_search_for_the_cost_is_only_made_if_asked() -> None:
    def search(**own: Any) -> object:
        whole = {"name": "x", "procedure": "binding-check", "rate": "1k", **own}
        whole["gateway"] = {"driver": "chain", "gateways": ["tester", "softwire"]}
        return resolve(Plan.model_validate({"name": "p", "experiments": [whole]})).experiments[0].search

    assert search() is None
    assert search(search={"max_rate": "1M"}) is not None


@pytest.mark.parametrize(
    ("gateways", "fields", "at", "text"),
    [
        (
            ["softwire", "softwire"], {}, "gateway",
            "end of a softwire; give a chain such as [tester, softwire] or [tester, {driver: map-t, by: jool-siit}]",
        ),
        (["map-t", "tester"], {}, "gateway", "the tester has to be its subscribers"),
        (
            ["tester", "map-t"], {"subscribers": {}}, "gateway",
            "softwire, lwaftr, snabb, vpp, {driver: map-t, by: jool-siit}",
        ),
        (["tester", "vpp"], {"subscribers": {}}, "subscribers", "vpp computes the subscribers of a rule"),
        (["tester", "softwire"], {}, "subscribers", "missing; binding-churn changes the bindings"),
        (
            ["tester", {"driver": "reference", "mode": "nat"}], {"subscribers": {}}, "gateway",
            "tester → reference while traffic flows; choose softwire, lwaftr, snabb, vpp, {driver: map-t",
        ),
        (
            ["tester", {"driver": "reference", "mode": "nat"}], {"subscribers": {"inner": "192.168.1.2", "count": 16}},
            "subscribers", "the AFTR of homes with one address has none",
        ),
        (["tester", "softwire"], {"subscribers": {"ipv4": "198.18.128.0/31"}}, "subscribers", "at least 4 of them"),
        (
            ["tester", "softwire"],
            {"subscribers": {}, "addresses": {"left_hosts": ["198.18.128.1", "198.18.128.7"]}},
            "subscribers", "one after the other",
        ),
    ],
)  # fmt: skip
def test_what_a_change_of_bindings_lacks_is_named(
    gateways: list[Any], fields: dict[str, Any], at: str, text: str
) -> None:
    found = problems(procedure="binding-churn", gateway={"driver": "chain", "gateways": gateways}, **fields)
    assert text in found[at]


@pytest.mark.parametrize(
    "core",
    [
        "softwire", "lwaftr", "reference", {"driver": "map-t", "by": "jool-siit"},
        {"driver": "reference", "map_t": {}},
    ],
)  # fmt: skip
def test_bindings_of_some_cores_can_be_changed(core: str | dict[str, Any]) -> None:
    chain = {"driver": "chain", "gateways": ["tester", core]}
    assert problems(procedure="binding-churn", gateway=chain, subscribers={"ipv4": "198.18.128.0/30"}) == {}


def test_a_nat_behind_the_core_is_named() -> None:
    chain = {"driver": "chain", "gateways": ["tester", "softwire", "nftables"]}
    found = problems(procedure="binding-churn", gateway=chain, subscribers={"ipv4": "198.18.128.0/30"})
    assert "connections" not in found
    assert "binding-churn has no connections, and through the stateful tester → softwire → nft" in found["gateway"]


def table(*addresses: int) -> dict[str, Any]:
    return {"table": "ipv4,psid,b4\n" + "".join(f"198.18.128.{each},0,fd00:2:7::{each}\n" for each in addresses)}


def test_bindings_of_a_table_can_be_changed_if_its_addresses_follow_one_another() -> None:
    chain = {"driver": "chain", "gateways": ["tester", "softwire"]}
    assert problems(procedure="binding-churn", gateway=chain, subscribers=table(3, 4, 5, 6)) == {}
    found = problems(procedure="binding-churn", gateway=chain, subscribers=table(3, 4, 5, 7))
    assert "one after the other" in found["subscribers"]


@pytest.mark.parametrize("share", [0, "50%"])
def test_some_bindings_are_changed_and_some_are_not(share: Any) -> None:
    with pytest.raises(ValueError, match=r"above 0 % and below 50 %"):
        problems(procedure={"name": "binding-churn", "changed": share}, gateway="nftables")
