# SPDX-License-Identifier: Apache-2.0
"""The base class of DNS64 servers: one process on the DUT, which the tester's left port asks, and which asks the right
port as the authority for `natxy.test`."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Final, TypeVar

from natxy.dut.base import Capability
from natxy.dut.linux.background import BackgroundProgram
from natxy.dut.linux.gateway import FORWARDING, LinuxGateway
from natxy.dut.linux.tun import run_path
from natxy.errors import DutError, GatewayDiedError
from natxy.plan.gateways.dns64 import Dns64Model

DOMAIN: Final = "natxy.test"
_READY_S: Final = 20.0
_LOOK_S: Final = 0.1

Dns64ConfigT = TypeVar("Dns64ConfigT", bound=Dns64Model)


class Dns64Gateway(LinuxGateway[Dns64ConfigT]):
    """Runs one server, which the kernel forwards no frames around. A driver writes its configuration."""

    capabilities = frozenset({Capability.CLEAR, Capability.SET_CORES})
    program: ClassVar[str]
    """The server's program on the DUT."""
    package: ClassVar[str]
    """The package of Debian that has it."""
    version_option: ClassVar[str] = "--version"

    @classmethod
    def programs(cls, config: Dns64ConfigT) -> dict[str, str]:
        needed = {cls.program: cls._remedy(), "ss": "apt install iproute2", "taskset": "apt install util-linux"}
        return super().programs(config) | needed

    @classmethod
    def _remedy(cls) -> str:
        return f"apt install {cls.package}"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._sysctls = dict.fromkeys(FORWARDING, "0")
        self._server_cores: Sequence[int] = ()

    @abstractmethod
    def settings(self) -> str:
        """Returns the server's configuration."""

    @abstractmethod
    def arguments(self) -> list[str]:
        """Returns the arguments with which the program stays in the foreground."""

    @cached_property
    def path(self) -> str:
        """Returns the start of the names of the server's files, and the name of its folder."""
        return run_path(self.transport, self.name)

    @property
    def conf_file(self) -> str:
        return f"{self.path}/server.conf"

    @property
    def listens_at(self) -> str:
        """The address that the tester asks."""
        return str(self.addresses.left.dut.ip)

    @property
    def authority(self) -> str:
        """The tester's address, which the server asks."""
        return str(self.addresses.right.tester.ip)

    @property
    def threads(self) -> int:
        return self.config.threads or len(self._server_cores) or 1

    def install(self) -> None:
        """Starts the server. GatewayMissingError when the DUT does not have it."""
        self._background.check_installed()
        # A killed run may have left a server on a DUT that survives the run.
        self.uninstall()
        self.transport.run(["mkdir", "-p", self.path])
        self.transport.run(["tee", self.conf_file], input=self.settings())
        self._background.start(self.arguments())

    def uninstall(self) -> None:
        self._background.stop()
        self.transport.run(["rm", "-rf", self.path])

    def wait_ready(self) -> None:
        """Waits until the server listens. DutError with its last words if it does not."""
        super().wait_ready()
        deadline = time.monotonic() + _READY_S
        while not self._listens():
            if time.monotonic() > deadline:
                raise DutError(
                    f"{self.program} does not listen at {self.listens_at}, port 53, after {_READY_S:g} s; it printed: "
                    f"{self._background.last_words()}"
                )
            time.sleep(_LOOK_S)
        if self._server_cores:
            self._pin()

    def clear(self) -> None:
        """Starts the server anew, so that it has no name in its cache and does not take the authority for dead."""
        self.install()
        self.wait_ready()

    def set_cores(self, cores: Sequence[int]) -> None:
        """Starts the server anew with a thread for each core, unless the plan has a number, and on these cores."""
        super().set_cores(cores)
        self._server_cores = cores
        self.clear()

    def check_alive(self) -> None:
        """Looks for the process. One that has ended runs no program, even while the kernel still knows its name."""
        pid = self._pid()
        runs = self.transport.run(["readlink", f"/proc/{pid}/exe"], check=False).stdout.strip() if pid else ""
        if runs.rpartition("/")[2] != self.program:
            raise GatewayDiedError(
                f"its process {self.program} (pid {pid or 'unknown'}) ended; it printed: "
                f"{self._background.last_words()}"
            )

    def version(self) -> str:
        done = self.transport.run([self.program, self.version_option], check=False)
        shown = (done.stdout or done.stderr).strip().splitlines()
        return f"{shown[0] if shown else self.program}, {self.kernel()}"

    def configuration(self) -> str:
        return f"# {self.conf_file}\n{self.settings().rstrip()}\n{super().configuration()}"

    @property
    def _background(self) -> BackgroundProgram:
        return BackgroundProgram(self.transport, self.program, self._remedy(), self.path)

    def _pid(self) -> str:
        return self.transport.run(["cat", self._background.pid_file], check=False).stdout.strip()

    def _pin(self) -> None:
        cores = ",".join(map(str, self._server_cores))
        self.transport.run(["taskset", "--all-tasks", "--cpu-list", "--pid", cores, self._pid()])

    def _listens(self) -> bool:
        self.check_alive()
        return bool(self.transport.run(["ss", "-Hlun", "sport = :53"]).stdout.strip())
