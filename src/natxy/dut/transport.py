# SPDX-License-Identifier: Apache-2.0
"""Where a DUT's commands run. A driver gives argument lists and doesn't know whether the DUT is near or far."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from natxy.dut.hotplug import HotPlug
from natxy.dut.machine import MachineSysctls
from natxy.dut.own_sysctls import OwnSysctls
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
class CoreSwitch(Protocol):
    """A transport to a machine of the DUT's own, whose cores can be taken out of service."""

    @property
    def hot_plug(self) -> HotPlug: ...


@runtime_checkable
class ProgramStarter(Protocol):
    """A transport to a DUT on this machine, where a program can be started that goes on running."""

    def inside(self, argv: Sequence[str]) -> list[str]:
        """What starts `argv` where the DUT's commands run."""
        ...


class LocalTransport:
    """Commands run on this machine, in the network namespace natxy itself is in, and on `cores` only if any are
    given."""

    def __init__(self, machine: MachineSysctls, cores: Sequence[int] = ()) -> None:
        self.machine = machine
        self.network = OwnSysctls(self)
        self._pinned = _pinned(cores)

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        return run_program(self.inside(argv), input=input, timeout_s=timeout_s, check=check)

    def inside(self, argv: Sequence[str]) -> list[str]:
        return [*self._pinned, *argv]

    def describe(self) -> str:
        return "this machine"


class NetnsTransport:
    """Commands run on this machine, inside the network namespace `namespace`, and on `cores` only if any are given."""

    def __init__(self, namespace: str, machine: MachineSysctls, cores: Sequence[int] = ()) -> None:
        self.namespace = namespace
        self.machine = machine
        self.network = OwnSysctls(self)
        self._pinned = _pinned(cores)

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        return run_program(self.inside(argv), input=input, timeout_s=timeout_s, check=check)

    def inside(self, argv: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self.namespace, *self._pinned, *argv]

    def describe(self) -> str:
        return f"network namespace {self.namespace} on this machine"


def _pinned(cores: Sequence[int]) -> list[str]:
    return ["taskset", "--cpu-list", ",".join(map(str, cores))] if cores else []


def run_program(
    argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
) -> CompletedCommand:
    """What `Transport.run` promises, for a program on this machine."""
    try:
        done = subprocess.run(
            argv,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            # Ctrl-C is for natxy, which then tidies up; it must not hit the programs that do the tidying.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise DutError(f"{argv[0]} is not installed; `natxy doctor` names the package") from error
    except PermissionError as error:
        raise DutError(f"{argv[0]} may not be run by this user; run natxy as root") from error
    except subprocess.TimeoutExpired as error:
        raise DutError(f"`{shlex.join(argv)}` was stopped after {timeout_s:g} s without an end") from error
    completed = CompletedCommand(tuple(argv), done.returncode, done.stdout, done.stderr)
    if check:
        completed.check()
    return completed
