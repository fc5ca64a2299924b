# SPDX-License-Identifier: Apache-2.0
"""Runs commands in a network namespace of a machine that another transport reaches."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.dut.transport.base import CompletedCommand, HeldSysctls, Transport
from natxy.dut.transport.hotplug import CoreSwitch, HotPlug
from natxy.dut.transport.sysctls import OwnSysctls


class NamespacedTransport:
    """Runs commands in a network namespace. The ledger has nothing of the namespace, which ends with its machine."""

    def __init__(self, host: Transport, namespace: str) -> None:
        self.namespace = namespace
        self.network = OwnSysctls(self)
        self._host = host

    @property
    def machine(self) -> HeldSysctls:
        return self._host.machine

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        inside = ["ip", "netns", "exec", self.namespace, *argv]
        return self._host.run(inside, input=input, timeout_s=timeout_s, check=check)

    def describe(self) -> str:
        return f"network namespace {self.namespace} of {self._host.describe()}"


class SwitchingNamespace(NamespacedTransport):
    """Runs commands in a network namespace of a machine whose cores can be switched off."""

    def __init__(self, host: Transport, namespace: str, hot_plug: HotPlug) -> None:
        super().__init__(host, namespace)
        self.hot_plug = hot_plug
        """Switches the machine's cores, which all its namespaces share."""


def in_namespace(host: Transport, namespace: str) -> NamespacedTransport:
    """Returns what runs commands in a network namespace of a machine of its own."""
    if isinstance(host, CoreSwitch):
        return SwitchingNamespace(host, namespace, host.hot_plug)
    return NamespacedTransport(host, namespace)
