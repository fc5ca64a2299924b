# SPDX-License-Identifier: Apache-2.0
"""Runs commands in a network namespace of a machine that another transport reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from natxy.dut.transport.base import CompletedCommand, HeldSysctls, Transport
from natxy.dut.transport.hotplug import CoreSwitch, HotPlug
from natxy.dut.transport.sysctls import OwnSysctls


class HostTransport(Transport, CoreSwitch, Protocol):
    """A transport to a machine of its own."""


class NamespacedTransport:
    """Runs commands in a network namespace. The ledger has nothing of the namespace, which ends with its machine."""

    def __init__(self, host: HostTransport, namespace: str) -> None:
        self.namespace = namespace
        self.network = OwnSysctls(self)
        self._host = host

    @property
    def machine(self) -> HeldSysctls:
        return self._host.machine

    @property
    def hot_plug(self) -> HotPlug:
        """Switches the machine's cores, which all its namespaces share."""
        return self._host.hot_plug

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        inside = ["ip", "netns", "exec", self.namespace, *argv]
        return self._host.run(inside, input=input, timeout_s=timeout_s, check=check)

    def describe(self) -> str:
        return f"network namespace {self.namespace} of {self._host.describe()}"
