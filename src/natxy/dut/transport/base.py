# SPDX-License-Identifier: Apache-2.0
"""The protocol of a transport: it runs argument lists on the DUT, wherever the DUT is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from natxy.errors import DutError


@dataclass(frozen=True)
class CompletedCommand:
    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    def check(self) -> None:
        """DutError when it failed."""
        if self.returncode != 0:
            said = (self.stderr or self.stdout).strip() or "nothing"
            raise DutError(f"`{shlex.join(self.argv)}` failed with exit code {self.returncode}; it said: {said}")


class HeldSysctls(Protocol):
    """Sysctls set to a value until released, when they have the one from before again."""

    def hold(self, name: str, value: str) -> None: ...

    def release(self, name: str) -> None: ...


class Transport(Protocol):
    @property
    def machine(self) -> HeldSysctls:
        """Those that exist once for the DUT's whole machine."""
        ...

    @property
    def network(self) -> HeldSysctls:
        """Those of the DUT's network namespace."""
        ...

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        """Runs one program to its end. DutError when it is missing, exceeds `timeout_s`, or, with `check`, fails."""
        ...

    def describe(self) -> str: ...


@runtime_checkable
class PowerSwitch(Protocol):
    """A transport that can switch the DUT's whole machine off and on; all that was set there is lost."""

    def restart(self) -> None: ...


@runtime_checkable
class ProgramStarter(Protocol):
    """A transport to a DUT on this machine, where a program can be started that goes on running."""

    def inside(self, argv: Sequence[str]) -> list[str]:
        """What starts `argv` where the DUT's commands run."""
        ...
