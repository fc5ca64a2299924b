# SPDX-License-Identifier: Apache-2.0
"""Which core does whose work in a lab."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from natxy.errors import PlanError


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
    available: Iterable[int], tester: Sequence[int] | None = None, dut: Sequence[int] | None = None
) -> CoreAssignment:
    """None = automatic: the first core that is free for the tester, the next for the DUT. A third one, if there is
    any, takes `main`; otherwise the DUT's, because a tester that is disturbed spoils the measurement. A DUT elsewhere
    has no cores here.

    PlanError for a core that natxy may not use.
    """
    cores = sorted(available)
    for option, wanted in (("tester_cores", tester), ("dut_cores", dut)):
        missing = sorted(set(wanted or ()) - set(cores))
        if missing:
            raise PlanError(
                f"{option} names core {missing[0]}, but natxy may run on {_listed(cores)} only: choose from these"
            )
    tester_cores = tuple(tester or _first_besides(cores, dut or ()))
    dut_cores = tuple(_first_besides(cores, tester_cores) if dut is None else dut)
    main = _first_besides(cores, (*tester_cores, *dut_cores))[0]
    if main in tester_cores:
        main = _first_besides(dut_cores or cores, tester_cores)[0]
    return CoreAssignment(tester_cores, dut_cores, main)


def cpu_mask(cores: Iterable[int]) -> str:
    """As the kernel writes masks: hexadecimal, in groups of 32 bits, for example `1,00000002` for cores 1 and 32."""
    mask = sum(1 << core for core in set(cores))
    groups: list[int] = []
    while mask or not groups:
        groups.append(mask & 0xFFFFFFFF)
        mask >>= 32
    return ",".join([f"{groups[-1]:x}", *(f"{group:08x}" for group in reversed(groups[:-1]))])


def _first_besides(cores: Sequence[int], taken: Sequence[int]) -> list[int]:
    """One core that is not taken; the first of all where none is left."""
    return [core for core in cores if core not in taken][:1] or list(cores[:1])


def _listed(cores: Sequence[int]) -> str:
    return "core " + str(cores[0]) if len(cores) == 1 else "cores " + ", ".join(map(str, cores))
