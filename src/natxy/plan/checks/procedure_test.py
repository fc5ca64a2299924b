# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import PlanProblems
from natxy.plan.procedures.tcp_goodput import line_goodput_bps
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

INTERFACES = {"kind": "hardware", "right": {"interface": "ens2"}, "dut": {"left": "eth0", "right": "eth1"}}


def tcp(testbed: dict[str, Any] | None = None, **fields: Any) -> Experiment:
    whole = {"name": "x", "gateway": "linux-forward", "procedure": "tcp-goodput"} | fields
    plan = {"name": "p", "experiments": [whole]} | ({"testbed": testbed} if testbed else {})
    return resolve(Plan.model_validate(plan)).experiments[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"gateway": "nftables"},
        {"gateway": "tayga-netfilter", "translation": "nat64"},
        {"gateway": "tayga", "translation": "siit"},
        {"gateway": "tayga", "translation": "nat46"},
    ],
)
def test_a_stateful_gateway_needs_no_connections_and_links_have_the_usual_mtu(fields: dict[str, Any]) -> None:
    experiment = tcp(**fields)
    assert experiment.address_plan.mtu == 1500
    assert experiment.flows == 1
    assert experiment.ports.destination.size == 1


def test_one_core_receives_the_frames_that_are_compared_with_the_next() -> None:
    def plan(queues: int, cores: Any) -> Plan:
        cores = list(range(cores)) if isinstance(cores, int) else cores
        testbed = {"kind": "lab", "io": "af_packet", "queues": queues, "tester_cores": cores}
        experiment = {"name": "x", "gateway": "linux-forward", "procedure": "ipdv", "rate": "1k"}
        return Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [experiment]})

    def tasks(*receivers: int) -> dict[str, Any]:
        return {"left": {"send": [0, 1], "receive": 0}, "right": {"send": 0, "receive": receivers}}

    for queues, cores in ((1, 4), (2, 1), (4, 2), (2, tasks(1))):
        resolve(plan(queues, cores))
    with pytest.raises(PlanProblems, match="2 cores of the tester share a port's 4 queues") as refused:
        resolve(plan(4, 3))
    assert [problem.location for problem in refused.value.problems] == [("testbed", "queues")]
    with pytest.raises(PlanProblems, match="2 cores of the tester share a port's 3 queues"):
        resolve(plan(3, tasks(1, 2)))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("flows", 129, "tcp-goodput has at most 128 flows, not 129; lower it"),
        ("frame_size", 512, "give 1518 or more, or remove it"),
        ("connections", 100, "tcp-goodput doesn't take it"),
        ("testbed", {"kind": "loop"}, "the testbed 'loop' has none"),
        ("testbed", INTERFACES | {"left": {"pci": "0000:41:00.0"}}, "need a network interface of the kernel"),
    ],
)
def test_what_hosts_cannot_do(field: str, value: Any, expected: str) -> None:
    with pytest.raises(PlanProblems) as caught:
        tcp(**{field: value})
    assert any(expected in problem.message for problem in caught.value.problems)


HOSTS: dict[str, Any] = {
    "kind": "hosts",
    "left": {"ssh": "root@client", "interface": "eth1"},
    "right": {"ssh": "root@server", "interface": "eth1"},
    "dut": {"ssh": "root@dut", "left": "eth1", "right": "eth2"},
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"procedure": "throughput", "search": {"max_rate": "1M"}},
            "throughput needs the tester's own ports, which the testbed 'hosts' doesn't",
        ),
        ({"cores": 2, "gateway": {"driver": "linux-forward", "kernel": "user-mode"}}, "user-mode Linux runs in a lab"),
    ],
)
def test_what_remote_hosts_cannot_do(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(PlanProblems) as caught:
        tcp(testbed=HOSTS, **fields)
    assert any(expected in problem.message for problem in caught.value.problems)


def test_remote_hosts_are_two_machines_and_reach_any_gateway() -> None:
    assert tcp(testbed=HOSTS, gateway="openbsd-pf", translation="nat64").flows == 1
    with pytest.raises(ValidationError, match="left and right are the same machine"):
        tcp(testbed=HOSTS | {"right": HOSTS["left"]})
    with pytest.raises(ValidationError, match="left and dut are the same machine"):
        tcp(testbed=HOSTS | {"left": HOSTS["left"] | {"ssh": HOSTS["dut"]["ssh"]}})
    with pytest.raises(ValidationError, match="left and right are the same interface, eth1"):
        tcp(testbed=HOSTS | {"dut": HOSTS["dut"] | {"left": "eth1", "right": "eth1"}})


def test_the_most_that_gigabit_ethernet_carries() -> None:
    assert line_goodput_bps(1e9, 1518, 20) == pytest.approx(941.48e6, rel=1e-5)
    assert line_goodput_bps(1e9, 1518, 40) == pytest.approx(928.48e6, rel=1e-5)
