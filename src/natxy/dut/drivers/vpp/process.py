# SPDX-License-Identifier: Apache-2.0
"""A VPP of natxy's own, beside any other one on the DUT."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final, TypeVar

from natxy.dut.drivers.vpp.commands import neighbor_commands, port_commands
from natxy.dut.linux.relay import RelayGateway
from natxy.errors import DutError
from natxy.plan.gateways.vpp import VppModel

VppConfigT = TypeVar("VppConfigT", bound=VppModel)

_START_S: Final = 60.0
_ASK_S: Final = 0.2
_ANSWER_S: Final = 30.0
_COMMAND_S: Final = 0.01
_SHOWN_CHARACTERS: Final = 200
_SHOWN_LINES: Final = 200


class VppProcess(RelayGateway[VppConfigT]):
    """Runs VPP, which has its frames from the interfaces by sockets (AF_PACKET): the kernel forwards none meanwhile.

    A driver yields the commands of its plugin, and tells whether VPP has carried them out.
    """

    remedy: ClassVar[str] = (
        "build it from https://github.com/FDio/vpp, or install FD.io's packages, and give its path as the gateway's "
        "`program`"
    )
    process: ClassVar[str] = "vpp_main"
    feature: ClassVar[str] = ""
    """The command that makes the plugin take packets from an interface, without the interface; empty if routes do."""

    @classmethod
    def programs(cls, config: VppConfigT) -> dict[str, str]:
        return super().programs(config) | {_vppctl_of(config): cls.remedy}

    @abstractmethod
    def plugin_commands(self) -> Iterable[str]:
        """Yields the commands that come after those of the interfaces."""

    @abstractmethod
    def missing(self) -> str:
        """Returns what VPP lacks of the last of its commands, empty once it has carried all of them out."""

    def install(self) -> None:
        """Starts VPP. GatewayMissingError when the DUT does not have it."""
        self.background.check_installed()
        # A killed run may have left a VPP on a DUT that survives the run.
        self.uninstall()
        self.unbound = ()
        self.transport.run(["tee", self._commands_file], input="".join(f"{line}\n" for line in self._commands()))
        self.transport.run(["tee", self.conf_file], input=self._startup())
        self.background.start(["-c", self.conf_file])

    def uninstall(self) -> None:
        files = (self.conf_file, self._commands_file, self._changes_file, self._cli_socket, self._stats_socket)
        self.background.stop(*files)

    def wait_ready(self) -> None:
        """Returns when VPP has carried out the last of its commands."""
        super().wait_ready()
        deadline = time.monotonic() + _START_S
        while missing := self.missing():
            self.check_alive()
            if time.monotonic() > deadline:
                raise DutError(
                    f"{self.config.program} did not take its {missing} within {_START_S:g} s; it printed: "
                    f"{self.background.last_words()}"
                )
            time.sleep(_ASK_S)

    def version(self) -> str:
        shown = self.vppctl("show", "version").splitlines()
        return f"{shown[0].strip() if shown else 'VPP'} ({self.config.program}), {self.kernel()}"

    def configuration(self) -> str:
        shown = self.transport.run(["head", "-n", str(_SHOWN_LINES), self._commands_file]).stdout.rstrip()
        return f"# {self._commands_file}, at most {_SHOWN_LINES} lines\n{shown}\n{super().configuration()}"

    def vppctl(self, *command: str, timeout_s: float = _ANSWER_S) -> str:
        """Returns what VPP prints on a command; vppctl exits with 0 even where VPP refuses one."""
        argv = [_vppctl_of(self.config), "-s", self._cli_socket, *command]
        return self.transport.run(argv, check=False, timeout_s=timeout_s).stdout

    def carry_out(self, commands: Sequence[str]) -> None:
        """Gives a running VPP many commands that print nothing. DutError with what VPP prints."""
        self.transport.run(["tee", self._changes_file], input="".join(f"{line}\n" for line in commands))
        timeout_s = _ANSWER_S + _COMMAND_S * len(commands)
        if said := self.vppctl("exec", self._changes_file, timeout_s=timeout_s).strip():
            raise DutError(f"{self.config.program} refused a change: {said[:_SHOWN_CHARACTERS]}")

    @property
    def _changes_file(self) -> str:
        return f"{self.path}.changes"

    @property
    def _commands_file(self) -> str:
        return f"{self.path}.commands"

    @property
    def _cli_socket(self) -> str:
        return f"{self.path}.sock"

    @property
    def _stats_socket(self) -> str:
        return f"{self.path}.stats"

    def _startup(self) -> str:
        """Returns the startup configuration, of a VPP that others can run beside."""
        lines = [
            f"unix {{ nodaemon nosyslog cli-listen {self._cli_socket} exec {self._commands_file} }}",
            f"api-segment {{ prefix {self.path.rpartition('/')[2]} }}",
            f"statseg {{ socket-name {self._stats_socket} }}",
            "plugins { plugin dpdk_plugin.so { disable } }",
        ]
        return "".join(f"{line}\n" for line in lines)

    def _commands(self) -> Iterator[str]:
        links = ((self.interfaces.left, self.addresses.left), (self.interfaces.right, self.addresses.right))
        for interface, link in links:
            yield from port_commands(interface, self.mac(interface), link, self.feature)
            # A VPP that was started anew would drop the first frames to neighbours which it does not know.
            known = self.transport.run(["ip", "neigh", "show", "dev", interface], check=False).stdout
            yield from neighbor_commands(interface, link, known)
        yield from self.plugin_commands()


def _vppctl_of(config: VppModel) -> str:
    """Returns the program that gives a running VPP commands, which is beside it."""
    folder, slash, _ = config.program.rpartition("/")
    return f"{folder}{slash}vppctl"
