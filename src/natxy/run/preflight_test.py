# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan
from natxy.run import preflight
from natxy.run.preflight import check_sysctls, examined, missing_programs, small_memory, small_tables
from natxy.testbeds import lab_kernels
from natxy.testbeds.vm.image import VmImage

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
    monkeypatch.setattr(lab_kernels, "_needs_guest", lambda gateway: gateway.driver.startswith("jool"))


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


@pytest.mark.parametrize(
    ("gateway", "remedy"),
    [
        ("nat46", "build it from https://github.com/ayourtch/nat46"),
        ("jool-mapt", "build Jool 4.2 from the branch mapt"),
        ({"driver": "map-t", "by": "jool-siit"}, "install it, e.g. `apt install jool-dkms`, or give the gateway `by: "),
        ({"driver": "jool-siit", "kernel": "own"}, "install it, e.g. `apt install jool-dkms`, or remove `kernel: own`"),
    ],
)
def test_modules_come_with_the_kernel_or_from_where_the_remedy_says(
    gateway: Any, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_kernels, "takes_module", lambda _: False)
    driver = gateway if isinstance(gateway, str) else gateway["driver"]
    both = {"driver": "chain", "gateways": ["tester", gateway]}
    [line] = missing(gateway, translation="siit") if driver == "jool-siit" else missing(both)
    module = {"map-t": "jool_siit"}.get(driver, driver.replace("-", "_"))
    assert re.search(rf"{driver} needs the kernel module {module}, which \S+ doesn't have: ", line)
    assert remedy in line


@pytest.mark.usefixtures("empty_machine")
def test_a_guest_has_the_programs_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_kernels, "find_guest", lambda: None)
    assert missing("jool-siit", translation="siit") == ["jool-siit: jool_siit is not installed: apt install jool-tools"]


@pytest.mark.usefixtures("empty_machine")
def test_the_gateways_of_a_chain_run_in_one_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_kernels, "find_guest", lambda: None)
    connected = {"connections": "1k", "phase1_rate": "1k"}
    both = {"driver": "chain", "gateways": ["jool-siit", "jool"]}
    install = "is not installed: apt install jool-tools"
    assert missing(both, **connected) == [f"jool-siit → jool: {program} {install}" for program in ("jool_siit", "jool")]
    [line] = missing({"driver": "chain", "gateways": ["tayga", "jool"]}, **connected)
    assert "jool runs in user-mode Linux here, and the gateways of a chain share a kernel, but tayga runs on" in line
    assert "install the module jool, choose another gateway or `kind: vm`" in line


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
    monkeypatch.setattr(preflight, "available_bytes", lambda: has_bytes)
    own = {"name": "rate", "procedure": "connection-rate", "connections": "5k", "search": {"max_rate": "100k"}}
    plan = {"name": "p", "testbed": testbed, "experiments": [own | {"gateway": "nftables"}]}
    found = small_memory(resolve(Plan.model_validate(plan)))
    assert [*found.values()] == ([["rate"]] if taken else [])
    assert all(f"take about {taken} in tables on this machine" in reason for reason in found)


INTERFACES: dict[str, Any] = {"left": {"interface": "a"}, "right": {"interface": "b"}}
PCI: dict[str, Any] = {"left": {"pci": "0000:41:00.0"}, "right": {"pci": "0000:41:00.1"}}
HARDWARE: dict[str, Any] = {"kind": "hardware", "dut": {"left": "c", "right": "d"}}
BEHIND_SSH: dict[str, Any] = HARDWARE | {"dut": HARDWARE["dut"] | {"ssh": "dut"}}
ELSEWHERE: dict[str, Any] = HARDWARE | {"dut": HARDWARE["dut"] | {"addresses": "keep"}}
SECOND_PAIR: dict[str, Any] = {**INTERFACES, "dut": {"left": "c2", "right": "d2"}}
LOOP: dict[str, Any] = {"kind": "loop", "medium": "cable"}


