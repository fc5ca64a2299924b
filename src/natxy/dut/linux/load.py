# SPDX-License-Identifier: Apache-2.0
"""Measures what a Linux DUT spends on a trial, by a reading of its counters before the trial and one after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.counters import (
    LOST,
    NEAR,
    RECEIVED,
    SENT,
    Counters,
    ReceiveCounters,
    parse_counters,
    reading_command,
)
from natxy.dut.transport.base import Transport
from natxy.errors import DutError
from natxy.plan.model.units import counted, format_duration
from natxy.results.dut_load import CoreLoad, DutLoad, InstructionCount, InterfaceLoad

_TIMEOUT_S: Final = 2.0
_READINGS_FOR_COST: Final = 5
_WRAP: Final = 1 << 32
_STAT: Final = "/proc/stat:"


@dataclass(frozen=True)
class ReadingCost:
    """Holds what a reading takes on average, in seconds. `busy_s` is the time of the DUT's cores, None if it is not
    part of what is measured. `commands`: how many commands a reading has."""

    took_s: float
    busy_s: float | None
    commands: int = 1

    def text(self) -> str:
        many = f"{counted(self.commands, 'command')} before and {self.commands} after"
        took = f"{many} each trial, {format_duration(self.took_s)} each time"
        if self.busy_s is None:
            return f"{took}, outside of the time that is counted"
        return f"{took}, of which the DUT's cores worked {format_duration(self.busy_s)}; that is in the time counted"


class LoadWatch:
    """Reads the counters of a DUT's `cores`, all of them if none are given.

    `read_here` returns what the files `here` have, if the DUT's cores are this machine's: they are then read next to
    the trial, so that the command for the others does not count. `calm_s` is how long the DUT goes on
    with that command after it has ended. A DUT that does not answer, or is not Linux, has no load.
    """

    def __init__(
        self,
        transport: Transport,
        interfaces: DutInterfaces,
        cores: Collection[int] = (),
        read_here: Callable[[], str] | None = None,
        here: Collection[str] = NEAR,
        calm_s: float = 0.0,
    ) -> None:
        self._transport = transport
        self._cores = frozenset(cores)
        self._read_here = read_here
        self._calm_s = calm_s
        self._command = reading_command(interfaces, without=here if read_here else ())
        self._before = Counters()
        self._load: DutLoad | None = None
        self._text = ""

    def begin(self) -> None:
        far = self._read_far()
        time.sleep(self._calm_s)
        self._before = parse_counters(f"{far}\n{self._read_near()}")
        self._load = None

    def end(self) -> None:
        near = self._read_near()
        self._load = spent(self._before, parse_counters(f"{near}\n{self._read_far()}"), self._cores)

    def load(self) -> DutLoad | None:
        """Returns what the DUT spent between `begin` and `end`; None if that is unknown, as after a reboot."""
        return self._load

    def cost(self) -> ReadingCost | None:
        """Measures what a reading costs, by some without a trial between them; None for a DUT without a load."""
        started = time.monotonic()
        self.begin()
        for _ in range(_READINGS_FOR_COST):
            self.end()
        took_s = (time.monotonic() - started) / (1 + _READINGS_FOR_COST)
        if self._load is None:
            return None
        return ReadingCost(took_s, None if self._read_here else self._load.busy_s / _READINGS_FOR_COST)

    def stat(self) -> str:
        """Returns the text of /proc/stat in the latest reading by the command; empty without one."""
        lines = self._text.splitlines()
        return "\n".join(line.removeprefix(_STAT) for line in lines if line.startswith(_STAT))

    def _read_near(self) -> str:
        return self._read_here() if self._read_here else ""

    def _read_far(self) -> str:
        self._text = ""
        with suppress(DutError):
            self._text = self._transport.run(self._command, timeout_s=_TIMEOUT_S, check=False).stdout
        return self._text


class InstructionCounter(Protocol):
    """Counts the instructions of the gateway's cores."""

    def begin(self) -> None: ...

    def end(self) -> None: ...

    def spent(self) -> InstructionCount | None:
        """Returns what was executed between `begin` and `end`; None if that is unknown."""
        ...


class LoadWatches:
    """Reads the counters of one gateway or several on a machine: the interfaces of all, and once what they share.

    `instructions` counts those of the machine, where something does.
    """

    def __init__(self, watches: Sequence[LoadWatch], instructions: InstructionCounter | None = None) -> None:
        self._watches = tuple(watches)
        self._instructions = instructions

    def begin(self) -> None:
        # What is shared is read last, and first at the end, next to the trial.
        for each in reversed(self._watches):
            each.begin()
        if self._instructions:
            self._instructions.begin()

    def end(self) -> None:
        if self._instructions:
            self._instructions.end()
        for each in self._watches:
            each.end()

    def load(self) -> DutLoad | None:
        """Returns what the machine spent, with the interfaces in the order of the gateways, or with none if those of a
        gateway are unknown; None if it is unknown."""
        loads = [each.load() for each in self._watches]
        first, known = loads[0], [load for load in loads if load]
        if first is None:
            return None
        complete = len(known) == len(loads)
        interfaces = tuple(interface for load in known for interface in load.interfaces) if complete else ()
        executed = self._instructions.spent() if self._instructions else None
        return first.model_copy(update={"interfaces": interfaces, "instructions": executed})

    def cost(self) -> ReadingCost | None:
        """Measures what a reading of all gateways costs; None for a DUT without a load."""
        costs = [cost for each in self._watches if (cost := each.cost())]
        if not costs:
            return None
        busy = [cost.busy_s for cost in costs if cost.busy_s is not None]
        return ReadingCost(sum(cost.took_s for cost in costs), sum(busy) if busy else None, len(costs))


