# SPDX-License-Identifier: Apache-2.0
"""CPU hot-plug: how many cores a DUT that is a Linux machine of its own has in service."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from natxy.dut.transport.remote_sysctls import FOLDER
from natxy.errors import DutError

if TYPE_CHECKING:
    from natxy.dut.transport.base import Transport

SYSFS: Final = "/sys/devices/system/cpu"
_KEPT: Final = f"{FOLDER}/cores"


class HotPlug:
    """Takes cores out of service for a while, and gives them back.

    Which were in service before is kept on the DUT, in a file that a reboot removes as it undoes the change; so what a
    killed run took, the next one gives back.
    """

    def __init__(self, transport: Transport, sysfs: str = SYSFS, kept: str = _KEPT) -> None:
        self._transport = transport
        self._sysfs = sysfs
        self._kept = kept

    def cores(self) -> tuple[int, ...]:
        """In service now, as the DUT's kernel numbers them; none where it is no Linux."""
        return parse_cores(self._read(f"{self._sysfs}/online"))

    def use(self, wanted: Collection[int]) -> None:
        """Leaves only `wanted` in service. DutError when there is no such core, or the kernel cannot do without
        another one (mostly core 0)."""
        if set(wanted) == set(self.cores()):
            return
        before = parse_cores(self._read(self._kept))
        if not before:
            before = self.cores()
            self._transport.run(["mkdir", "-p", self._kept.rpartition("/")[0]])
            self._transport.run(["tee", self._kept], input=",".join(map(str, before)))
        if missing := sorted(set(wanted) - set(before)):
            raise DutError(f"the DUT has no core {missing[0]} in service, but {_listed(before)}: ask for fewer `cores`")
        # First those that come, so that there is always one.
        for core in sorted(before, key=lambda core: core not in wanted):
            if (core in self.cores()) != (core in wanted):
                self._switch(core, "1" if core in wanted else "0")

    def give_back(self) -> None:
        """All cores that were in service before the first `use`. Harmless when nothing was taken."""
        before = parse_cores(self._read(self._kept))
        if before:
            self.use(before)
            self._transport.run(["rm", self._kept])

    def _switch(self, core: int, state: str) -> None:
        file = f"{self._sysfs}/cpu{core}/online"
        # `tee` would make a file of its own where the kernel has none.
        if self._transport.run(["test", "-e", file], check=False).returncode != 0:
            raise DutError(f"the DUT's kernel cannot take core {core} out of service: {file} is not there")
        self._transport.run(["tee", file], input=state)

    def _read(self, file: str) -> str:
        return self._transport.run(["cat", file], check=False).stdout


def parse_cores(text: str) -> tuple[int, ...]:
    """A list as the kernel writes it, for example `0-3,8`."""
    ranges = [part.partition("-") for part in text.strip().split(",") if part]
    return tuple(core for first, _, last in ranges for core in range(int(first), int(last or first) + 1))


def _listed(cores: Collection[int]) -> str:
    return ", ".join(map(str, cores))


@runtime_checkable
class CoreSwitch(Protocol):
    """A transport to a machine of the DUT's own, whose cores can be taken out of service."""

    @property
    def hot_plug(self) -> HotPlug: ...
