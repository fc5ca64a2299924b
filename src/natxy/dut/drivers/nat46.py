# SPDX-License-Identifier: Apache-2.0
"""One end of MAP-T by nat46, a kernel module that the user has built: an interface that translates what is routed to
it."""

from __future__ import annotations

from typing import ClassVar, Final

from natxy.dut.base import Capability
from natxy.dut.linux.map_ends import MapEndGateway
from natxy.errors import DutError, GatewayMissingError
from natxy.plan.gateways.nat46 import Nat46Config
from natxy.plan.model.terms import MapEnd

# Each network namespace has its own.
_CONTROL: Final = "/proc/net/nat46/control"


class Nat46Gateway(MapEndGateway[Nat46Config]):
    """Routes packets to nat46's interface, which translates between the addresses of its `local` and its `remote` side.

    The local side of a CE is the mapping rule, and that of a border relay is the default mapping rule: the local side
    has the sources of IPv4 packets, and the destinations of IPv6 packets.
    """

    name = "nat46"
    summary = "an end of MAP-T by the kernel module nat46, of your own build: a CE's translator, or a BR; untried"
    position = 9
    capabilities = frozenset({Capability.SET_CORES})
    interface: ClassVar[str] = "natxy-nat46"

    def install(self) -> None:
        """Makes the interface. GatewayMissingError when the DUT does not have the module."""
        # modprobe fails for a module that insmod has loaded from elsewhere.
        self.transport.run(["modprobe", "nat46"], check=False)
        if self.transport.run(["test", "-e", _CONTROL], check=False).returncode != 0:
            missing = f"the kernel module nat46 is not loaded ({self.transport.describe()})"
            raise GatewayMissingError(f"{missing}; {self.config.module_remedy}")
        # A killed run may have left its interface on a DUT that survives the run.
        self.uninstall()
        settings = self.settings()
        # A `config` takes the words of all lines after it, so that each command is written alone.
        self._write(f"add {self.interface}")
        self._write(" ".join(["config", self.interface, *(f"{name} {value}" for name, value in settings.items())]))
        self._check_taken(settings)
        self.transport.run(["ip", "link", "set", self.interface, "up", "mtu", str(self.addresses.mtu)])
        for network in self.domain.translated:
            self.transport.run(["ip", "route", "replace", str(network), "dev", self.interface])

    def uninstall(self) -> None:
        # The routes go with the interface. nat46 takes the name of an interface that is not there; without the module
        # there is nothing to delete.
        self._write(f"del {self.interface}", check=False)

    def version(self) -> str:
        source = self.transport.run(["cat", "/sys/module/nat46/srcversion"], check=False).stdout.strip()
        return f"nat46 (srcversion {source or 'unknown'}), {self.kernel()}"

    def configuration(self) -> str:
        return f"# {_CONTROL}\n{self._shown().rstrip()}\n{super().configuration()}"

    def settings(self) -> dict[str, str]:
        """Returns nat46's settings of the interface by their names."""
        rule = self.domain.rule
        mapping = {
            "v4": rule.ipv4,
            "v6": rule.ipv6,
            "style": "MAP",
            "ea-len": rule.ea_length,
            "psid-offset": rule.offset if rule.psid_length else 0,
        }
        default = {"v4": "0.0.0.0/0", "v6": self.domain.prefix, "style": "RFC6052", "ea-len": 0, "psid-offset": 0}
        local, remote = (mapping, default) if self.domain.end == MapEnd.EDGE else (default, mapping)
        sides = {"local": local, "remote": remote}
        return {f"{side}.{name}": str(value) for side, values in sides.items() for name, value in values.items()}

    def _write(self, command: str, *, check: bool = True) -> None:
        self.transport.run(["tee", _CONTROL], input=f"{command}\n", check=check)

    def _shown(self) -> str:
        return self.transport.run(["cat", _CONTROL]).stdout

    def _check_taken(self, settings: dict[str, str]) -> None:
        """Compares the settings with what nat46 shows of them: an error does not fail the write."""
        start = f"config {self.interface} "
        shown = next((line for line in self._shown().splitlines() if line.startswith(start)), start)
        words = shown.removeprefix(start).split()
        # Older versions cut the line off, perhaps within its last word.
        found = dict([*zip(words[::2], words[1::2], strict=False)][:-1])
        if "local.style" not in found or any(found.get(name, value) != value for name, value in settings.items()):
            raise DutError(
                f"nat46 has not taken its settings ({self.transport.describe()}); its reason is in the kernel's log "
                f"(`dmesg`). It shows: {shown.strip()}"
            )
