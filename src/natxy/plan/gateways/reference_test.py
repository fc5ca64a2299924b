# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.gateways.reference import ReferenceConfig
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan


def plan(gateway: Any, testbed: dict[str, Any], **experiment: Any) -> Plan:
    search = {"max_rate": "100k"}
    whole = {"name": "x", "gateway": gateway, "procedure": "throughput", "search": search} | experiment
    return Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [whole]})


@pytest.mark.parametrize("kind", ["memif", "lab"])
def test_it_runs_on_shared_memory_and_in_a_lab(kind: str) -> None:
    assert resolve(plan("reference", {"kind": kind})).testbed.kind == kind


def test_a_resolved_plan_means_the_same() -> None:
    faults = {"loss": 100, "delay": [{"min": "1ms", "max": "2ms"}]}
    resolved = resolve(plan({"driver": "reference", "max_rate": "50k", "forward": faults}, {"kind": "memif"}))
    gateway = resolved.experiments[0].gateway
    assert ReferenceConfig.model_validate(gateway.model_dump(mode="json", exclude_none=True)) == gateway


HARDWARE = {
    "kind": "hardware", "left": {"interface": "a"}, "right": {"interface": "b"}, "dut": {"left": "c", "right": "d"}
}  # fmt: skip


@pytest.mark.parametrize(
    ("gateway", "testbed", "experiment", "message"),
    [
        ("nftables", {"kind": "memif"}, {"connections": 10, "phase1_rate": 10}, "only 'reference' does"),
        ("reference", HARDWARE, {}, "runs beside the tester"),
        ("reference", {"kind": "simulated"}, {}, "simulated gateways and the simulated testbed go together"),
        ("reference", {"kind": "memif"}, {"connections": 10, "phase1_rate": 10}, "keeps no connections"),
        ({"driver": "reference", "mode": "nat"}, {"kind": "memif"}, {}, "only established connections have replies"),
        (
            "reference",
            {"kind": "memif"},
            {"procedure": "tcp-goodput", "search": {}},
            "need network interfaces of the kernel",
        ),
        ("reference", {"kind": "memif"}, {"translation": "nat64"}, "reference translates only (clat, siit|siit, clat)"),
        ({"driver": "reference", "softwire": {"leak_every": 9}}, {"kind": "memif"}, {}, "is no end of softwires; give"),
        ({"driver": "reference", "map_t": {}}, {"kind": "memif"}, {}, "is no end of MAP-T; give a chain such as"),
        (
            {"driver": "chain", "gateways": [{"driver": "reference", "mode": "nat", "map_t": {}}, "tester"]},
            {"kind": "memif"},
            {"connections": 10, "phase1_rate": 10, "addresses": {"pool": "198.19.0.4/30"}},
            "is that of one subscriber with one address, and 198.19.0.4/30 has 4; give one, or leave it out",
        ),
        (
            {"driver": "chain", "gateways": ["tester", {"driver": "reference", "mode": "nat"}]},
            {"kind": "memif"},
            {},
            "only established connections have replies",
        ),
    ],
)
def test_what_does_not_go_together(
    gateway: Any, testbed: dict[str, Any], experiment: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanProblems, match=message):
        resolve(plan(gateway, testbed, **experiment))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forward": {"loss": {"every": 2, "frames": 3}}}, r"frames \(3\) must not be above every \(2\)"),
        ({"forward": {"delay": [{"share": 0.5, "min": "1ms"}]}}, "shares of `delay` add up to 0.5"),
        ({"port_set": {"psid_length": 4}}, "a router gives no ports; remove `port_set`, or give `mode: nat`"),
        ({"softwire": {}, "map_t": {}}, "is an end of softwires or of MAP-T; remove `softwire` or `map_t`"),
        ({"mode": "nat", "first_range_only": True}, "is the fault of a port set; give a `port_set`"),
        ({"reverse": {"delay": [{"min": "2ms", "max": "1ms"}]}}, r"max \(0.001 s\) must not be below min"),
    ],
)
def test_settings_that_make_no_gateway(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ReferenceConfig.model_validate(settings)
