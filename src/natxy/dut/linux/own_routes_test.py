# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence

import pytest

from natxy.dut.linux.own_routes import flush_rules
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.system.machine_sysctls import MachineSysctls


class Elsewhere(LocalTransport):
    """Runs commands in the network namespace of a process."""

    def __init__(self, pid: int) -> None:
        super().__init__(MachineSysctls())
        self._enter = ["nsenter", f"--net=/proc/{pid}/ns/net"]

    def inside(self, argv: Sequence[str]) -> list[str]:
        return [*self._enter, *argv]


@pytest.fixture
def namespace() -> Iterator[Elsewhere]:
    """Yields a network namespace that ends with its process."""
    command = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield Elsewhere(process.pid)
        process.kill()


@pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode != 0,
    reason="needs to make network namespaces",
)
def test_a_thousand_rules_are_removed_and_those_of_somebody_else_stay(namespace: Elsewhere) -> None:
    # The kernel skips some rules when it removes that many at once.
    before = namespace.run(["ip", "rule"]).stdout
    own = [f"rule add priority 110 ipproto udp dport {port} protocol 110 lookup 5" for port in range(1, 1009)]
    namespace.run(["ip", "-batch", "-"], input="\n".join([*own, "rule add priority 110 dport 9 lookup 6"]))
    assert len(namespace.run(["ip", "rule"]).stdout.splitlines()) == len(before.splitlines()) + 1009
    flush_rules(namespace, "-4")
    left = namespace.run(["ip", "rule"]).stdout.splitlines()
    assert [line.split() for line in left if line not in before] == [
        ["110:", "from", "all", "dport", "9", "lookup", "6"],
    ]


def test_rules_that_cannot_be_removed_are_an_error() -> None:
    class Kernel(LocalTransport):
        flushed = 0

        def run(
            self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
        ) -> CompletedCommand:
            self.flushed += "flush" in argv
            rules = "0:\tfrom all lookup local\n110:\tfrom all lookup 5 proto 110 \n"
            return CompletedCommand(tuple(argv), 0, rules, "")

    kernel = Kernel(MachineSysctls())
    with pytest.raises(DutError, match="1 rules of natxy's stay"):
        flush_rules(kernel, "-6")
    assert kernel.flushed == 1
