# SPDX-License-Identifier: Apache-2.0
"""Settings of a DUT that is a machine of its own, changed for a while and given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from natxy.dut.transport.base import Transport

# Which Linux and OpenBSD both empty when they boot.
FOLDER: Final = "/var/run/natxy"
_KEPT: Final = f"{FOLDER}/sysctls"
# To give a table of a billion entries another size moves them all.
_LONGEST_S: Final = 3600.0


class RemoteSysctls:
    """The `HeldSysctls` of a remote machine.

    The value from before is kept on the DUT, in a file that a reboot removes as it undoes the change; so what a killed
    run left changed is given back by the next run.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def hold(self, name: str, value: str) -> None:
        """DutError when the DUT's kernel refuses."""
        kept = f"{_KEPT}/{name}"
        if self._transport.run(["cat", kept], check=False).returncode != 0:
            original = self._transport.run(["sysctl", "-n", name]).stdout
            self._transport.run(["mkdir", "-p", _KEPT])
            self._transport.run(["tee", kept], input=original)
        self._write(name, value)

    def release(self, name: str) -> None:
        kept = f"{_KEPT}/{name}"
        original = self._transport.run(["cat", kept], check=False)
        if original.returncode == 0:
            self._write(name, " ".join(original.stdout.split()))
            self._transport.run(["rm", kept])

    def release_all(self) -> None:
        """Also what a killed run held."""
        for name in self._transport.run(["ls", _KEPT], check=False).stdout.split():
            self.release(name)

    def _write(self, name: str, value: str) -> None:
        self._transport.run(["sysctl", "-qw", f"{name}={value}"], timeout_s=_LONGEST_S)
