# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

QUERIES = {"procedure": "dns64-rate", "family": "ipv6", "gateway": "unbound", "search": {"max_rate": "10k"}}


def experiment_of(testbed: Any = None, **fields: Any) -> Experiment:
    whole = {"name": "x"} | QUERIES | fields
    plan = {"name": "p", "timing": {"preset": "lab", "drain": "1s"}, "experiments": [whole]}
    if testbed:
        plan["testbed"] = testbed
    return resolve(Plan.model_validate(plan)).experiments[0]


def test_queries_have_one_size_and_one_port() -> None:
    experiment = experiment_of()
    assert experiment.frame_size == 116
    assert (experiment.ports.destination.min, experiment.ports.destination.max) == (53, 53)
    assert experiment.ports.source.size > 60_000
    assert experiment.procedure.frame_timeout_s == 1


@pytest.mark.parametrize("gateway", ["bind9", "pdns-recursor", "knot-resolver", {"driver": "unbound", "threads": 2}])
def test_servers_can_be_asked(gateway: Any) -> None:
    assert str(experiment_of(gateway=gateway).gateway.dns64_prefix) == "64:ff9b::/96"


def test_a_server_of_ones_own_commands_needs_its_prefix() -> None:
    gateway = {"driver": "command", "apply": [["coredns"]], "dns64": "2001:2:0:64::/96"}
    assert str(experiment_of(gateway=gateway).gateway.dns64_prefix) == "2001:2:0:64::/96"
    # By which its cache is emptied.
    assert experiment_of(gateway=gateway | {"clear": [["flush"]]}).gateway.dns64_prefix
    with pytest.raises(ValueError, match="need `stateful: true`"):
        experiment_of(gateway=gateway | {"count": ["count"]})
    with pytest.raises(PlanProblems, match="command is none; choose unbound"):
        experiment_of(gateway={"driver": "command", "apply": [["coredns"]]})


def test_without_a_gateway_only_names_with_an_ipv6_address_have_an_answer() -> None:
    alone = {"gateway": "wire", "testbed": {"kind": "loop"}}
    assert experiment_of(**alone, procedure={"name": "dns64-rate", "aaaa_percent": 100}).frame_size == 116
    with pytest.raises(PlanProblems, match="the tester's authority answers, and makes no addresses") as refused:
        experiment_of(**alone, procedure={"name": "dns64-rate", "aaaa_percent": 99})
    assert refused.value.problems[0].location[2:] == ("procedure", "aaaa_percent")


@pytest.mark.parametrize(
    ("fields", "field", "expected"),
    [
        ({"gateway": "linux-forward"}, ("gateway",), "linux-forward is none"),
        ({"procedure": "throughput"}, ("procedure",), "unbound is a DNS64 server, which forwards no frames"),
        (
            {"procedure": "throughput", "gateway": ["nftables", "unbound"]},
            ("procedure",),
            "unbound is a DNS64 server",
        ),
        (
            {"gateway": {"driver": "knot-resolver", "prefix": "2001:2:64::/64"}},
            ("gateway", "prefix"),
            "knot-resolver takes no /64; expected a /96",
        ),
        ({"family": "ipv4"}, ("family",), "asks over IPv6"),
        ({"frame_size": 128}, ("frame_size",), "have 116 bytes; remove it"),
        ({"mix": "imix"}, ("mix",), "have 116 bytes; remove it"),
        ({"protocol": "tcp", "frame_size": 116}, ("protocol",), "asks over UDP"),
        ({"extension_headers": "hop-by-hop"}, ("extension_headers",), "have none; remove it"),
        ({"ports": {"destination": 5353}}, ("ports",), "asks at port 53"),
        ({"addresses": "multiple"}, ("addresses",), "asks from one address"),
        ({"timing": {"drain": "0.5s"}}, ("timing", "drain"), "the last answers may come after 1 s"),
    ],
)
def test_what_cannot_be_asked_is_refused(fields: dict[str, Any], field: tuple[str, ...], expected: str) -> None:
    own = dict(fields)
    if isinstance(own.get("gateway"), list):
        own |= {"gateway": {"driver": "chain", "gateways": own["gateway"]}, "connections": 1000, "phase1_rate": 1000}
    with pytest.raises(PlanProblems) as refused:
        experiment_of(**own)
    assert any(each.location[2:] == field and expected in each.message for each in refused.value.problems), (
        refused.value
    )
