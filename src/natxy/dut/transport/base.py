# SPDX-License-Identifier: Apache-2.0
"""The interfaces of transports, which run commands on a DUT; implementations are beside this file."""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from natxy.errors import DutError
from natxy.system.ledger import Place
from natxy.system.network_namespace import Process

# The time-out of a change, and of its undoing. To resize a table of a billion entries is to move them all.
LONGEST_S: Final = 3600.0
# Characters of an output in an error that need not have the whole.
_QUOTED: Final = 100
_DIGITS: Final = re.compile(r"\d+(,\d+)*", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,3}(,\d{3}){1,5}|\d{1,18}", re.ASCII)


@dataclass(frozen=True)
class CompletedCommand:
    """Holds the result of a program that has ended.

    Output that is not UTF-8 has U+FFFD in place of each byte that does not fit.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    def check(self) -> None:
        """Raises DutError when the program failed."""
        if self.returncode != 0:
            output = (self.stderr or self.stdout).strip() or "nothing"
            remedy = "; make room on that disk" if os.strerror(errno.ENOSPC) in output else ""
            command = shlex.join(self.argv)
            raise DutError(f"`{command}` failed with exit code {self.returncode}; it printed: {output}{remedy}")

    def number(self) -> int:
        """Returns the first whole number in the output, which may be written as 10,000.

        Raises DutError when there is none of up to 18 digits, or when commas divide its digits in another way.
        """
        found = _DIGITS.search(self.stdout)
        if found is None or not _NUMBER.fullmatch(found[0]):
            output = self.stdout.strip()[:_QUOTED] or "nothing"
            raise DutError(f"`{shlex.join(self.argv)}` should print a number; it printed: {output}")
        return int(found[0].replace(",", ""))


def pinned(cores: Sequence[int]) -> list[str]:
    """Returns the beginning of a command that runs only on `cores`; empty without cores."""
    return ["taskset", "--cpu-list", ",".join(map(str, cores))] if cores else []


def unending(argv: Sequence[str], timeout_s: float, *, ended: bool) -> str:
    """Says that a program did not end in time; `ended`: it did, and what it started still has its output."""
    command = shlex.join(argv)
    if ended:
        return (
            f"`{command}` ended, but a program that it started still held its output after {timeout_s:g} s, and was "
            "stopped; redirect the output of a program that stays, such as by `> FILE 2>&1 &`"
        )
    return f"`{command}` did not end within {timeout_s:g} s and was stopped"


class HeldSysctls(Protocol):
    """Sets sysctls until they are released, which restores their original values."""

    def read(self, name: str) -> str: ...

    def hold(self, name: str, value: str) -> None: ...

    def release(self, name: str) -> None: ...


class Transport(Protocol):
    """Runs commands on a DUT."""

    @property
    def machine(self) -> HeldSysctls:
        """The sysctls that exist once for the DUT's whole machine."""

    @property
    def network(self) -> HeldSysctls:
        """The sysctls of the DUT's network namespace."""

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        """Runs a program to its end.

        DutError when it is missing, exceeds `timeout_s`, or, with `check`, fails.
        """

    def describe(self) -> str:
        """Returns the DUT's location as error messages name it."""


@runtime_checkable
class Lasting(Protocol):
    """A transport to a place that outlives natxy, even a killed one, so that changes there are recorded."""

    def place(self) -> Place:
        """Returns where that is, for the ledger."""


@runtime_checkable
class PowerSwitch(Protocol):
    """A transport that can switch the DUT's whole machine off and on, which loses everything that was set there."""

    @property
    def sets_own_links(self) -> bool:
        """True if the system has its addresses and routes by itself whenever it boots."""

    def restart(self) -> None: ...


@runtime_checkable
class ProgramStarter(Protocol):
    """A transport to a DUT on this machine, which can start a program that keeps running."""

    def inside(self, argv: Sequence[str]) -> list[str]:
        """Returns the command that starts `argv` where the DUT's commands run."""


@runtime_checkable
class ProcessLister(Protocol):
    """A transport to a DUT on this machine that can list the processes which run there by natxy's doing."""

    def processes(self) -> list[Process]:
        """Returns all processes of a network namespace that natxy made, and none of another place."""
