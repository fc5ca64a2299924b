# SPDX-License-Identifier: Apache-2.0
"""Tests the facts about testbeds that checks, reports and runs use."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from natxy.errors import PlanError
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.base import TestbedModel
from natxy.plan.testbeds.lab import AF_XDP_LONGEST_FRAME

INTERFACES: dict[str, Any] = {"left": {"interface": "a"}, "right": {"interface": "b"}}
PCI: dict[str, Any] = {"left": {"pci": "0000:41:00.0"}, "right": {"pci": "0000:41:00.1"}}
BOTH: list[str] = ["--pci", "0000:41:00.0", "--pci", "0000:41:00.1"]
HARDWARE: dict[str, Any] = {"kind": "hardware", "dut": {"left": "c", "right": "d"}}
BEHIND_SSH: dict[str, Any] = HARDWARE | {"dut": {"left": "c", "right": "d", "ssh": "dut"}}
OF_ANOTHER: dict[str, Any] = {"tester": {"ssh": "b"}, **PCI, "dut": {"left": "e", "right": "f"}}
HOST: dict[str, Any] = {"interface": "eth1"}
HOSTS: dict[str, Any] = BEHIND_SSH | {"kind": "hosts", "left": HOST | {"ssh": "a"}, "right": HOST | {"ssh": "b"}}
TASKS: dict[str, Any] = {"left": {"send": 1, "receive": [2]}, "right": {"send": 2, "receive": 1}}
CABLE: dict[str, Any] = {"kind": "loop", "medium": "cable"}


def with_mac(mac: str) -> dict[str, Any]:
    return INTERFACES | {"left": INTERFACES["left"] | {"mac": mac}}


def with_macs(**ends: str) -> dict[str, Any]:
    """Returns ports with addresses that end with these bytes, such as those of `left` and of `left_dut`."""
    written: dict[str, Any] = {side: dict(port) for side, port in INTERFACES.items()}
    for end, byte in ends.items():
        side, _, dut = end.partition("_")
        written[side]["dut_mac" if dut else "mac"] = f"02:00:00:00:0a:{byte}"
    return written


def with_vlans(left: int | None, right_vlan: int | None, right: str = "a") -> dict[str, Any]:
    return {"left": {"interface": "a", "vlan": left}, "right": {"interface": right, "vlan": right_vlan}}


def described(written: dict[str, Any]) -> TestbedModel:
    found: TestbedModel = TypeAdapter(TestbedConfig).validate_python(written)
    return found


@pytest.mark.parametrize(
    ("written", "local", "gateway_local", "ports", "driver"),
    [
        ({"kind": "lab"}, True, True, "veth", "net_af_xdp"),
        ({"kind": "lab", "io": "af_packet"}, True, True, "veth", "net_af_packet"),
        ({"kind": "memif"}, True, True, "memif", "net_memif"),
        ({"kind": "simulated"}, False, False, None, None),
        ({"kind": "loop"}, True, False, "veth", "net_af_xdp"),
        (CABLE | INTERFACES, True, False, "a+b", "net_af_xdp"),
        (CABLE | PCI, True, False, "0000:41:00.0+0000:41:00.1", "a driver of DPDK's own"),
        (HARDWARE | INTERFACES, True, True, "a+b", "net_af_xdp"),
        (BEHIND_SSH | PCI, True, False, "0000:41:00.0+0000:41:00.1", "a driver of DPDK's own"),
        (HOSTS, False, False, None, None),
        ({"kind": "vm"}, True, False, "tap", "net_af_packet"),
    ],
)
def test_where_programs_run_and_what_ports_are_called(
    written: dict[str, Any], *, local: bool, gateway_local: bool, ports: str | None, driver: str | None
) -> None:
    own = described(written)
    assert (own.is_local, own.gateway_is_local) == (local, gateway_local)
    found = own.engine_ports
    assert (found and found.name, found and found.driver) == (ports, driver)


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ({"kind": "lab"}, 2),
        ({"kind": "lab", "dut_cores": [3]}, 1),
        ({"kind": "loop"}, 0),
        (HARDWARE | INTERFACES, 0),
        (BEHIND_SSH | INTERFACES, None),
        ({"kind": "vm"}, 2),
        ({"kind": "vm", "cpus": 1}, 1),
    ],
)
def test_how_many_cores_a_gateway_may_have(written: dict[str, Any], count: int | None) -> None:
    assert described(written).dut_core_count(range(4), 2) == count


@pytest.mark.parametrize("written", [{"kind": "lab"}, {"kind": "loop"}, {"kind": "memif"}, BEHIND_SSH | INTERFACES])
def test_the_testers_cores_are_looked_for_wherever_the_gateway_is(written: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="tester_cores names core 4, but natxy may run on cores 0, 1, 2, 3 only"):
        described(written | {"tester_cores": [4]}).dut_core_count(range(4), 2)


def test_frames_of_af_xdp_fit_a_page_of_a_lab() -> None:
    lab, packet = described({"kind": "lab"}), described({"kind": "lab", "io": "af_packet"})
    assert lab.frame_problem(AF_XDP_LONGEST_FRAME) is None
    assert "give the testbed `io: af_packet`" in (lab.frame_problem(AF_XDP_LONGEST_FRAME + 1) or "")
    assert packet.frame_problem(9216) is None
    assert described(BEHIND_SSH | PCI).frame_problem(9216) is None


@pytest.mark.parametrize(
    ("written", "problems"),
    [
        ({"kind": "lab"}, 0),
        ({"kind": "lab", "queues": 2}, 1),
        ({"kind": "lab", "queues": 2, "io": "af_packet"}, 0),
        ({"kind": "loop", "queues": 2}, 1),
        (CABLE | INTERFACES | {"queues": 2}, 0),
        (BEHIND_SSH | PCI | {"queues": 64}, 0),
    ],
)
def test_only_af_packet_has_several_queues_on_veth(written: dict[str, Any], problems: int) -> None:
    assert len([*described(written).problems()]) == problems


def with_tasks(testbed: dict[str, Any], **right: Any) -> TestbedModel:
    return described(testbed | {"tester_cores": TASKS | {"right": TASKS["right"] | right}})


@pytest.mark.parametrize(
    "testbed",
    [{"kind": "lab"}, {"kind": "memif"}, {"kind": "loop"}, {"kind": "vm"}, HARDWARE | INTERFACES, CABLE | INTERFACES],
)
def test_every_tester_can_have_cores_for_its_tasks(testbed: dict[str, Any]) -> None:
    cores = with_tasks(testbed).assign_cores(range(6))
    assert cores is not None
    assert cores.tasks is not None
    assert (cores.tester, cores.tasks.left.send, cores.tasks.left.receive) == ((1, 2), [1], [2])
    assert not cores.shared
    assert cores.description()["tester cores"] == (
        "cores 1, 2: left send 1, left receive 2, right send 2, right receive 1"
    )
    assert cores.main not in cores.tester
    with pytest.raises(PlanError, match="tester_cores names core 9, but natxy may run on cores 0, 1, 2 only"):
        with_tasks(testbed, receive=9).assign_cores(range(3))


@pytest.mark.parametrize(
    ("written", "arguments", "problems"),
    [
        (BEHIND_SSH | PCI, BOTH, []),
        (BEHIND_SSH | PCI | {"right": INTERFACES["right"]}, BOTH[:2], []),
        (BEHIND_SSH | PCI | {"memory_channels": 8}, [*BOTH, "--eal", "-n8"], []),
        (CABLE | PCI | {"memory_channels": 1}, [*BOTH, "--eal", "-n1"], []),
        (BEHIND_SSH | INTERFACES, [], []),
        (CABLE | INTERFACES | {"memory_channels": 8}, [], ["memory_channels"]),
        (BEHIND_SSH | INTERFACES | {"memory_channels": 8, "more_pairs": [OF_ANOTHER]}, [], []),
        ({"kind": "loop", "memory_channels": 2}, [], ["memory_channels"]),
    ],
)
def test_memory_channels_are_for_devices_of_dpdk(
    written: dict[str, Any], arguments: list[str], problems: list[str]
) -> None:
    testbed = described(written)
    assert testbed.engine_ports
    assert testbed.engine_ports.engine_arguments == arguments
    assert [problem.location[-1] for problem in testbed.problems()] == problems


def test_a_queue_has_one_core_for_each_task() -> None:
    problems = [*with_tasks({"kind": "lab"}, send=[0, 1], receive=[0, 1, 2]).problems()]
    assert [problem.location[-2:] for problem in problems] == [("right", "send"), ("right", "receive")]
    assert problems[1].message == (
        "3 cores for a port with 1 queue, and a queue has one core that receives; give 1 core, or more `queues`"
    )
    assert not [*with_tasks(BEHIND_SSH | PCI | {"queues": 3}, send=[0, 1], receive=[0, 1, 2]).problems()]


def test_a_port_may_have_a_vlan_within_a_service_vlan() -> None:
    vlans: Any = with_vlans(10, 20)
    for side in ("left", "right"):
        vlans[side] |= {"service_vlan": 300}
    ports = with_tasks(HARDWARE | vlans).engine_ports
    assert ports
    assert (ports.is_trunk, ports.tags) == (True, 2)
    del vlans["left"]["service_vlan"]
    with pytest.raises(ValidationError, match="give both sides a `service_vlan`, or neither"):
        with_tasks(HARDWARE | vlans)
    del vlans["right"]["vlan"]
    with pytest.raises(ValidationError, match="`service_vlan` has VLANs within it; give the `vlan`, too"):
        with_tasks(HARDWARE | vlans)


def test_both_sides_of_a_trunk_have_the_same_cores() -> None:
    ports = with_tasks(HARDWARE | with_vlans(10, 20)).engine_ports
    assert ports
    assert (ports.name, ports.is_trunk, ports.tags) == ("a", True, 1)
    assert [problem.location[-2:] for problem in ports.problems()] == [("tester_cores", "right")]
    assert not [*with_tasks(HARDWARE | with_vlans(10, 20), **TASKS["left"]).problems()]
    assert not [*with_tasks(HARDWARE | with_vlans(10, 20, right="b")).problems()]


@pytest.mark.parametrize(
    ("written", "longer"),
    [(HARDWARE | INTERFACES, 0), (HARDWARE | with_vlans(10, None, right="b"), 4), ({"kind": "simulated"}, 0)],
)
def test_a_tag_makes_frames_longer(written: dict[str, Any], longer: int) -> None:
    assert described(written).tag_bytes == longer


def test_one_port_may_have_one_mac_address_for_both_sides() -> None:
    macs = {side: port | {"mac": "02:00:00:00:0a:01"} for side, port in with_vlans(10, 20).items()}
    described(HARDWARE | macs)
    with pytest.raises(ValidationError, match=r"left\.mac and right\.mac are the same address"):
        described(HARDWARE | {side: port | {"interface": side} for side, port in macs.items()})


def test_a_list_of_one_core_may_be_the_core() -> None:
    assert described({"kind": "lab", "tester_cores": 3}) == described({"kind": "lab", "tester_cores": [3]})


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        (BEHIND_SSH | PCI, BEHIND_SSH | {"left": PCI["left"], "right": PCI["left"]}),
        (BEHIND_SSH | PCI | {"queues": 64}, BEHIND_SSH | PCI | {"queues": 65}),
        ({"kind": "lab", "tester_cores": [0]}, {"kind": "lab", "tester_cores": []}),
        ({"kind": "lab", "tester_cores": [0]}, {"kind": "lab", "tester_cores": [-1]}),
        ({"kind": "lab", "tester_cores": [0, 1]}, {"kind": "lab", "tester_cores": [0, 1, 0]}),
        ({"kind": "lab", "dut_cores": [0, 1]}, {"kind": "lab", "dut_cores": [1, 1]}),
        ({"kind": "lab", "tester_cores": TASKS}, {"kind": "lab", "tester_cores": {"left": TASKS["left"]}}),
        ({"kind": "lab", "tester_cores": TASKS}, {"kind": "lab", "tester_cores": TASKS | {"left": {"send": 1}}}),
        ({"kind": "simulated", "noise": 0.99}, {"kind": "simulated", "noise": 1}),
        ({"kind": "simulated", "dut_cores": 4096}, {"kind": "simulated", "dut_cores": 4097}),
        (CABLE | INTERFACES, CABLE | {"left": {"interface": "a" * 16}, "right": {"interface": "b"}}),
        (CABLE | PCI, CABLE | {"left": PCI["left"] | {"interface": "a"}, "right": PCI["right"]}),
        (CABLE | PCI, CABLE | {"left": {}, "right": PCI["right"]}),
        (HARDWARE | with_mac("02:00:00:00:0a:01"), HARDWARE | with_mac("03:00:00:00:0a:01")),
        (HARDWARE | with_mac("02:00:00:00:0a:01"), HARDWARE | with_mac("02:00:00:00:0A:01")),
        (HARDWARE | INTERFACES, HARDWARE | INTERFACES | {"right": {"interface": "a", "mac": "02:00:00:00:0a:01"}}),
        (HARDWARE | with_macs(left="01", right="02"), HARDWARE | with_macs(left="01", right="01")),
        (HARDWARE | with_macs(left="01", left_dut="02"), HARDWARE | with_macs(left="01", left_dut="01")),
        (HARDWARE | with_macs(left="01", right_dut="02"), HARDWARE | with_macs(left="01", right_dut="01")),
        (HARDWARE | with_macs(left_dut="03", right_dut="03"), HARDWARE | with_macs(right="03", left_dut="03")),
        (CABLE | with_macs(left="01", right="02"), CABLE | with_macs(left="01", right="01")),
        (HARDWARE | with_vlans(10, 20), HARDWARE | with_vlans(10, 10)),
        (HARDWARE | with_vlans(1, 4094), HARDWARE | with_vlans(10, None)),
        (HARDWARE | with_vlans(10, 10, right="b"), HARDWARE | with_vlans(None, None)),
        (HARDWARE | with_vlans(10, None, right="b"), HARDWARE | with_vlans(0, None, right="b")),
        (HARDWARE | with_vlans(None, 4094, right="b"), HARDWARE | with_vlans(None, 4095, right="b")),
        (CABLE | with_vlans(10, 20, right="b"), CABLE | with_vlans(10, 20)),
        (CABLE | PCI | {"memory_channels": 255}, CABLE | PCI | {"memory_channels": 256}),
        (CABLE | PCI | {"memory_channels": 1}, CABLE | PCI | {"memory_channels": 0}),
        (CABLE | PCI | {"memory_channels": 1}, {"kind": "lab", "memory_channels": 1}),
    ],
)
def test_settings_have_limits(accepted: dict[str, Any], refused: dict[str, Any]) -> None:
    described(accepted)
    with pytest.raises(ValidationError):
        described(refused)


def test_the_error_for_equal_mac_addresses_names_both_fields() -> None:
    with pytest.raises(ValidationError, match=r"left\.mac and right\.dut_mac are the same address, 02:00:00:00:0a:01"):
        described(HARDWARE | with_macs(left="01", right_dut="01"))
