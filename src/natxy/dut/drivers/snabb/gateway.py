# SPDX-License-Identifier: Apache-2.0
"""Snabb's lwAFTR, which the user has built: the core of lw4o6 or MAP-E in user space."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Final

from natxy.addressing.subscriber_ranges import SubscriberRange, changed
from natxy.dut.drivers.snabb.configuration import Port, additions, configured, removals
from natxy.dut.drivers.snabb.kept_links import KeptLinks
from natxy.dut.linux.relay import RelayGateway
from natxy.dut.linux.softwires import bindings, bindings_of
from natxy.errors import PlanError
from natxy.plan.gateways.snabb import SnabbBy, SnabbConfig

# "Due to a combination of how Snabb uses packet buffers and a limitation of AF_XDP" (Snabb's src/apps/xdp/README.md).
_MOST_XDP_MTU: Final = 3582
# Snabb asks for the MAC address of a next hop every 3 s (its src/apps/ipv4/arp.lua), and drops frames until it has it.
_RESOLVED_S: Final = 4.0
_SHOWN_LINES: Final = 200
_MOST_ADDRESSES: Final = 1 << 20
# Snabb's src/program/config/README.md; it removes one softwire at a time.
_CONFIGURE: Final = """
while read -r verb path value; do
    "$1" config "$verb" "$2" "$path" ${value:+"$value"} < /dev/null || exit
done
"""
_ANSWER_S: Final = 30.0
_CONFIGURE_S: Final = 2.0


class SnabbGateway(RelayGateway[SnabbConfig]):
    """Runs `snabb lwaftr`, which has its frames from the interfaces themselves: the kernel forwards none meanwhile.

    Snabb answers for the DUT's addresses on the links, and sends all frames to the neighbour there.
    """

    name = "snabb"
    summary = "Snabb's lwAFTR in user space, of your own build: the core of lw4o6 and MAP-E; untried"
    position = 7
    remedy: ClassVar[str] = (
        "build it from https://github.com/snabbco/snabb (`make`) and give the path of src/snabb as the gateway's "
        "`program`"
    )

    @classmethod
    def programs(cls, config: SnabbConfig) -> dict[str, str]:
        ethtool = {"ethtool": "apt install ethtool"} if config.by == SnabbBy.XDP else {}
        return super().programs(config) | ethtool

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.config.by == SnabbBy.XDP and self.addresses.mtu > _MOST_XDP_MTU:
            raise PlanError(
                f"Snabb takes packets of at most {_MOST_XDP_MTU:,} bytes from AF_XDP, and the links' MTU is "
                f"{self.addresses.mtu:,}; give a smaller `frame_size`, or the gateway `by: raw`"
            )
        if (count := sum(network.num_addresses for network in self.softwire.carries)) > _MOST_ADDRESSES:
            raise PlanError(
                f"Snabb's table has a softwire for each of the left side's {count:,} addresses, and natxy writes at "
                f"most {_MOST_ADDRESSES:,}; give a longer prefix behind the left link"
            )

    def install(self) -> None:
        """Starts Snabb. GatewayMissingError when the DUT does not have it."""
        self.background.check_installed()
        # A killed run may have left a Snabb on a DUT that survives the run.
        self.uninstall()
        self.unbound = ()
        xdp = self.config.by == SnabbBy.XDP
        self.transport.run(["tee", self.conf_file], input=self._settings())
        if xdp:
            self._links.keep()
        arguments = ["lwaftr", "run", "--name", self._instance, "--conf", self.conf_file, *(["--xdp"] if xdp else [])]
        self.background.start(arguments)

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        withdrawn, added = changed(self.unbound, without)
        lines = [
            *(f"remove {path}" for path in removals(bindings_of(withdrawn))),
            *(f"add {path}" for path in additions(bindings_of(added), self.softwire.own)),
        ]
        self.change(without, lambda: self._configure(lines))

    def _configure(self, lines: Sequence[str]) -> None:
        """Lets `snabb config` change a running Snabb. DutError if it refuses one of the changes."""
        argv = ["sh", "-c", _CONFIGURE, "sh", self.config.program, self._instance]
        timeout_s = _ANSWER_S + _CONFIGURE_S * len(lines)
        self.transport.run(argv, input="".join(f"{line}\n" for line in lines), timeout_s=timeout_s)

    def uninstall(self) -> None:
        # Snabb keeps a compiled configuration beside the text.
        self.background.stop(self.conf_file, f"{self.path}.o")
        self._links.give_back()

    def wait_ready(self) -> None:
        super().wait_ready()
        time.sleep(_RESOLVED_S)
        self.check_alive()

    def version(self) -> str:
        shown = self.transport.run([self.config.program, "--version"], check=False).stdout.splitlines()
        return f"{shown[0] if shown else 'Snabb'} ({self.config.program}), {self.kernel()}"

    def configuration(self) -> str:
        shown = self.transport.run(["head", "-n", str(_SHOWN_LINES), self.conf_file]).stdout.rstrip()
        return f"# {self.conf_file}, at most {_SHOWN_LINES} lines\n{shown}\n{super().configuration()}"

    @property
    def _instance(self) -> str:
        """Returns the name by which other processes find this Snabb."""
        return self.path.rpartition("/")[2]

    @property
    def _links(self) -> KeptLinks:
        return KeptLinks(self.transport, self.interfaces.names, f"{self.path}.links")

    def _settings(self) -> str:
        left, right = self.interfaces.left, self.interfaces.right
        internal = Port(left, self.mac(left), self.addresses.left)
        external = Port(right, self.mac(right), self.addresses.right)
        every = bindings(self.softwire, self.config.port_set)
        return configured(internal, external, self.addresses.mtu, self.softwire.own, every)
