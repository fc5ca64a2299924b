# SPDX-License-Identifier: Apache-2.0
"""CPU hot-plug: takes cores of a DUT that is a Linux machine of its own out of service."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, Protocol, runtime_checkable

from natxy.dut.transport.base import Transport
from natxy.dut.transport.sysctls import FOLDER
from natxy.errors import DutError

SYSFS: Final = "/sys/devices/system/cpu"
_KEPT: Final = f"{FOLDER}/cores"


class HotPlug:
    """Takes cores of a Linux machine out of service, and restores them.

    It keeps the list of the cores that were in service in a file on the DUT, which a reboot deletes as it undoes the
    change. The cores that a killed run takes out of service are thus restored by the next run.
    """

    def __init__(self, transport: Transport, sysfs: str = SYSFS, kept: str = _KEPT) -> None:
        self._transport = transport
        self._sysfs = sysfs
        self._kept = kept

    def cores(self) -> tuple[int, ...]:
        """Returns the cores in service by their numbers in the DUT's kernel; none where it is not Linux."""
        return parse_cores(self._read(f"{self._sysfs}/online"))

    def use(self, wanted: Collection[int]) -> None:
        """Leaves only `wanted` in service.

        DutError when one of these does not exist, or when the kernel cannot release another one (mostly core 0).
        """
        if set(wanted) == set(self.cores()):
            return
        before = parse_cores(self._read(self._kept))
        if not before:
            before = self.cores()
            self._transport.run(["mkdir", "-p", self._kept.rpartition("/")[0]])
            self._transport.run(["tee", self._kept], input=",".join(map(str, before)))
        if missing := sorted(set(wanted) - set(before)):
            raise DutError(f"the DUT has no core {missing[0]} in service, but {_listed(before)}: ask for fewer `cores`")
        # Wanted cores first, so that there is always one.
        for core in sorted(before, key=lambda core: core not in wanted):
            if (core in self.cores()) != (core in wanted):
                self._switch(core, "1" if core in wanted else "0")

    def give_back(self) -> None:
        """Restores the cores that were in service before the first `use`. No error when none was taken out."""
        before = parse_cores(self._read(self._kept))
        if before:
            self.use(before)
            self._transport.run(["rm", self._kept])

    def _switch(self, core: int, state: str) -> None:
        file = f"{self._sysfs}/cpu{core}/online"
        # `tee` would create a file where the kernel has none.
        if self._transport.run(["test", "-e", file], check=False).returncode != 0:
            raise DutError(f"the DUT's kernel cannot take core {core} out of service: {file} does not exist")
        self._transport.run(["tee", file], input=state)

    def _read(self, file: str) -> str:
        return self._transport.run(["cat", file], check=False).stdout


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
