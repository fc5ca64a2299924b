# SPDX-License-Identifier: Apache-2.0
"""Transports to a DUT on this machine, in its own network namespace or in the one natxy runs in."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.own_sysctls import OwnSysctls
from natxy.errors import DutError
from natxy.system.machine_sysctls import MachineSysctls


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
