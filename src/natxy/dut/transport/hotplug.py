# SPDX-License-Identifier: Apache-2.0
"""CPU hot-plug: takes cores of a DUT that is a Linux machine of its own out of service."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Protocol, runtime_checkable

from natxy.dut.transport.base import Lasting, Transport
from natxy.errors import DutError
from natxy.system.ledger import Entry, Kind, Ledger

SYSFS: Final = "/sys/devices/system/cpu"


class HotPlug:
    """Takes cores of a Linux machine out of service, and restores them."""

    def __init__(self, transport: Transport, sysfs: str = SYSFS, ledger: Ledger | None = None) -> None:
        self._transport = transport
        self._sysfs = sysfs
        self._ledger = ledger or Ledger()
        self._before: tuple[int, ...] = ()
        self._entry: Entry | None = None

    def cores(self) -> tuple[int, ...]:
        """Returns the cores in service by their numbers in the DUT's kernel; none where it is not Linux."""
        return parse_cores(self._transport.run(["cat", f"{self._sysfs}/online"], check=False).stdout)

    def use(self, wanted: Collection[int]) -> None:
        """Leaves only `wanted` in service.

        DutError when one of these does not exist, or when the kernel cannot release another one (mostly core 0).
        """
        present = self.cores()
        if set(wanted) == set(present):
            return
        if not self._before:
            self._before = self._recorded(present)
        if missing := sorted(set(wanted) - set(self._before)):
            raise DutError(
                f"the DUT has no core {missing[0]} in service, but {_listed(self._before)}: ask for fewer `cores`"
            )
        # Wanted cores first, so that there is always one.
        for core in sorted(self._before, key=lambda core: core not in wanted):
            if (core in self.cores()) != (core in wanted):
                self._switch(core, "1" if core in wanted else "0")

    def give_back(self) -> None:
        """Restores the cores that were in service before the first `use`, when no other natxy has taken some out.

        No error when none was taken out.
        """
        if self._entry:
            self._ledger.release(self._entry, lambda _: self.use(self._before))
            self._entry = None
        elif self._before:
            self.use(self._before)
        self._before = ()

    def _recorded(self, present: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the cores that were in service before any natxy took one out."""
        if not isinstance(self._transport, Lasting):
            return present
        self._entry = self._ledger.add(
            Kind.SETTING,
            "the cores in service",
            self._transport.place(),
            before=lambda: ",".join(map(str, present)),
            undo=self._undo,
        )
        return parse_cores(self._entry.original or "")

    def _undo(self, original: str) -> tuple[tuple[str, ...], ...]:
        switches = (f"{self._sysfs}/cpu{core}/online" for core in parse_cores(original))
        # Core 0 mostly has no switch.
        return tuple(("sh", "-c", f"[ ! -e {switch} ] || echo 1 > {switch}") for switch in switches)

    def _switch(self, core: int, state: str) -> None:
        file = f"{self._sysfs}/cpu{core}/online"
        # `tee` would create a file where the kernel has none.
        if self._transport.run(["test", "-e", file], check=False).returncode != 0:
            raise DutError(f"the DUT's kernel cannot take core {core} out of service: {file} does not exist")
        self._transport.run(["tee", file], input=state)


def parse_cores(text: str) -> tuple[int, ...]:
    """Parses a list of cores in the kernel's format, for example `0-3,8`. Raises DutError for any other text."""
    if not re.fullmatch(r"(\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*)?", text.strip(), re.ASCII):
        raise DutError(
            f"the DUT lists its cores as {text.strip()[:100]!r}, where a list such as 0-3,8 was expected; if the shell "
            "there greets its users, let it do so only on a terminal"
        )
    ranges = [part.partition("-") for part in text.strip().split(",") if part]
    return tuple(core for first, _, last in ranges for core in range(int(first), int(last or first) + 1))


def _listed(cores: Collection[int]) -> str:
    return ", ".join(map(str, cores))


@runtime_checkable
class CoreSwitch(Protocol):
    """A transport to a DUT that has a machine of its own, whose cores can be taken out of service."""

    @property
    def hot_plug(self) -> HotPlug: ...
