# SPDX-License-Identifier: Apache-2.0
"""Measures a gateway on a machine behind OpenSSH that does not let natxy in, or not as root.

Every run ends with the exit code of a gateway that could not be set up, and leaves nothing on either machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support import needs
from tests.support.booted_dut import BootedDut, Ended, booted_disk, cabled_tester, network_of_tester, running_dut
from tests.support.machine_state import differences

pytestmark = [*needs.LAB, needs.VM, needs.TUN, needs.programs("ssh", "qemu-img"), pytest.mark.faults]

OTHER_KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDBtnIoWY0DkPLkbkL0hSFNjGyn5NJPlqVwYLAbULVBe"

PLAN: Final = """
name: faults
timing: lab
repeat: 1
testbed:
  kind: hardware
  left: {{interface: left}}
  right: {{interface: right}}
  io: af_packet
  dut: {{ssh: {{host: gateway, config: {config}{login}}}, left: left, right: right}}
experiments:
  - name: forwarding
    gateway: linux-forward
    procedure: throughput
    search: {{min_rate: 100, max_rate: 200, error: 100}}
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cabled_tester():
        yield booted_disk(tmp_path_factory.mktemp("booted"))


@pytest.fixture
def dut(disk: Path, tmp_path: Path) -> Iterator[BootedDut]:
    with running_dut(disk, tmp_path) as running:
        yield running


@dataclass
class Bed:
    """Runs a plan against the DUT, and compares both machines with their states before."""

    dut: BootedDut
    folder: Path

    def __post_init__(self) -> None:
        self._before = self.dut.state()
        self._tester_before = network_of_tester()

    def run(self, login: str = "") -> Ended:
        plan = self.folder / "plan.yaml"
        plan.write_text(PLAN.format(config=self.dut.config, login=login))
        return self.dut.natxy("run", plan, "--output", self.folder / "out")

    def left(self) -> dict[str, Any]:
        """Returns what differs from before on both machines, and what is in the ledger."""
        found: dict[str, Any] = {"ledger": ledger} if (ledger := self.dut.recorded()) else {}
        if (tester := network_of_tester()) != self._tester_before:
            found["tester"] = differences(self._tester_before, tester)
        if (after := self.dut.state()) != self._before:
            found["DUT"] = differences(self._before, after)
        return found


@pytest.fixture
def bed(dut: BootedDut, tmp_path: Path) -> Bed:
    return Bed(dut, tmp_path)


def test_wrong_host_key(bed: Bed) -> None:
    known = bed.dut.known_hosts.read_text()
    bed.dut.known_hosts.write_text(f"gateway {OTHER_KEY}\n")
    ended = bed.run()
    bed.dut.known_hosts.write_text(known)
    assert ended.code == 4, ended.output
    assert "the host's key differs from known_hosts or is missing there" in said(ended)
    assert bed.left() == {}


def test_login_refused(bed: Bed) -> None:
    ended = bed.run(login=", user: nobody")
    assert ended.code == 4, ended.output
    assert "the login was refused" in said(ended)
    assert bed.left() == {}


@pytest.mark.parametrize(
    ("as_root", "words"),
    [
        ("[]", "not permitted"),
        ("[sudo, -n]", "sudo is not installed there"),
        ("[/usr/sbin/runuser, -u, root, --]", "runuser: "),
    ],
)
def test_user_without_the_rights_of_root(bed: Bed, as_root: str, words: str) -> None:
    bed.dut.run("useradd -m -s /bin/sh plain && cp -r /root/.ssh /home/plain/ && chown -R plain: /home/plain/.ssh")
    ended = bed.run(login=f", user: plain, as_root: {as_root}")
    assert ended.code == 4, ended.output
    assert words in said(ended)
    assert bed.left() == {}


def said(ended: Ended) -> str:
    return " ".join(ended.output.split())
