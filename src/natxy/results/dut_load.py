# SPDX-License-Identifier: Apache-2.0
"""The record of what the DUT spent during a trial: the time of its cores, its memory, and the frames that it dropped.

All counts are differences between a reading before the trial and one after it.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from natxy.untrusted.values import Real, Whole


class _Model(BaseModel):
    # A later natxy may have recorded more.
    model_config = ConfigDict(extra="ignore", frozen=True)


class CoreLoad(_Model):
    """Holds the time of one core, in seconds.

    `busy_s` is the time in which it was neither idle nor taken away by the machine's host (`steal_s`). Linux measures
    the idle time where the tick stops on an idle core, but only samples what a core did: interrupts that end between
    two ticks are in `busy_s` and in none of the others. All times are told in ticks, so that `busy_s` of an idle core
    may be below zero by one or two; sums over cores would be too high without them. `frames` is the number of frames
    that the kernel's receive path processed here, once more for each core that steered them on; `dropped` of them did
    not fit into the core's queue. `squeezed` counts how often the receive path had to stop with work left.
    """

    core: Whole
    busy_s: Real
    user_s: Real
    system_s: Real
    softirq_s: Real
    irq_s: Real
    steal_s: Real
    idle_s: Real
    frames: Whole | None = None
    dropped: Whole | None = None
    squeezed: Whole | None = None


class InterfaceLoad(_Model):
    """Holds the frames that the DUT's interface received and sent, and those lost there, by Linux's names of causes.

    Causes without a loss are left out.
    """

    name: str
    received: Whole
    sent: Whole
    lost: dict[str, Whole] = Field(default={})


class InstructionCount(_Model):
    """Holds how many instructions the gateway's cores executed in `elapsed_s` seconds.

    `cycles` of their clocks passed meanwhile, None if these are not counted. `modules` has the instructions by module
    of the kernel: `kernel` for what is in none, and `programs` for what is not the kernel's. `functions` has them by
    function of the kernel, those of all small ones together, and `programs`. Both are empty where only the sum is
    counted.
    """

    count: Whole
    elapsed_s: Real
    cycles: Whole | None = None
    modules: dict[str, Whole] = Field(default={})
    functions: dict[str, Whole] = Field(default={})

    def without_functions(self) -> InstructionCount:
        return self.model_copy(update={"functions": {}})


class DutLoad(_Model):
    """Holds what the DUT's cores and interfaces did in the `elapsed_s` seconds between the two readings.

    `cores` has the cores that are the gateway's. `instructions` is None where nothing counts them. Memory, temperature
    (of the hottest sensor) and clock frequency (the mean of the cores that tell it) are those of the whole machine
    after the trial; None where it does not tell them.
    """

    elapsed_s: Real
    cores: tuple[CoreLoad, ...]
    interfaces: tuple[InterfaceLoad, ...] = ()
    instructions: InstructionCount | None = None
    interrupts: Whole | None = None
    memory_used_bytes: Whole | None = None
    memory_bytes: Whole | None = None
    temperature_c: Real | None = None
    frequency_hz: Real | None = None

    @property
    def busy_s(self) -> float:
        """The time of all cores in which they were neither idle nor taken away; never below zero."""
        return max(0.0, sum(core.busy_s for core in self.cores))

    @property
    def dropped(self) -> int | None:
        """The frames that did not fit into the queue of a core; None if unknown."""
        known = [core.dropped for core in self.cores if core.dropped is not None]
        return sum(known) if known else None

    @property
    def interfaces_lost(self) -> int | None:
        """The frames that the interfaces lost in either direction; None if unknown."""
        return sum(sum(each.lost.values()) for each in self.interfaces) if self.interfaces else None
