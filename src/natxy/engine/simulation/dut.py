# SPDX-License-Identifier: Apache-2.0
"""The simulated gateway: its limits in virtual time, and its connection tracking table."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.engine.messages.requests import StreamSpec
from natxy.engine.simulation.bindings import SimulatedBindings
from natxy.engine.simulation.expiry import Made
from natxy.engine.simulation.losses import NOTHING, Carried, Outage, carried, end_s
from natxy.engine.simulation.stalls import drawn_stalls, lossy_part
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.gateways.simulated import AfterRestart, SimulatedConfig


class SimulatedTable:
    """Counts connections; their order of arrival says which ones they are.

    `assured` of them have had a reply. `clears` counts how often all were deleted. `collapsed` means that
    the gateway is out of order until it is restarted.
    """

    def __init__(self, capacity: int, policy: TablePolicy) -> None:
        self.connections = 0
        self.assured = 0
        self.collapsed = False
        self.made: list[Made] = []
        self.clears = 0
        self._capacity = capacity
        self._policy = policy

    def offer(self, new: int) -> tuple[int, int]:
        """Returns how many frames of the new connections pass, and how many of these connections are kept."""
        passed = new if self._spared < self._capacity else 0
        if self._policy in {TablePolicy.KEEP, TablePolicy.COLLAPSE}:
            passed = min(new, self._capacity - self.connections)
        kept = min(passed, self._capacity - self._spared)
        self.connections = min(self._capacity, self.connections + passed)
        # The least recently used connections are older than all new ones.
        self.assured = min(self.assured, self.connections - kept)
        if passed < new and self._policy == TablePolicy.COLLAPSE:
            self.collapsed = True
        return passed, kept

    def reply(self, connections: int) -> None:
        """Records that so many connections have had a reply."""
        self.assured = max(self.assured, min(connections, self.connections))

    def clear(self) -> None:
        """Deletes all connections."""
        self.connections = self.assured = 0
        self.clears += 1
        self.made.clear()

    def restart(self) -> None:
        """Deletes all connections and ends a collapse."""
        self.clear()
        self.collapsed = False

    @property
    def _spared(self) -> int:
        """The number of connections that no new one replaces."""
        if self._policy == TablePolicy.LRU:
            return 0
        return self.assured if self._policy == TablePolicy.EARLY_DROP else self.connections


class SimulatedDut:
    """Models a gateway with the limits of `config`, which vary uniformly from trial to trial by the ratio `noise`."""

    def __init__(self, config: SimulatedConfig, noise: float = 0.0, seed: int = 0) -> None:
        self.config = config
        self.cores = 1
        self.table = SimulatedTable(config.table_capacity, config.table_policy)
        self._noise = noise
        self._seed = seed
        self._random = random.Random(seed)
        self.trial_time_s = 0.0
        self.now_s = 0.0
        """The time of the engine's clock, at which a trial begins."""
        self.stalls: list[Outage] = []
        self.outages: list[Outage] = []
        self.forgotten_from_s = math.inf
        self.bindings = SimulatedBindings()
        self.elapsed_s = 0.0
        """The time that the gateway has worked."""
        self.instructions = 0.0
        """The number of instructions that it has executed in that time."""

    def begin_trial(self, seed: int, streams: Sequence[StreamSpec]) -> None:
        """Starts a trial, whose noise and stalls depend on its own seed and not on earlier trials."""
        self._random = random.Random(f"{self._seed}/{seed}")
        self.trial_time_s = 0.0
        self.stalls = drawn_stalls(self.config.stalls, max(map(end_s, streams)), f"{self._seed}/{seed}/stalls")
        self.outages = [lossy_part(stall, streams, self.config.buffer_frames) for stall in self.stalls]
        self.forgotten_from_s = math.inf
        self.bindings.begin_trial()

    @property
    def stalled_s(self) -> float | None:
        """The time for which the gateway stood still in the present trial; None when its stalls are not watched."""
        if self.config.stalls and not self.config.stalls.watched:
            return None
        return sum(stall.end_s - stall.start_s for stall in self.stalls)

    def forwarded(self, rate_fps: float, flows: int = 1) -> float:
        """Returns the share of frames forwarded at `rate_fps`, both directions together."""
        return 0.0 if self.table.collapsed else min(1.0, self.most_forwarded(flows) / rate_fps)

    def most_forwarded(self, flows: int) -> float:
        """Returns the most frames forwarded per second, both directions together."""
        return self._all_cores(self.config.forwarding_fps / (1 + self.config.flow_cost * (flows - 1)))

    def carry(self, streams: Sequence[StreamSpec], flows: int) -> Carried:
        """Returns what passes of streams that begin together. An overload is followed by an outage."""
        share = self.forwarded(sum(stream.rate_fps for stream in streams), flows)
        if share < 1 and self.config.recovery_time:
            over_s = max(map(end_s, streams))
            self.outages.append(Outage(over_s, over_s + self.config.recovery_time))
        return carried(streams, share, self.config.buffer_frames) if share else NOTHING

    def connect(self, connections: int, rate_fps: float, destinations: int = 1) -> tuple[int, int]:
        """Offers new connections to so many destinations, each of which can have all ports. Returns how many of their
        frames pass, and how many connections are kept."""
        limit_fps = self.config.connection_rate_fps / (1 + self.config.connection_cost * (connections - 1))
        share = min(1.0, self._all_cores(limit_fps) / rate_fps) * self.forwarded(rate_fps)
        known = min(connections, self.table.connections) if self.config.ignores_clear else 0
        offered = int((connections - known) * share)
        if (ports := self.config.ports_in_use) is not None:
            offered = min(offered, destinations * len(ports))
        passed, kept = self.table.offer(offered)
        self.table.made.append(Made(self.now_s, rate_fps, kept))
        return known + passed, known + kept

    def work(self, elapsed_s: float, frames: int, connections: int) -> None:
        """Executes what so many forwarded frames and new connections in a time cost."""
        config = self.config
        self.elapsed_s += elapsed_s
        self.instructions += config.idle_instructions * elapsed_s
        self.instructions += (config.frame_instructions or 0) * frames + config.connection_instructions * connections

    def clear(self) -> None:
        """Empties the table, or only says so."""
        if not self.config.ignores_clear:
            self.table.clear()

    def count(self) -> int:
        """Returns the number of connections that have not expired."""
        lifetime_s = self.config.lifetime
        if lifetime_s is None:
            return self.table.connections
        return self.table.connections - sum(made.before(self.now_s - lifetime_s) for made in self.table.made)

    def validated(self, rate_fps: float) -> float:
        """Returns the share of a validation's replies that are forwarded at `rate_fps`."""
        limit_fps = self.config.validation_fps
        most = 1.0 if limit_fps is None else min(1.0, self._all_cores(limit_fps) / rate_fps)
        return min(most, self.forwarded(rate_fps))

    def restart(self) -> None:
        """Restarts the gateway at the present time of the running trial."""
        self.table.restart()
        back_s = self.trial_time_s + self.config.restart_time
        self.outages.append(Outage(self.trial_time_s, back_s))
        if self.config.after_restart != AfterRestart.FORWARD:
            self.forgotten_from_s = back_s

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        """Changes the bindings of subscribers at the present time of the running trial, which this takes some of."""
        config = self.config
        self.bindings.change(without, self.trial_time_s, config.binding_delay, config.binding_outage)
        self.trial_time_s += config.binding_time

    def _all_cores(self, limit_fps: float) -> float:
        return self._noisy(limit_fps * (1 + self.config.core_efficiency * (self.cores - 1)))

    def _noisy(self, limit_fps: float) -> float:
        return limit_fps * (1 + self._noise * self._random.uniform(-1, 1)) if self._noise else limit_fps
