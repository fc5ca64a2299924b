# SPDX-License-Identifier: Apache-2.0
"""The connection tracking table of a simulated gateway, and what it does when it is full."""

from __future__ import annotations

from natxy.plan.gateways.limits import TablePolicy


class SimulatedTable:
    """Counts connections; which they are, follows from the order in which they came.

    `assured` of them have had a reply. `collapsed`: the gateway is out of order until it is restarted.
    """

    def __init__(self, capacity: int, policy: TablePolicy) -> None:
        self.connections = 0
        self.assured = 0
        self.collapsed = False
        self._capacity = capacity
        self._policy = policy

    def offer(self, new: int) -> tuple[int, int]:
        """Returns how many of the new connections' frames pass, and how many of these connections are kept in the
        end."""
        passed = new if self._spared < self._capacity else 0
        if self._policy in {TablePolicy.KEEP, TablePolicy.COLLAPSE}:
            passed = min(new, self._capacity - self.connections)
        kept = min(passed, self._capacity - self._spared)
        self.connections = min(self._capacity, self.connections + passed)
        # The least recently used are older than any of the new ones.
        self.assured = min(self.assured, self.connections - kept)
        if passed < new and self._policy == TablePolicy.COLLAPSE:
            self.collapsed = True
        return passed, kept

    def reply(self, connections: int) -> None:
        """So many connections have had one."""
        self.assured = max(self.assured, min(connections, self.connections))

    def clear(self) -> None:
        self.connections = self.assured = 0

    def restart(self) -> None:
        self.clear()
        self.collapsed = False

    @property
    def _spared(self) -> int:
        """Connections that no new one displaces."""
        if self._policy == TablePolicy.LRU:
            return 0
        return self.assured if self._policy == TablePolicy.EARLY_DROP else self.connections
