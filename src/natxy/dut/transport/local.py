# SPDX-License-Identifier: Apache-2.0
"""The transports to a DUT on this machine, in its own network namespace or in natxy's."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from natxy.dut.transport.base import CompletedCommand, HeldSysctls, pinned, unending
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError
from natxy.system.ledger import Place, here, own_network
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.network_namespace import NAMED, Process, cookie_of, processes_in
from natxy.system.programs import end_session


class LocalTransport:
    """Runs commands on this machine in natxy's own network namespace; with `cores`, on these alone."""

    network: HeldSysctls

    def __init__(self, machine: MachineSysctls, cores: Sequence[int] = ()) -> None:
        self.machine = machine
        self.network = machine
        self._pinned = pinned(cores)

    def place(self) -> Place:
        return own_network()

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        return run_program(self.inside(argv), input=input, timeout_s=timeout_s, check=check)

    def inside(self, argv: Sequence[str]) -> list[str]:
        return [*self._pinned, *argv]

    def describe(self) -> str:
        return "this machine"


class NetnsTransport(LocalTransport):
    """Runs commands on this machine in the network namespace `namespace`; with `cores`, on these alone.

    `own`: natxy made the namespace, which the ledger has: what is set there ends with it.
    """

    def __init__(self, namespace: str, machine: MachineSysctls, cores: Sequence[int] = (), *, own: bool = True) -> None:
        super().__init__(machine, cores)
        self.namespace = namespace
        self._own = own
        self.network = OwnSysctls(self, (lambda: None) if own else self.place)

    def place(self) -> Place:
        return here(namespace=cookie_of(NAMED / self.namespace))

    def processes(self) -> list[Process]:
        return processes_in(NAMED / self.namespace) if self._own else []

    def inside(self, argv: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self.namespace, *super().inside(argv)]

    def describe(self) -> str:
        return f"network namespace {self.namespace} on this machine"


def run_program(
    argv: Sequence[str], *, input: str | None = None, timeout_s: float | None = 30, check: bool = True
) -> CompletedCommand:
    """Runs a program on this machine under the contract of `Transport.run`; without a timeout if that is None."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # Ctrl-C is for natxy alone, which then cleans up by programs that must not be interrupted.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise DutError(f"{argv[0]} is not installed; `natxy doctor` names the package") from error
    except PermissionError as error:
        raise DutError(f"this user is not allowed to run {argv[0]}; run natxy as root") from error
    with process:
        try:
            stdout, stderr = process.communicate(input, timeout_s)
        except subprocess.TimeoutExpired as error:
            ended = process.poll() is not None
            end_session(process.pid)
            raise DutError(unending(argv, error.timeout, ended=ended)) from error
        except BaseException:
            end_session(process.pid)
            raise
    completed = CompletedCommand(tuple(argv), process.returncode, stdout, stderr)
    if check:
        completed.check()
    return completed
