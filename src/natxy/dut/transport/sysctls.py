# SPDX-License-Identifier: Apache-2.0
"""Sysctls that a transport sets for a run and restores afterwards: of a network namespace, and of a remote machine."""

from __future__ import annotations

from typing import Final

from natxy.dut.transport.base import Transport

# A folder that both Linux and OpenBSD empty at boot.
FOLDER: Final = "/var/run/natxy"
_SAVED: Final = f"{FOLDER}/sysctls"
# To resize a table of a billion entries is to move them all.
_LONGEST_S: Final = 3600.0


class OwnSysctls:
    """Implements `HeldSysctls` for a network namespace.

    It keeps the original values in natxy's memory: most namespaces end with the run, even with a killed one.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._before: dict[str, str] = {}

    def hold(self, name: str, value: str) -> None:
        """Sets a sysctl. DutError when the DUT's kernel refuses."""
        if name not in self._before:
            self._before[name] = " ".join(self._transport.run(["sysctl", "-n", name]).stdout.split())
        self._write(name, value)

    def release(self, name: str) -> None:
        """Restores the original value of a sysctl that is held."""
        if name in self._before:
            self._write(name, self._before.pop(name))

    def _write(self, name: str, value: str) -> None:
        self._transport.run(["sysctl", "-qw", f"{name}={value}"])


class RemoteSysctls:
    """Implements `HeldSysctls` for a remote machine.

    It keeps the original values in files on the DUT, which a reboot deletes as it undoes the changes. The values that a
    killed run leaves changed are thus restored by the next run.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def hold(self, name: str, value: str) -> None:
        """Sets a sysctl. DutError when the DUT's kernel refuses."""
        saved = f"{_SAVED}/{name}"
        if self._transport.run(["cat", saved], check=False).returncode != 0:
            original = self._transport.run(["sysctl", "-n", name]).stdout
            self._transport.run(["mkdir", "-p", _SAVED])
            self._transport.run(["tee", saved], input=original)
        self._write(name, value)

    def release(self, name: str) -> None:
        """Restores the original value of a sysctl that is held."""
        saved = f"{_SAVED}/{name}"
        original = self._transport.run(["cat", saved], check=False)
        if original.returncode == 0:
            self._write(name, " ".join(original.stdout.split()))
            self._transport.run(["rm", saved])

    def release_all(self) -> None:
        """Restores all original values, those changed by a killed run included."""
        for name in self._transport.run(["ls", _SAVED], check=False).stdout.split():
            self.release(name)

    def _write(self, name: str, value: str) -> None:
        self._transport.run(["sysctl", "-qw", f"{name}={value}"], timeout_s=_LONGEST_S)
