# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.map646 import Map646Gateway
from natxy.dut.drivers.tayga_test import ADDRESSES
from natxy.dut.transport.local import LocalTransport
from natxy.errors import GatewayDiedError
from natxy.plan.gateways.map646 import Map646Config
from natxy.system.machine_sysctls import MachineSysctls


class Translator(Map646Gateway):
    """A translator with a file of its own, whose interface is always there."""

    tun = "lo"
    path = ""

    @property
    def pid_file(self) -> str:
        return self.path


def translator(program: str, path: Path) -> Translator:
    config = Map646Config(program=f"/usr/bin/{program}")
    made = Translator(config, LocalTransport(MachineSysctls()), DutInterfaces("a", "b"), ADDRESSES)
    made.path = str(path)
    return made


def test_its_process_and_its_interface_are_looked_for(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    pid_file.write_text(f"{os.getpid()}\n")
    mine = translator(Path(f"/proc/{os.getpid()}/comm").read_text().strip(), pid_file)
    mine.check_alive()
    mine.tun = "natxy-none"  # type: ignore[misc]
    with pytest.raises(GatewayDiedError, match=r"^its interface natxy-none is gone$"):
        mine.check_alive()


@pytest.mark.parametrize(
    ("written", "pid"),
    [(f"{os.getpid()}\n", str(os.getpid())), ("\n", "unknown"), (None, "unknown")],
    ids=["another's", "empty", "gone"],
)
def test_a_process_that_ended_is_named(written: str | None, pid: str, tmp_path: Path) -> None:
    """Its number may have been given to another process, or its file may be gone too."""
    pid_file = tmp_path / "pid"
    if written is not None:
        pid_file.write_text(written)
    with pytest.raises(GatewayDiedError, match=rf"^its process a-translator-of \(pid {pid}\) ended$"):
        translator("a-translator-of-my-own", pid_file).check_alive()
