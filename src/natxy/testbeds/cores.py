# SPDX-License-Identifier: Apache-2.0
"""Which core does whose work in a lab."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from natxy.errors import PlanError
from natxy.plan.testbeds.ports import SharedMachine


@dataclass(frozen=True)
class CoreAssignment:
    """`main`: the engine's own thread and natxy itself, which mostly sleep."""

    tester: tuple[int, ...]
    dut: tuple[int, ...]
    main: int

    @property
    def shared(self) -> bool:
        """Tester and DUT compete for a core, so an overloaded DUT slows the tester instead of losing frames."""
        return not set(self.tester).isdisjoint(self.dut)


def assign_cores(
    available: Iterable[int],
    tester: Sequence[int] | None = None,
    dut: Sequence[int] | None = None,
    *,
    dut_count: int = 1,
) -> CoreAssignment:
    """None = automatic: the first core that is free for the tester, the next `dut_count` ones for the DUT, as far as
    there are any. A further one, if there is any, takes `main`; otherwise the DUT's, because a tester that is disturbed
    spoils the measurement. A DUT elsewhere has no cores here.

    PlanError for a core that natxy may not use.
    """
    cores = sorted(available)
    for option, wanted in (("tester_cores", tester), ("dut_cores", dut)):
        missing = sorted(set(wanted or ()) - set(cores))
        if missing:
            raise PlanError(
                f"{option} names core {missing[0]}, but natxy may run on {named_cores(cores)} only: choose from these"
            )
    tester_cores = tuple(tester or _first_besides(cores, dut or ()))
    dut_cores = tuple(_first_besides(cores, tester_cores, dut_count) if dut is None else dut)
    main = _first_besides(cores, (*tester_cores, *dut_cores))[0]
    if main in tester_cores:
        main = _first_besides(dut_cores or cores, tester_cores)[0]
    return CoreAssignment(tester_cores, dut_cores, main)


def lab_cores(config: SharedMachine, dut_count: int = 1) -> CoreAssignment:
    """On this machine."""
    return assign_cores(os.sched_getaffinity(0), config.tester_cores, config.dut_cores, dut_count=dut_count)


def _first_besides(cores: Sequence[int], taken: Sequence[int], count: int = 1) -> list[int]:
    """Cores that are not taken; the first of all where none is left."""
    return [core for core in cores if core not in taken][:count] or list(cores[:1])


def named_cores(cores: Sequence[int]) -> str:
    """`core 0`, `cores 0, 1`."""
    return "core " + str(cores[0]) if len(cores) == 1 else "cores " + ", ".join(map(str, cores))
