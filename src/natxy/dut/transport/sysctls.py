# SPDX-License-Identifier: Apache-2.0
"""Sysctls that commands on a DUT set for a run and restore afterwards."""

from __future__ import annotations

from collections.abc import Callable

from natxy.dut.transport.base import LONGEST_S, Transport
from natxy.system.ledger import Entry, Kind, Ledger, Place
from natxy.system.machine_sysctls import sysctl_entry, sysctl_undo


class OwnSysctls:
    """Implements `HeldSysctls` for a DUT that has them to itself.

    `place` returns where the DUT is for the ledger, which then has the original values; None for a DUT that ends with
    natxy, such as a namespace of a lab.
    """

    def __init__(self, transport: Transport, place: Callable[[], Place | None] = lambda: None) -> None:
        self._transport = transport
        self._place = place
        self._ledger = Ledger()
        self._before: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}

    def read(self, name: str) -> str:
        """Returns the value in force. DutError when the DUT's kernel has no such setting."""
        return " ".join(self._transport.run(["sysctl", "-n", name]).stdout.split())

    def hold(self, name: str, value: str) -> None:
        """Sets a sysctl. DutError when the DUT's kernel refuses."""
        place = self._place()
        known = self._entries.get(name)
        if place and known and known.place != place:
            # The DUT has been booted since, which restored the value.
            del self._before[name]
            self._ledger.remove(self._entries.pop(name))
        if name not in self._before:
            self._before[name] = self.read(name)
        if place:
            self._record(name, value, place)
        self._write(name, value)

    def release(self, name: str) -> None:
        """Restores the original value of a sysctl that is held, when no other natxy holds it."""
        if name not in self._before:
            return
        if entry := self._entries.get(name):
            self._ledger.release(entry, lambda _: self._write(name, self._before[name]))
            del self._entries[name]
        else:
            self._write(name, self._before[name])
        del self._before[name]

    def _record(self, name: str, value: str, place: Place) -> None:
        entry = self._ledger.add(
            Kind.SETTING,
            sysctl_entry(name),
            place,
            value=value,
            before=lambda: self._before[name],
            undo=lambda original: sysctl_undo(name, original),
        )
        self._entries[name] = entry
        # A killed run may have changed it before.
        self._before[name] = entry.original or ""

    def _write(self, name: str, value: str) -> None:
        self._transport.run(["sysctl", "-qw", f"{name}={value}"], timeout_s=LONGEST_S)
