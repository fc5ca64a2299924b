# SPDX-License-Identifier: Apache-2.0
"""VPP with its plugin `map`, which the user has built: the core of lw4o6 or MAP-E in user space."""

from __future__ import annotations

import time
from typing import ClassVar, Final

from natxy.addressing.map_rules import MapRule
from natxy.dut.drivers.vpp.commands import port_commands, rule_commands, table_commands
from natxy.dut.linux.relay import RelayGateway
from natxy.dut.linux.softwires import bindings
from natxy.errors import DutError, PlanError
from natxy.plan.gateways.vpp import VppConfig

_DOMAIN: Final = "map add domain "
_START_S: Final = 60.0
_ASK_S: Final = 0.2
_SHOWN_LINES: Final = 200
# "EA bits must be within the first 64 bits" (VPP's src/plugins/map/map.c).
_LONGEST_PREFIX: Final = 64


class VppGateway(RelayGateway[VppConfig]):
    """Runs VPP, which has its frames from the interfaces by sockets (AF_PACKET): the kernel forwards none meanwhile."""

    name = "vpp"
    summary = "VPP's plugin map in user space, of your own build: the core of lw4o6 and MAP-E; untried"
    position = 7
    remedy: ClassVar[str] = (
        "build it from https://github.com/FDio/vpp, or install FD.io's packages, and give its path as the gateway's "
        "`program`"
    )
    process: ClassVar[str] = "vpp_main"

    @classmethod
    def programs(cls, config: VppConfig) -> dict[str, str]:
        return super().programs(config) | {_vppctl_of(config): cls.remedy}

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = self._rule
        if rule and rule.ipv6.prefixlen + rule.ea_length > _LONGEST_PREFIX:
            raise PlanError(
                f"VPP takes a prefix and EA bits of {_LONGEST_PREFIX} bits together, and {rule.ipv6} and "
                f"{rule.ea_length} EA bits are longer; give a shorter `ipv6`"
            )

    def install(self) -> None:
        """Starts VPP. GatewayMissingError when the DUT does not have it."""
        self.background.check_installed()
        # A killed run may have left a VPP on a DUT that survives the run.
        self.uninstall()
        self.transport.run(["tee", self._commands_file], input="".join(f"{line}\n" for line in self._commands()))
        self.transport.run(["tee", self.conf_file], input=self._startup())
        self.background.start(["-c", self.conf_file])

    def uninstall(self) -> None:
        self.background.stop(self.conf_file, self._commands_file, self._cli_socket, self._stats_socket)

    def wait_ready(self) -> None:
        """Returns when VPP has the last of its domains, which come after its interfaces."""
        super().wait_ready()
        last = sum(line.startswith(_DOMAIN) for line in self._commands()) - 1
        deadline = time.monotonic() + _START_S
        while "ip4-pfx" not in self._vppctl("show", "map", "domain", "index", str(last)):
            self.check_alive()
            if time.monotonic() > deadline:
                raise DutError(
                    f"{self.config.program} did not take its {last + 1:,} domains within {_START_S:g} s; it printed: "
                    f"{self.background.last_words()}"
                )
            time.sleep(_ASK_S)

    def version(self) -> str:
        shown = self._vppctl("show", "version").splitlines()
        return f"{shown[0].strip() if shown else 'VPP'} ({self.config.program}), {self.kernel()}"

    def configuration(self) -> str:
        shown = self.transport.run(["head", "-n", str(_SHOWN_LINES), self._commands_file]).stdout.rstrip()
        return f"# {self._commands_file}, at most {_SHOWN_LINES} lines\n{shown}\n{super().configuration()}"

    @property
    def _rule(self) -> MapRule | None:
        several = self.softwire.subscribers
        return several if isinstance(several, MapRule) and several.ea_length else None

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

    def _commands(self) -> list[str]:
        left, right, core = self.interfaces.left, self.interfaces.right, self.softwire.own
        rule = self._rule
        return [
            *port_commands(left, self.mac(left), self.addresses.left),
            *port_commands(right, self.mac(right), self.addresses.right),
            *(
                rule_commands(rule, core)
                if rule
                else table_commands(bindings(self.softwire, self.config.port_set), core)
            ),
        ]

    def _vppctl(self, *command: str) -> str:
        """Returns what VPP prints on a command; vppctl exits with 0 even where VPP refuses one."""
        argv = [_vppctl_of(self.config), "-s", self._cli_socket, *command]
        return self.transport.run(argv, check=False).stdout


def _vppctl_of(config: VppConfig) -> str:
    """Returns the program that gives a running VPP commands, which is beside it."""
    folder, slash, _ = config.program.rpartition("/")
    return f"{folder}{slash}vppctl"
