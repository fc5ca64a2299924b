# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from natxy.errors import PlanError
from natxy.plan.caveats import limitation
from natxy.plan.model.terms import Family
from natxy.plan.testbeds import TestbedConfig
from natxy.procedures.caveats import caveats_of_plan
from natxy.results.selftest import TesterIdentity, Work, which_tester, work_of
from natxy.selftest.plan import loop_of, selftest_plan

TESTBED: TypeAdapter[TestbedConfig] = TypeAdapter(TestbedConfig)
HARDWARE = {
    "kind": "hardware",
    "left": {"pci": "0000:41:00.0"},
    "right": {"pci": "0000:41:00.1"},
    "dut": {"ssh": "root@dut", "left": "eth1", "right": "eth2"},
    "tester_cores": [2, 3],
}
INTERFACES = HARDWARE | {"left": {"interface": "ens1f0"}, "right": {"interface": "ens1f1"}, "io": "af_packet"}


@pytest.mark.parametrize(
    ("testbed", "ports", "driver"),
    [
        ({"kind": "lab"}, "veth", "net_af_xdp"),
        ({"kind": "lab", "io": "af_packet", "queues": 2}, "veth", "net_af_packet"),
        ({"kind": "memif"}, "memif", "net_memif"),
        (HARDWARE, "0000:41:00.0+0000:41:00.1", "a driver of DPDK's own"),
        (HARDWARE | {"memory_channels": 8}, "0000:41:00.0+0000:41:00.1", "a driver of DPDK's own"),
        (INTERFACES, "ens1f0+ens1f1", "net_af_packet"),
        (
            INTERFACES | {"tester_cores": {"left": {"send": 4, "receive": 5}, "right": {"send": 5, "receive": 4}}},
            "ens1f0+ens1f1",
            "net_af_packet",
        ),
    ],
)
def test_a_testbed_without_its_gateway_has_the_same_tester(testbed: dict[str, Any], ports: str, driver: str) -> None:
    config = TESTBED.validate_python(testbed)
    tester = which_tester(config)
    assert tester is not None
    assert (tester.ports, tester.driver) == (ports, driver)
    assert which_tester(loop_of(config)) == tester
    assert "/" not in tester.file_name
    assert " " not in tester.file_name


@pytest.mark.parametrize(
    ("queues", "workers", "text", "file_name"),
    [
        (1, 1, "eth1+eth2 by net_af_xdp, 1 core of h 1", "h_1_eth1+eth2_net_af_xdp_1q_1w.json"),
        (2, 3, "eth1+eth2 by net_af_xdp, 2 queues a port, 3 cores of h 1", "h_1_eth1+eth2_net_af_xdp_2q_3w.json"),
    ],
)
def test_a_tester_is_named_by_its_machine_ports_and_cores(queues: int, workers: int, text: str, file_name: str) -> None:
    tester = TesterIdentity(
        host="h 1", processor="p", ports="eth1+eth2", driver="net_af_xdp", queues=queues, workers=workers
    )
    assert (str(tester), tester.file_name) == (text, file_name)


def test_a_tester_is_another_one_if_its_cores_share_other_tasks() -> None:
    def tester(*cores: int) -> TesterIdentity:
        left, right = ({"send": send, "receive": receive} for send, receive in (cores[:2], cores[2:]))
        found = which_tester(TESTBED.validate_python(HARDWARE | {"tester_cores": {"left": left, "right": right}}))
        assert found is not None
        return found

    apart, crossed, by_task = tester(1, 2, 3, 4), tester(1, 2, 2, 1), tester(1, 2, 1, 2)
    assert apart == tester(8, 6, 4, 2)
    assert (apart.workers, crossed.workers, by_task.workers) == (4, 2, 2)
    assert len({each.file_name for each in (apart, crossed, by_task)}) == 3
    assert crossed.file_name.endswith("_2w_left_send_1_left_receive_2_right_send_2_right_receive_1.json")
    assert str(by_task).endswith("(left send 1, left receive 2, right send 1, right receive 2)")


def test_memory_channels_make_another_tester() -> None:
    with_channels = which_tester(TESTBED.validate_python(HARDWARE | {"memory_channels": 8}))
    assert with_channels
    assert with_channels.file_name.endswith("_1q_2w_8c.json")
    assert str(with_channels).endswith(", 8 memory channels")
    assert with_channels != which_tester(TESTBED.validate_python(HARDWARE))


def test_what_sends_nothing_real_has_no_tester() -> None:
    simulated = TESTBED.validate_python({"kind": "simulated"})
    assert which_tester(simulated) is None
    with pytest.raises(PlanError, match="has no ports to join"):
        loop_of(simulated)


def test_a_self_test_leaves_out_what_a_slow_tester_cannot_pace() -> None:
    loop = loop_of(TESTBED.validate_python({"kind": "lab"}))
    slow, fast = (selftest_plan(loop, fastest_fps) for fastest_fps in (300_000, 3e6))
    assert [e.name for e in slow.experiments if e.procedure.name == "pdv"] == ["pacing-10000", "pacing-100000"]
    assert [e.name for e in fast.experiments if e.procedure.name == "pdv"][-1] == "pacing-1000000"
    assert len({e.name for e in fast.experiments}) == len(fast.experiments) == 34
    assert len(selftest_plan(loop, 3e6, connections=0).experiments) == 24
    # A trial of phase 1 is as long as the others, because a short one may be late by a large share.
    most = [{e.connections for e in plan.experiments if e.connections} for plan in (slow, fast)]
    assert most == [{100_000}, {300_000}]
    assert caveats_of_plan(fast) == [limitation("There is no gateway: what is measured is the tester itself.")]


def test_connections_are_measured_as_gateways_are() -> None:
    loop = loop_of(TESTBED.validate_python({"kind": "lab"}))
    plan = selftest_plan(loop, 3e6, families=[Family.IPV4], connections=5000)
    with_connections = [each for each in plan.experiments if each.connections]
    assert {each.connections for each in with_connections} == {5000}
    assert [(each.name, each.procedure.name, work_of(each)) for each in with_connections] == [
        ("ipv4-64-phase1", "connection-rate", Work.PHASE1),
        ("ipv4-64-validated", "validated-connection-rate", Work.VALIDATED),
        ("ipv4-64-phase2-one-way", "throughput", Work.PHASE2),
        ("ipv4-64-phase2-both-ways", "throughput", Work.PHASE2),
        ("ipv4-64-phase2-replies-alone", "throughput", Work.PHASE2),
    ]
    assert [each.directions for each in with_connections[2:]] == ["forward", "bidirectional", "reverse"]
    assert {work_of(each) for each in plan.experiments if not each.connections} == {Work.TRAFFIC}


def test_the_tester_answers_its_own_queries_in_a_quarter_of_the_time_of_a_server() -> None:
    """RFC 8219 §9.2.1."""
    loop = loop_of(TESTBED.validate_python({"kind": "lab"}))
    plan = selftest_plan(loop, 3e6, connections=0)
    [queries] = [each for each in plan.experiments if each.procedure.asks_dns64]
    assert work_of(queries) == Work.QUERIES
    assert queries.procedure.frame_timeout_s == 0.25
    assert queries.timing.trial > 0.25
    ipv4 = selftest_plan(loop, 3e6, connections=0, families=[Family.IPV4])
    assert not any(each.procedure.asks_dns64 for each in ipv4.experiments)
