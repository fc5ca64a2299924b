# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
from typing import Any, Final

import pytest

from natxy.doctor import experiments
from natxy.doctor.experiments import missing_programs, small_memory, small_tables
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.testbeds import lab_kernels

SEARCH = {"min_rate": "10k", "max_rate": "100k", "error": "1k"}


def missing(gateway: object, *, testbed: object = None, **more: Any) -> list[str]:
    own = {"name": "e", "gateway": gateway, "procedure": "throughput", "search": SEARCH, **more}
    own = {field: value for field, value in own.items() if value is not None}
    plan = {"name": "p", "testbed": testbed or {"kind": "lab"}, "experiments": [own]}
    found = missing_programs(resolve(Plan.model_validate(plan)))
    assert all(names == ["e"] for names in found.values())
    return [*found]


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: "/sbin/" + program if program in {"ip", "sysctl"} else None)
    # Whatever this machine's kernel takes.
    monkeypatch.setattr(lab_kernels, "runs_in_guest", lambda gateway: gateway.driver.startswith("jool"))


@pytest.mark.usefixtures("empty_machine")
@pytest.mark.parametrize(
    ("gateway", "lines"),
    [
        ("linux-forward", []),
        (
            "nftables",
            ["conntrack is not installed: apt install conntrack", "nft is not installed: apt install nftables"],
        ),
        (
            {"driver": "iptables", "backend": "legacy"},
            [
                "conntrack is not installed: apt install conntrack",
                "iptables-legacy is not installed: apt install iptables",
            ],
        ),
    ],
)
def test_what_a_gateway_lacks_is_told_with_what_to_install(gateway: Any, lines: list[str]) -> None:
    driver = gateway if isinstance(gateway, str) else gateway["driver"]
    stateful = {} if driver == "linux-forward" else {"connections": "1k", "phase1_rate": "1k"}
    assert missing(gateway, **stateful) == [f"{driver}: {line}" for line in lines]


@pytest.mark.usefixtures("empty_machine")
def test_translators_too() -> None:
    for driver, words in (
        ("tayga", "tayga is not installed: apt install tayga"),
        ("map646", "map646 is not installed: build it from https://github.com/keiichishima/map646"),
        ("jool-siit", "user-mode Linux is not installed on this machine: run `make jool`"),
    ):
        (line,) = missing(driver, translation="siit")
        assert line.startswith(f"{driver}: {words}")


@pytest.mark.usefixtures("empty_machine")
def test_a_guest_has_the_programs_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_kernels, "find_guest", lambda: None)
    assert missing("jool-siit", translation="siit") == ["jool-siit: jool_siit is not installed: apt install jool-tools"]


@pytest.mark.usefixtures("empty_machine")
def test_a_gateway_elsewhere_is_not_looked_for() -> None:
    ports = {side: {"interface": side} for side in ("left", "right")}
    dut = {"ssh": {"host": "dut.example"}, "left": "eth1", "right": "eth2"}
    hardware = {"kind": "hardware", **ports, "dut": dut}
    assert missing("nftables", testbed=hardware, connections="1k", phase1_rate="1k") == []
    assert missing("simulated", testbed={"kind": "simulated"}) == []


@pytest.mark.usefixtures("empty_machine")
def test_commands_of_the_user_s_own_are_looked_for() -> None:
    gateway = {"driver": "command", "apply": [["my-nat", "start"]], "version": ["ip", "-V"]}
    assert missing(gateway) == ["command: my-nat is not installed: install it, or correct the gateway's commands"]


@pytest.mark.usefixtures("empty_machine")
def test_nothing_is_looked_for_where_the_gateway_is_not_here() -> None:
    hosts = {side: {"ssh": f"root@{side}", "interface": "eth1"} for side in ("left", "right")}
    dut = {"ssh": "root@dut", "left": "eth1", "right": "eth2"}
    tcp = {"procedure": "tcp-goodput", "search": None}
    assert missing("linux-forward", testbed={"kind": "hosts", **hosts, "dut": dut}, **tcp) == []
    assert missing("wire", testbed={"kind": "loop"}) == []
    assert missing("linux-forward", **tcp) == ["tcp-goodput: iperf3 is not installed: apt install iperf3"]


FAR: Final[dict[str, Any]] = {
    "kind": "hardware",
    "left": {"interface": "eth0"},
    "right": {"interface": "eth1"},
    "dut": {"ssh": "dut", "left": "eth0", "right": "eth1"},
}


def small(*gateways: object, testbed: object = None) -> dict[str, list[str]]:
    own: dict[str, Any] = {"procedure": "connection-rate", "connections": "5k", "search": {"max_rate": "100k"}}
    each = [own | {"name": f"e{number}", "gateway": gateway} for number, gateway in enumerate(gateways)]
    plan = {"name": "p", "testbed": testbed or {"kind": "lab"}, "experiments": each}
    return small_tables(resolve(Plan.model_validate(plan)))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: LocalTransport, argv: list[str], **__: Any) -> CompletedCommand:
        assert argv == ["sysctl", "-n", "net.netfilter.nf_conntrack_max"]
        return CompletedCommand(tuple(argv), 0, "4999\n", "")

    monkeypatch.setattr(LocalTransport, "run", run)


@pytest.mark.usefixtures("machine")
def test_a_table_that_is_too_small_is_told_once_for_all_that_need_more() -> None:
    ((line, names),) = small("nftables", "iptables", {"driver": "nftables", "conntrack_max": 5000}).items()
    assert "holds at most 4999 entries (nf_conntrack_max), but the plan needs 5000 connections" in line
    assert names == ["e0", "e1"]


@pytest.mark.usefixtures("machine")
def test_another_machine_has_a_table_of_its_own() -> None:
    assert small("nftables", testbed=FAR) == {}


def test_a_kernel_that_tracks_nothing_yet_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> CompletedCommand:
        raise DutError("no such sysctl")

    monkeypatch.setattr(LocalTransport, "run", run)
    assert small("nftables") == {}


@pytest.mark.parametrize(
    ("testbed", "has_bytes", "taken"),
    [
        ({"kind": "lab"}, 400_000 * 5, None),
        ({"kind": "lab"}, 400_000 * 5 - 1, "0.002 GB"),
        (FAR, 16_000 * 5, None),
        (FAR, 16_000 * 5 - 1, "8e-05 GB"),
    ],
)
def test_tables_larger_than_the_available_memory(
    monkeypatch: pytest.MonkeyPatch, testbed: dict[str, Any], has_bytes: int, taken: str | None
) -> None:
    monkeypatch.setattr(experiments, "available_bytes", lambda: has_bytes)
    own = {"name": "rate", "procedure": "connection-rate", "connections": "5k", "search": {"max_rate": "100k"}}
    plan = {"name": "p", "testbed": testbed, "experiments": [own | {"gateway": "nftables"}]}
    found = small_memory(resolve(Plan.model_validate(plan)))
    assert [*found.values()] == ([["rate"]] if taken else [])
    assert all(f"take about {taken} in tables on this machine" in reason for reason in found)
