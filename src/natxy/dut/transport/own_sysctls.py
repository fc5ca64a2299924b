# SPDX-License-Identifier: Apache-2.0
"""Settings of a DUT on this machine that no other run changes, because its network namespace is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from natxy.dut.transport.base import Transport


class OwnSysctls:
    """The `HeldSysctls` of a network namespace. The value from before is in natxy's memory alone: most namespaces end
    with the run, also with a killed one."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._before: dict[str, str] = {}

    def hold(self, name: str, value: str) -> None:
        """DutError when the DUT's kernel refuses."""
        if name not in self._before:
            self._before[name] = " ".join(self._transport.run(["sysctl", "-n", name]).stdout.split())
        self._write(name, value)

    def release(self, name: str) -> None:
        if name in self._before:
            self._write(name, self._before.pop(name))

    def _write(self, name: str, value: str) -> None:
        self._transport.run(["sysctl", "-qw", f"{name}={value}"])