@pytest.mark.parametrize(
    ("testbed", "gateway", "needed"),
    [
        ({"kind": "lab"}, "linux-forward", True),
        ({"kind": "memif"}, "reference", False),
        ({"kind": "simulated"}, "simulated", False),
        ({"kind": "loop"}, "wire", True),
        (LOOP | INTERFACES, "wire", True),
        (LOOP | PCI, "wire", False),
        (HARDWARE | PCI, "linux-forward", True),  # the DUT is this machine
        (ELSEWHERE | PCI, "linux-forward", False),
        (BEHIND_SSH | PCI, "linux-forward", False),
        (BEHIND_SSH | INTERFACES, "linux-forward", True),
        (BEHIND_SSH | PCI | {"more_pairs": [SECOND_PAIR]}, "linux-forward", True),
    ],
)
def test_a_read_only_proc_sys_is_an_error_where_sysctls_are_needed(
    monkeypatch: pytest.MonkeyPatch, testbed: dict[str, Any], gateway: str, *, needed: bool
) -> None:
    experiment = {"name": "x", "gateway": gateway, "procedure": "throughput", "search": {"max_rate": "1M"}}
    plan = resolve(Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [experiment]}))
    monkeypatch.setattr(preflight, "is_read_only", lambda: False)
    check_sysctls(plan)
    monkeypatch.setattr(preflight, "is_read_only", lambda: True)
    if not needed:
        check_sysctls(plan)
        return
    with pytest.raises(DutError, match="/proc/sys is read-only here"):
        check_sysctls(plan)


VM: Final = Path(__file__).parents[3] / "plans" / "vm.yaml"


@pytest.fixture
def _enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the cores and the sysctls that a plan needs."""
    monkeypatch.setattr(preflight, "check_cores", lambda _: None)
    monkeypatch.setattr(preflight, "check_sysctls", lambda _: None)


@pytest.mark.usefixtures("_enough")
def test_a_virtual_machine_without_its_image_will_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plan = load_plan(VM)
    [line] = [line for line in examined(plan).lines if line.startswith("Will fail: ")]
    assert line.startswith(f"Will fail: {', '.join(each.name for each in plan.experiments)}: ")
    assert f"{tmp_path}/natxy/vm-bookworm, the virtual machine, is missing: run `make vm`" in line


@pytest.mark.usefixtures("_enough")
@pytest.mark.parametrize(("accelerator", "executed"), [("kvm", "KVM"), ("tcg", "TCG (no KVM")])
def test_what_will_boot_is_told(monkeypatch: pytest.MonkeyPatch, accelerator: str, executed: str) -> None:
    monkeypatch.setattr(preflight, "find_image", lambda _: VmImage(Path("/vm/disk.img"), "raw", Path("/vm/key")))
    monkeypatch.setattr(preflight, "choose_accelerator", lambda _: accelerator)
    [note] = examined(load_plan(VM)).notes
    assert note.startswith(f"The virtual machine: /vm/disk.img, run by QEMU with {executed}")


@pytest.mark.usefixtures("_enough")
def test_doubtful_results_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    cabled = "{kind: hardware, left: {interface: a}, right: {interface: b}, dut: {ssh: dut, left: c, right: d}}"
    siit = "procedure: throughput, translation: siit, search: {min_rate: 1k, max_rate: 9k}"
    file.write_text(
        f"name: plan\ntestbed: {cabled}\nexperiments:\n"
        f"  - {{name: one, gateway: tayga, {siit}}}\n  - {{name: other, gateway: map646, {siit}}}\n"
        "  - {name: third, gateway: {driver: nftables, hash_size: 4096, conntrack_max: 300k}, addresses: multiple,\n"
        "     procedure: connection-rate, connections: 200k, search: {min_rate: 20k, max_rate: 60k}}\n"
    )
    untried, zero, crowded = examined(load_plan(file)).warnings
    assert untried.startswith("map646 has never run map646 itself")
    assert zero.startswith("one: tayga sends one frame in 65,536 to IPv6 with a UDP checksum of 0")
    assert crowded.startswith("third: the 200,000 connections are 48.8 for each of the 4,096 hash buckets")
