# SPDX-License-Identifier: Apache-2.0
"""The DUT of a testbed of real machines: reached by ssh, in a network namespace, or this machine itself."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from natxy.dut.base import DutInterfaces
from natxy.dut.machine import MachineSysctls
from natxy.dut.ssh import SshTransport
from natxy.dut.transport import LocalTransport, NetnsTransport, Transport
from natxy.plan.hardware import DutLocation


class DutPlace:
    """Within it the DUT can be reached. `cores`: those in service, none where they are not the DUT's alone."""

    def __init__(self, location: DutLocation, machine: MachineSysctls) -> None:
        self.transport = _transport(location, machine)
        self.interfaces = DutInterfaces(left=location.left, right=location.right)
        self.cores: tuple[int, ...] = ()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if isinstance(self.transport, SshTransport):
                stack.enter_context(self.transport)
                # What a killed run took out of service.
                self.transport.hot_plug.give_back()
                stack.callback(self.transport.hot_plug.give_back)
                self.cores = self.transport.hot_plug.cores()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def description(self) -> dict[str, str]:
        return {
            "machine": f"{self.transport.describe()}, interfaces {self.interfaces.left} and {self.interfaces.right}",
            "cores": ", ".join(map(str, self.cores)) or "unknown: set by the DUT itself",
        }


def _transport(location: DutLocation, machine: MachineSysctls) -> Transport:
    if location.ssh:
        return SshTransport(location.ssh)
    return NetnsTransport(location.namespace, machine) if location.namespace else LocalTransport(machine)
