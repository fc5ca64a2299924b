# SPDX-License-Identifier: Apache-2.0
"""Tests user-mode Linux as the DUT of a lab: it boots, restarts, and ends with the process that started it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from natxy.cleanup.leftovers import give_back
from natxy.dut import registry
from natxy.errors import DutError
from natxy.plan.gateways.linux import IptablesBackend, IptablesConfig
from natxy.plan.model.terms import Kernel
from natxy.plan.testbeds.lab import LabConfig
from natxy.system.ledger import Ledger
from natxy.system.process_owner import Owner
from natxy.testbeds.guest.kernel import find_guest
from natxy.testbeds.guest.lab import GuestLab
from natxy.testbeds.namespaces import LabNamespaces
from tests.support import needs
from tests.support.lab_frames import IPV4

pytestmark = [pytest.mark.lab, pytest.mark.long, needs.NAMESPACES, *needs.GUEST]


def processes(namespace: str) -> list[str]:
    return subprocess.run(
        ["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False
    ).stdout.split()


def test_restart_loses_what_was_set_and_the_end_leaves_nothing() -> None:
    lab = GuestLab(LabConfig(), IPV4)
    namespace = LabNamespaces(Owner.current()).dut
    with lab:
        guest = lab.transport
        assert guest.run(["uname", "-r"]).stdout.strip() == find_guest().version
        assert str(IPV4.left.dut) in guest.run(["ip", "-brief", "address", "show", "dev", lab.interfaces.left]).stdout
        guest.machine.hold("net.netfilter.nf_conntrack_max", "777777")
        boot_id = ["cat", "/proc/sys/kernel/random/boot_id"]
        before = guest.run(boot_id).stdout
        lab._guest.restart()
        assert guest.run(boot_id).stdout not in {before, ""}
        assert guest.run(["sysctl", "-n", "net.netfilter.nf_conntrack_max"]).stdout.strip() != "777777"
    assert processes(namespace) == []
    with pytest.raises(DutError, match="switched off"):
        guest.run(["true"])


def test_restart_of_a_gateway_boots_its_machine_even_after_a_panic() -> None:
    with GuestLab(LabConfig(), IPV4) as lab:
        config = IptablesConfig(backend=IptablesBackend.LEGACY, conntrack_max=777777, kernel=Kernel.USER_MODE)
        gateway = registry.create(config, lab.transport, lab.interfaces, IPV4)
        gateway.apply()
        with pytest.raises(DutError, match="Kernel panic"):
            lab.transport.run(["tee", "/proc/sysrq-trigger"], input="c")
        gateway.restart()
        described = gateway.describe()
        assert "user-mode Linux" in described.version
        assert described.settings["net.netfilter.nf_conntrack_max"] == "777777"
        assert "MASQUERADE" in described.configuration
        assert str(IPV4.right.dut) in lab.transport.run(["ip", "-brief", "address"]).stdout
        gateway.clear()


def test_panic_is_told() -> None:
    ended = pytest.raises(DutError, match=r"the guest has ended; its last words: .*Kernel panic")
    with GuestLab(LabConfig(), IPV4) as lab, ended:
        lab.transport.run(["tee", "/proc/sysrq-trigger"], input="c")


def test_guest_ends_with_a_killed_owner() -> None:
    code = (
        "import sys, time; from natxy.testbeds.guest.lab import GuestLab; from natxy.plan.written import LabConfig;"
        "from natxy.plan.model.addresses import AddressPlan; from natxy.system.process_owner import Owner;"
        "lab = GuestLab(LabConfig(), AddressPlan.model_validate_json(sys.argv[1])); lab.__enter__();"
        "print(Owner.current(), flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, IPV4.model_dump_json()], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        left = LabNamespaces(Owner.parse(process.stdout.readline().strip()))
        assert processes(left.dut)
        process.kill()
    try:
        deadline = time.monotonic() + 10
        while processes(left.dut) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert processes(left.dut) == []
    finally:
        assert not [each for each in give_back() if each.problem and each.entry.process() == left.owner]
    assert not any(entry.process() == left.owner for entry in Ledger().entries())