class MachineLoadWatches(LoadWatches):
    """Reads the counters of gateways that each have a machine of their own."""

    def load(self) -> DutLoad | None:
        """Returns what all machines spent, as one machine; None if that of one is unknown.

        The cores of a machine are numbered on from those of the machine before it, and interfaces are named with the
        number of their gateway. Memory, interrupts, temperature and clock frequency are those of the first machine.
        """
        if len(self._watches) == 1:
            return super().load()
        loads = [each.load() for each in self._watches]
        known = [load for load in loads if load]
        whole = super().load()
        if whole is None or len(known) < len(loads):
            return None
        cores: list[CoreLoad] = []
        for load in known:
            first = 1 + max((core.core for core in cores), default=-1)
            cores += (core.model_copy(update={"core": first + core.core}) for core in load.cores)
        interfaces = tuple(
            interface.model_copy(update={"name": f"{interface.name} of gateway {number}"})
            for number, load in enumerate(known, 1)
            for interface in load.interfaces
        )
        return whole.model_copy(update={"cores": tuple(cores), "interfaces": interfaces})


def spent(before: Counters, after: Counters, cores: Collection[int] = ()) -> DutLoad | None:
    """Returns what happened between two readings; None when the time of no core is known, or ran backwards."""
    if before.uptime_s is None or after.uptime_s is None:
        return None
    elapsed_s = round(after.uptime_s - before.uptime_s, 6)
    if elapsed_s <= 0:
        return None
    known = sorted(before.cores.keys() & after.cores.keys() & (set(cores) or after.cores.keys()))
    loads = [_core(core, before.cores[core], after.cores[core], elapsed_s) for core in known]
    if not loads:
        return None
    used = None
    if after.memory_bytes is not None and after.available_bytes is not None:
        used = max(0, after.memory_bytes - after.available_bytes)
    return DutLoad(
        elapsed_s=elapsed_s,
        cores=tuple(_with_receive(load, before.receive, after.receive) for load in loads),
        interfaces=_interfaces(before, after),
        interrupts=_difference(before.interrupts, after.interrupts),
        memory_used_bytes=used,
        memory_bytes=after.memory_bytes,
        temperature_c=after.temperature_c,
        frequency_hz=after.frequency_hz,
    )


def _core(core: int, before: Mapping[str, float], after: Mapping[str, float], elapsed_s: float) -> CoreLoad:
    # Linux lets the idle time of a core run backwards by a tick.
    seconds = {name: round(max(0.0, after[name] - before[name]), 6) for name in after}
    idle_s = seconds["idle"] + seconds["iowait"]
    return CoreLoad(
        core=core,
        # Zero for what is below it would make a sum over idle cores too high.
        busy_s=round(elapsed_s - idle_s - seconds["steal"], 6),
        user_s=round(seconds["user"] + seconds["nice"], 6),
        system_s=seconds["system"],
        softirq_s=seconds["softirq"],
        irq_s=seconds["irq"],
        steal_s=seconds["steal"],
        idle_s=round(idle_s, 6),
    )


def _with_receive(
    load: CoreLoad, before: Mapping[int, ReceiveCounters], after: Mapping[int, ReceiveCounters]
) -> CoreLoad:
    old, new = before.get(load.core), after.get(load.core)
    if old is None or new is None:
        return load
    return load.model_copy(
        update={
            "frames": (new.frames - old.frames) % _WRAP,
            "dropped": (new.dropped - old.dropped) % _WRAP,
            "squeezed": (new.squeezed - old.squeezed) % _WRAP,
        }
    )


def _interfaces(before: Counters, after: Counters) -> tuple[InterfaceLoad, ...]:
    loads = []
    for name, new in after.interfaces.items():
        old = before.interfaces.get(name, {})
        counts = {each: count for each in new if (count := _difference(old.get(each), new[each])) is not None}
        if RECEIVED in counts and SENT in counts:
            lost = {each: counts[each] for each in LOST if counts.get(each)}
            loads.append(InterfaceLoad(name=name, received=counts[RECEIVED], sent=counts[SENT], lost=lost))
    return tuple(loads)


def _difference(before: int | None, after: int | None) -> int | None:
    """Returns how far a counter went; None when it is unknown, or was reset."""
    return after - before if before is not None and after is not None and after >= before else None
