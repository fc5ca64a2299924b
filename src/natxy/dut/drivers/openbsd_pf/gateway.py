# SPDX-License-Identifier: Apache-2.0
"""Drives OpenBSD's packet filter over ssh: nat-to, af-to, a stateful filter, or plain forwarding with PF off."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import Final

from natxy.dut.base import Capability, DutDescription, Gateway
from natxy.dut.drivers.openbsd_pf.links import OpenbsdLinks
from natxy.dut.drivers.openbsd_pf.rules import pf_rules
from natxy.dut.limits import check_lifetime, table_timeout_s
from natxy.dut.transport.boot import has_booted_since
from natxy.errors import DutError, PlanError
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig, PfClear

_FORWARDING: Final = ("net.inet.ip.forwarding", "net.inet6.ip6.forwarding")
_UDP_TIMEOUTS: Final = ("udp.first", "udp.single", "udp.multiple")
_LINK_UP_S: Final = 10.0


class OpenbsdPfGateway(Gateway[OpenbsdPfConfig]):
    """Loads rules into PF. `remove` loads /etc/pf.conf again, which is taken for the configuration before."""

    name = "openbsd-pf"
    summary = (
        "OpenBSD PF over ssh: NAT44 by nat-to, NAT64 and NAT46 by af-to, a stateful filter, forwarding with PF off; "
        "untried on OpenBSD"
    )
    position = 8

    @classmethod
    def capabilities_of(cls, config: OpenbsdPfConfig) -> frozenset[Capability]:
        return frozenset({Capability.CLEAR, Capability.COUNT}) if config.enabled else frozenset()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rules = pf_rules(self.config, self.interfaces, self.addresses) if self.config.enabled else ""
        self._links = OpenbsdLinks(self.transport, self.interfaces, self.addresses, self.config.neighbors)
        self._links_set = False

    def set_links(self) -> None:
        self._links.apply()
        self._links_set = True

    def unset_links(self) -> None:
        self._links.remove()
        self._links_set = False

    def apply(self) -> None:
        with self.removed_on_error():
            self._configure()

    def remove(self) -> None:
        self._links.remove_neighbors()
        self.transport.run(["pfctl", "-f", "/etc/pf.conf"])
        # It fails when PF is already enabled.
        self.transport.run(["pfctl", "-e"], check=False)
        for name in _FORWARDING:
            self.transport.network.release(name)

    def wait_ready(self) -> None:
        deadline = time.monotonic() + _LINK_UP_S
        for interface in (self.interfaces.left, self.interfaces.right):
            while not self._is_ready(interface):
                if time.monotonic() > deadline:
                    raise DutError(
                        f"the DUT's interface {interface} is not active, or has a tentative address, after "
                        f"{_LINK_UP_S:g} s ({self.transport.describe()}); see `ifconfig {interface}` and the cabling"
                    )
                time.sleep(0.2)

    def describe(self) -> DutDescription:
        settings = {name: self._sysctl(name) for name in _FORWARDING}
        shown = [["ifconfig", interface] for interface in (self.interfaces.left, self.interfaces.right)]
        if self.config.enabled:
            settings |= {"states, hard limit": str(self._state_limit()), "table emptied by": self.config.clear.value}
            settings |= {name: f"{timeout_s} s" for name, timeout_s in self._udp_timeouts_s().items()}
            shown = [["pfctl", "-sr"], *shown]
        configuration = "\n".join(f"# {' '.join(argv)}\n{self.transport.run(argv).stdout.rstrip()}" for argv in shown)
        version = self.transport.run(["uname", "-sr"]).stdout.strip()
        return DutDescription(self.name, version, settings, configuration)

    def check(self, need: TableNeed) -> None:
        if not self.config.enabled:
            return
        limit = self._state_limit()
        if limit < need.connections:
            raise PlanError(
                f"PF holds at most {limit} states, but the plan needs {need.connections} connections: set the "
                f"gateway's states to at least {need.connections}, or reduce `connections`"
            )
        # natxy doesn't know PF's timeouts of TCP.
        udp_timeouts_s = self._udp_timeouts_s() if need.protocol == Protocol.UDP else {}
        for name, timeout_s in udp_timeouts_s.items():
            check_lifetime(need, timeout_s, entries="states", timeout=name, setting="udp_timeout_s")

    def clear(self) -> None:
        if self.config.clear == PfClear.REBOOT:
            self.restart()
        timeout_s = table_timeout_s(self.count())
        deadline = time.monotonic() + timeout_s
        self.transport.run(["pfctl", "-F", "states"], timeout_s=timeout_s)
        while entries := self.count():
            if time.monotonic() > deadline:
                raise DutError(f"PF still holds {entries} states {timeout_s:g} s after `pfctl -F states`")
            time.sleep(0.1)

    def count(self) -> int:
        return _number(r"current entries\s+(\d+)", self.transport.run(["pfctl", "-si"]).stdout, "pfctl -si")

    def _configure(self) -> None:
        for name in _FORWARDING:
            self.transport.network.hold(name, "1")
        self._links.add_neighbors()
        if not self.config.enabled:
            # It fails when PF is already disabled.
            self.transport.run(["pfctl", "-d"], check=False)
            return
        self.transport.run(["pfctl", "-f", "-"], input=self._rules)
        self.transport.run(["pfctl", "-e"], check=False)

    def restart(self) -> None:
        """Reboots the DUT (RFC 6201 §4.2.1), which also recovers one that can no longer empty its table.

        Returns when the DUT answers, forwards and has its rules again.
        """
        before = self._boot()
        # The connection may end before the command does.
        with suppress(DutError):
            self.transport.run(["shutdown", "-r", "now"], check=False)
        if not has_booted_since(before, self._boot, self.config.reboot_timeout):
            raise DutError(
                f"the DUT was rebooted and did not answer within {self.config.reboot_timeout:g} s "
                f"({self.transport.describe()})"
            )
        if self._links_set:
            self._links.apply()
        self._configure()
        self.wait_ready()

    def _is_ready(self, interface: str) -> bool:
        shown = self.transport.run(["ifconfig", interface]).stdout
        # An IPv6 address under duplicate address detection does not answer yet.
        return "status: active" in shown and " tentative" not in shown

    def _boot(self) -> str:
        return self._sysctl("kern.boottime")

    def _sysctl(self, name: str) -> str:
        return self.transport.run(["sysctl", "-n", name]).stdout.strip()

    def _state_limit(self) -> int:
        return _number(r"states\s+hard limit\s+(\d+)", self.transport.run(["pfctl", "-sm"]).stdout, "pfctl -sm")

    def _udp_timeouts_s(self) -> dict[str, int]:
        shown = self.transport.run(["pfctl", "-st"]).stdout
        return {name: _number(rf"{re.escape(name)}\s+(\d+)s", shown, "pfctl -st") for name in _UDP_TIMEOUTS}


def _number(pattern: str, text: str, command: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise DutError(f"`{command}` should show {pattern!r}; it showed: {text.strip() or 'nothing'}")
    return int(found[1])
