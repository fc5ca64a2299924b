# SPDX-License-Identifier: Apache-2.0
"""Gives back what Snabb changes of the interfaces that it has its frames from by AF_XDP.

Snabb sets an interface down, removes its addresses, switches ARP off, sets the MTU and the number of queues, and leaves
its XDP program and its BPF maps behind when it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from natxy.dut.transport.base import Transport
from natxy.errors import DutError

_COMBINED: Final = re.compile(r"^Combined:\s*(\d+)", re.MULTILINE)
_ADDRESS: Final = re.compile(r"\binet6? (\S+(?: peer \S+)?)")
# These return by themselves with the addresses, and with router advertisements.
_OF_KERNEL: Final = re.compile(r"\bproto (?:kernel|ra)\b")
_STATES: Final = re.compile(r"\s+(?:linkdown|dead)\b")
_CHANNELS: Final = "# channels"
_PINNED: Final = "/sys/fs/bpf/snabb"


@dataclass(frozen=True)
class KeptLinks:
    """Holds the commands that give the interfaces back in a file on the DUT, where they outlive a killed run."""

    transport: Transport
    interfaces: Sequence[str]
    file: str

    def keep(self) -> None:
        """Writes the file. DutError when an interface has no channels that Snabb could set."""
        lines = [line for interface in self.interfaces for line in self._commands(interface)]
        self.transport.run(["tee", self.file], input="".join(f"{line}\n" for line in lines))

    def give_back(self) -> None:
        """Carries out the commands in the file and removes it. No error when there is none."""
        lines = self.transport.run(["cat", self.file], check=False).stdout.splitlines()
        if not lines:
            return
        for interface in self.interfaces:
            self.transport.run(["rm", "-rf", f"{_PINNED}/{interface}"], check=False)
        for line in lines:
            if line.startswith(_CHANNELS):
                interface, count = line.removeprefix(_CHANNELS).split()
                self.transport.run(["ethtool", "--set-channels", interface, "combined", count], check=False)
        # The comments of the file are comments to `ip`, too.
        self.transport.run(["ip", "-force", "-batch", "-"], input="".join(f"{line}\n" for line in lines), check=False)
        self.transport.run(["rm", "-f", self.file])

    def _commands(self, interface: str) -> Iterator[str]:
        yield f"{_CHANNELS} {interface} {self._channels(interface)}"
        mtu = self.transport.run(["cat", f"/sys/class/net/{interface}/mtu"]).stdout.strip()
        yield f"link set dev {interface} xdp off"
        yield f"link set dev {interface} down"
        yield f"address flush dev {interface}"
        yield f"link set dev {interface} mtu {mtu} arp on"
        yield f"link set dev {interface} up"
        shown = self.transport.run(["ip", "-oneline", "address", "show", "dev", interface, "scope", "global"]).stdout
        yield from (f"address replace {address} dev {interface} nodad" for address in _ADDRESS.findall(shown))
        for family in ("-4", "-6"):
            routes = self.transport.run(["ip", family, "route", "show", "dev", interface]).stdout.splitlines()
            own = (_STATES.sub("", route).strip() for route in routes if not _OF_KERNEL.search(route))
            yield from (f"route replace {route} dev {interface}" for route in own)

    def _channels(self, interface: str) -> str:
        """Returns the number of combined channels in use. The output has the greatest number first."""
        shown = self.transport.run(["ethtool", "--show-channels", interface], check=False).stdout
        found = _COMBINED.findall(shown)
        if len(found) < 2:
            raise DutError(
                f"{interface} has no combined channels (`ethtool --show-channels {interface}`), and Snabb ends without "
                "them where it is to use AF_XDP; give the gateway `by: raw`"
            )
        return str(found[1])
