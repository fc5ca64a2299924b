# SPDX-License-Identifier: Apache-2.0
"""Tests which experiments `boxes_alone` adds, and what does not apply to a box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.addressing.port_sets import PortSet
from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import plan_of

DS_LITE = {"driver": "chain", "gateways": ["softwire", "softwire", "nftables"]}
LW4O6 = {
    "driver": "chain",
    "gateways": [
        {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}},
        "softwire",
        "softwire",
    ],
}
THROUGHPUT: dict[str, Any] = {
    "procedure": "throughput", "search": {"max_rate": "100k"}, "connections": 1000, "phase1_rate": "1k",
}  # fmt: skip


def plan(gateway: object, *, only: tuple[str, ...] = (), testbed: object = None, **fields: Any) -> ResolvedPlan:
    own = {"name": "x", "title": "X", "gateway": gateway, "boxes_alone": True} | THROUGHPUT | fields
    own = {name: value for name, value in own.items() if value is not None}
    more = {"testbed": testbed} if testbed else {}
    return resolve(Plan.model_validate({"name": "p", "experiments": [own], **more}), only=only)


def titles(found: ResolvedPlan) -> dict[str, str]:
    return {each.name: each.gateway.title for each in found.experiments}


def by_name(found: ResolvedPlan) -> dict[str, Experiment]:
    return {each.name: each for each in found.experiments}


def test_each_box_has_the_tester_as_the_other() -> None:
    assert titles(plan(DS_LITE)) == {
        "x": "softwire → softwire → nftables",
        "x-edge": "softwire → tester",
        "x-core": "tester → softwire → nftables",
    }
    assert titles(plan(LW4O6)) == {
        "x": "nftables → softwire → softwire",
        "x-edge": "nftables → softwire → tester",
        "x-core": "tester → softwire",
    }


def test_only_a_box_that_keeps_connections_has_them() -> None:
    found = by_name(plan(DS_LITE, expect={"at_least": "1k"}))
    whole, edge, core = found.values()
    assert (edge.connections, edge.phase1_rate, edge.flows) == (None, None, 1000)
    assert (core.connections, core.flows) == (1000, None)
    assert edge.ports == core.ports == whole.ports
    assert [each.whole for each in (whole, edge, core)] == [None, "x", "x"]
    assert [bool(each.expect) for each in (whole, edge, core)] == [True, False, False]
    assert edge.title == "edge of X"


def test_a_pool_is_that_of_the_box_with_the_nat() -> None:
    found = by_name(plan(DS_LITE, addresses={"pool": "198.19.0.4/30"}))
    assert [bool(each.addresses.pool) for each in found.values()] == [True, False, True]


def test_a_core_that_checks_bindings_has_all_ports_of_its_address_alone() -> None:
    port_set = {"psid": 3, "psid_length": 4, "offset": 0}
    customer, relay = ({"driver": driver, "port_set": port_set} for driver in ("nftables", "lwaftr"))
    gateway = {"driver": "chain", "gateways": [customer, {"driver": "softwire", "by": "ip6_tunnel"}, relay]}
    whole, edge, core = plan(gateway, testbed={"kind": "vm"}).experiments
    assert [box.gateway.own_ports for box in (whole, edge)] == [PortSet(psid=3, psid_length=4, offset=0)] * 2
    assert [getattr(each.gateway.hops[-1], "port_set", None) is None for each in (whole, core)] == [False, True]


def test_a_box_without_connections_has_no_rate_of_them() -> None:
    own: dict[str, Any] = {"procedure": "connection-rate", "phase1_rate": None}
    assert [*titles(plan(DS_LITE, **own))] == ["x", "x-core"]


@pytest.mark.parametrize(("number", "box", "there"), [(1, "x-edge", 1), (2, "x-core", 1), (3, "x-core", 2)])
def test_a_reset_gateway_is_found_in_its_box(number: int, box: str, there: int) -> None:
    procedure = {"name": "reset", "gateway_number": number}
    found = plan(DS_LITE, procedure=procedure, search=None, rate={"rate": "1k"})
    assert [*titles(found)] == ["x", box]
    assert found.experiments[1].procedure.gateway_number == there  # type: ignore[attr-defined]


def test_cells_of_a_sweep_have_their_boxes_as_sweeps() -> None:
    text = """
name: p
defaults: {procedure: throughput, search: {max_rate: 10k}, connections: 10, phase1_rate: 1k}
experiments:
  - {name: x, title: X, gateway: {driver: chain, gateways: [softwire, softwire, nftables]}, boxes_alone: true,
     frame_size: [64, 128]}
"""
    found = plan_of(text, Path("p.yaml"))
    assert [(each.name, each.whole) for each in found.experiments] == [
        ("x/frame_size=64", None), ("x/frame_size=128", None),
        ("x-edge/frame_size=64", "x/frame_size=64"), ("x-edge/frame_size=128", "x/frame_size=128"),
        ("x-core/frame_size=64", "x/frame_size=64"), ("x-core/frame_size=128", "x/frame_size=128"),
    ]  # fmt: skip
    assert [each.sweep for each in found.experiments[2:4]] == ["x-edge", "x-edge"]
    again = plan_of(found.to_yaml(), Path("p.yaml"))
    assert again == found


def test_who_selects_the_whole_selects_its_boxes_and_a_box_can_be_selected_alone() -> None:
    assert [*titles(plan(DS_LITE, only=("x",)))] == ["x", "x-edge", "x-core"]
    (edge,) = plan(DS_LITE, only=("x-edge",)).experiments
    assert (edge.name, edge.whole) == ("x-edge", None)


@pytest.mark.parametrize(
    ("gateway", "fields", "text"),
    [
        ("nftables", {}, "only a chain of two boxes"),
        ({"driver": "chain", "gateways": ["softwire", "tester"]},
         {"connections": None, "phase1_rate": None}, "only a chain of two boxes"),
        ({"driver": "chain", "gateways": ["linux-forward", "nftables"]}, {}, "has no edge whose packets a core takes"),
    ],
)  # fmt: skip
def test_what_has_no_two_boxes_is_refused(gateway: object, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanProblems, match=text) as raised:
        plan(gateway, **fields)
    assert [each.location for each in raised.value.problems] == [("experiments", 0, "boxes_alone")]


def test_a_problem_of_the_whole_is_said_once_and_that_of_a_box_names_the_box() -> None:
    with pytest.raises(PlanProblems) as raised:
        plan(DS_LITE, frame_size=9216)
    (problem,) = raised.value.problems
    assert problem.location == ("experiments", 0, "frame_size")


def test_a_whole_has_to_be_an_experiment_on_a_chain() -> None:
    text = """
name: p
defaults: {procedure: throughput, search: {max_rate: 10k}}
experiments:
  - {name: plain, gateway: linux-forward}
  - {name: edge, gateway: {driver: chain, gateways: [softwire, tester]}, whole: plain}
  - {name: other, gateway: linux-forward, whole: plain}
"""
    with pytest.raises(PlanError) as raised:
        plan_of(text, Path("p.yaml"))
    assert "'plain' is no earlier throughput experiment on a chain; there are: none" in str(raised.value)
    assert "only a chain with `tester` as a box has a whole" in str(raised.value)
