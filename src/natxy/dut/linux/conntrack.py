# SPDX-License-Identifier: Apache-2.0
"""Linux's connection tracking table (netfilter conntrack), which every stateful gateway built on netfilter has."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cached_property
from ipaddress import ip_address
from typing import ClassVar

from natxy.dut.limits import check_lifetime, table_timeout_s
from natxy.dut.transport.base import Transport
from natxy.errors import DutError, PlanError
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.linux import USUAL_TCP_LIFETIMES_S
from natxy.plan.model.addresses import IPNetwork

_PREFIX = "net.netfilter.nf_conntrack_"
_MOST_OWN_ENTRIES = 1000
# The settings of lifetimes by their sysctls.
_LIFETIMES = {
    Protocol.UDP: {"udp_timeout": "udp_timeout_s", "udp_timeout_stream": "udp_stream_timeout_s"},
    Protocol.TCP: {f"tcp_timeout_{state}": f"tcp_timeouts_s.{state}" for state in USUAL_TCP_LIFETIMES_S},
}
COUNT_PATH = "/proc/sys/net/netfilter/nf_conntrack_count"


class ConntrackTable:
    """Sets the table's sizes and timeouts, counts its entries and empties it.

    `maximum` and `hash_size` are in entries and exist once for the whole machine. Timeouts are in seconds and belong to
    a network namespace. None leaves a setting unchanged. Those of TCP are pairs of a state, as the kernel names it, and
    its timeout.

    `networks` are those of the test traffic. A table counts as empty even if it holds a few connections of the DUT's
    own, such as the one that manages it.
    """

    most_flushes: ClassVar[int] = 15

    def __init__(
        self,
        transport: Transport,
        networks: Iterable[IPNetwork],
        *,
        maximum: int | None = None,
        hash_size: int | None = None,
        udp_timeout_s: int | None = None,
        udp_stream_timeout_s: int | None = None,
        tcp_timeouts_s: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._transport = transport
        self._networks = tuple(networks)
        self._sizes = {"buckets": hash_size, "max": maximum}
        self._timeouts = {
            "udp_timeout": udp_timeout_s,
            "udp_timeout_stream": udp_stream_timeout_s,
            **{f"tcp_timeout_{state}": timeout_s for state, timeout_s in tcp_timeouts_s},
        }

    def apply(self) -> None:
        """Sets the sizes and timeouts. DutError when the DUT's kernel refuses."""
        for name, size in self._sizes.items():
            if size is not None:
                self._transport.machine.hold(_PREFIX + name, str(size))
        for name, timeout_s in self._timeouts.items():
            if timeout_s is not None:
                self._transport.network.hold(_PREFIX + name, str(timeout_s))

    def remove(self) -> None:
        """Restores the sizes and timeouts from before `apply`, each of them whatever another one raises."""
        with ExitStack() as stack:
            for name in self._sizes:
                stack.callback(self._transport.machine.release, _PREFIX + name)
            for name in self._timeouts:
                stack.callback(self._transport.network.release, _PREFIX + name)

    def describe(self) -> dict[str, str]:
        """Returns the sizes and timeouts in force by the names of their sysctls."""
        return {_PREFIX + name: str(self._read(name)) for name in (*self._sizes, *self._timeouts)}

    def count(self) -> int:
        """Returns the number of entries, the DUT's own included."""
        return self._transport.run(["cat", COUNT_PATH]).number()

    def clear(self) -> None:
        """Flushes until no entry of the test traffic is left. DutError when `most_flushes` do not suffice."""
        timeout_s = self._longest_flush_s
        for _ in range(self.most_flushes):
            self._transport.run(["conntrack", "-F"], timeout_s=timeout_s)
            # A frame still in flight can create an entry after the flush: wait a while, then flush again.
            entries = self._wait_empty(time.monotonic() + 1.0, timeout_s)
            if entries == 0:
                return
        raise DutError(
            f"the connection tracking table still holds {entries} entries after {self.most_flushes} times "
            f"`conntrack -F` ({self._transport.describe()}); check that nothing else sends through the DUT"
        )

    def check(self, need: TableNeed) -> None:
        """Checks as `Gateway.check` does. Values that the plan does not set are read from the DUT."""
        self.check_size(need.connections)
        for name, option in _LIFETIMES[need.protocol].items():
            timeout_s = self._in_force(name, self._timeouts.get(name))
            check_lifetime(need, timeout_s, entries="connections", timeout=f"nf_conntrack_{name}", setting=option)

    def check_size(self, connections: int) -> None:
        """Checks the size alone, which exists once for the whole machine. PlanError when it is too small."""
        maximum = self._in_force("max", self._sizes["max"])
        if maximum < connections:
            raise PlanError(
                f"the connection tracking table holds at most {maximum} entries (nf_conntrack_max), but "
                f"the plan needs {connections} connections: set the gateway's conntrack_max to at least "
                f"{connections}, or reduce `connections`"
            )

    @cached_property
    def _longest_flush_s(self) -> float:
        # A flush visits empty buckets too. The sizes are read only by the first `clear`: each command costs every trial
        # some milliseconds. The clears that a tear-down rate compares come later, and so run the same commands.
        return table_timeout_s(self._read("max") + self._read("buckets"))

    def _wait_empty(self, deadline: float, timeout_s: float) -> int:
        while (entries := self._entries_of_test(timeout_s)) > 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        return entries

    def _entries_of_test(self, timeout_s: float) -> int:
        entries = self.count()
        # Listing many entries takes seconds, and so many are never the DUT's own.
        if not 0 < entries <= _MOST_OWN_ENTRIES:
            return entries
        listed = [
            self._transport.run(["conntrack", "-L", "-f", family], timeout_s=timeout_s).stdout
            for family in ("ipv4", "ipv6")
        ]
        return sum(map(self._is_of_test, "".join(listed).splitlines()))

    def _is_of_test(self, entry: str) -> bool:
        addresses = map(ip_address, re.findall(r"\b(?:src|dst)=(\S+)", entry))
        return any(address in network for address in addresses for network in self._networks)

    def _in_force(self, name: str, planned: int | None) -> int:
        return self._read(name) if planned is None else planned

    def _read(self, name: str) -> int:
        return self._transport.run(["sysctl", "-n", _PREFIX + name]).number()
