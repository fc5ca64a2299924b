# SPDX-License-Identifier: Apache-2.0
"""Reaches the places in the ledger again: this machine, its network namespaces, and machines behind ssh."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from natxy.dut.transport.base import Transport
from natxy.dut.transport.local import LocalTransport, NetnsTransport
from natxy.dut.transport.ssh import SshTransport
from natxy.errors import DutError
from natxy.plan.testbeds.machines import SshTarget
from natxy.system.ledger import Place
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.network_namespace import NAMED, OWN, find_namespace


class Places:
    """Returns transports to places; a machine behind ssh is connected to once, until the context ends."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._connected: dict[str, SshTransport] = {}
        self._boots: dict[str, str] = {}
        self._unreachable: dict[str, DutError] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def reach(self, place: Place) -> Transport | None:
        """Returns the transport to a place; None when it is gone with its namespace.

        Raises DutError when a machine does not answer.
        """
        if place.ssh is not None:
            return self._reach_by_ssh(place.ssh)
        machine = MachineSysctls()
        if place.namespace is None:
            return LocalTransport(machine)
        path = find_namespace(place.namespace)
        if path is None:
            return None
        if path == OWN:
            return LocalTransport(machine)
        return NetnsTransport(path.name, machine) if path.parent == NAMED else _UnnamedNamespace(path, machine)

    def was_booted_since(self, place: Place) -> bool:
        """Returns True when a machine behind ssh is no longer in the boot of `place`. Raises DutError like `reach`."""
        if place.ssh is None:
            return False
        self._reach_by_ssh(place.ssh)
        return self._boots[place.ssh] != place.boot_id

    def _reach_by_ssh(self, target: str) -> SshTransport:
        if target in self._unreachable:
            # Waiting once for its answer is enough.
            raise self._unreachable[target]
        if target not in self._connected:
            transport = self._stack.enter_context(SshTransport(SshTarget.model_validate_json(target)))
            try:
                self._boots[target] = transport.place().boot_id
            except DutError as error:
                self._unreachable[target] = error
                raise
            self._connected[target] = transport
        return self._connected[target]


class _UnnamedNamespace(LocalTransport):
    """Runs commands in a network namespace that only a file of a process stands for."""

    def __init__(self, path: Path, machine: MachineSysctls) -> None:
        super().__init__(machine)
        self._path = path

    def inside(self, argv: Sequence[str]) -> list[str]:
        return ["nsenter", f"--net={self._path}", *super().inside(argv)]
