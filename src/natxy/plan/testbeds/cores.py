# SPDX-License-Identifier: Apache-2.0
"""Assigns the cores of a machine to the engine's workers, the gateway and the rest of natxy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from natxy.errors import PlanError
from natxy.plan.testbeds.tester_cores import CoresOfTasks, distinct


@dataclass(frozen=True)
class CoreAssignment:
    """The cores of each program. `main` is that of the engine's control thread and natxy itself, which mostly sleep.

    `tasks`: which of the tester's cores send and receive on which port; None leaves that to the engine.
    """

    tester: tuple[int, ...]
    dut: tuple[int, ...]
    main: int
    tasks: CoresOfTasks | None = None

    @property
    def shared(self) -> bool:
        """True if tester and DUT compete for a core; an overloaded DUT then slows the tester and drops nothing."""
        return not set(self.tester).isdisjoint(self.dut)

    def description(self) -> dict[str, str]:
        """Returns the tester's cores for the report."""
        own = named_cores(self.tester)
        return {
            "tester cores": f"{own}: {self.tasks}" if self.tasks else own,
            "control core": named_cores([self.main]),
        }


def assign_cores(
    available: Iterable[int],
    tester: Sequence[int] | CoresOfTasks | None = None,
    dut: Sequence[int] | None = None,
    *,
    dut_count: int = 1,
) -> CoreAssignment:
    """Assigns `available` cores; `tester` and `dut` name cores, None leaves the choice to this function.

    It gives the tester the first core that is free and the DUT the next `dut_count` ones, as far as there are any. A
    further core, if there is one, becomes `main`; otherwise `main` is the DUT's, because a disturbed tester spoils the
    measurement. An empty `dut` is a DUT on another machine. Raises PlanError for a core that natxy may not use.
    """
    cores = sorted(available)
    named = distinct(tester) if tester else ()
    for option, wanted in (("tester_cores", named), ("dut_cores", dut or ())):
        missing = sorted(set(wanted) - set(cores))
        if missing:
            raise PlanError(
                f"{option} names core {missing[0]}, but natxy may run on {named_cores(cores)} only: choose from these"
            )
    tester_cores = named or tuple(_first_besides(cores, dut or ()))
    dut_cores = tuple(_first_besides(cores, tester_cores, dut_count) if dut is None else dut)
    main = _first_besides(cores, (*tester_cores, *dut_cores))[0]
    if main in tester_cores:
        main = _first_besides(dut_cores or cores, tester_cores)[0]
    return CoreAssignment(tester_cores, dut_cores, main, tester if isinstance(tester, CoresOfTasks) else None)


def _first_besides(cores: Sequence[int], taken: Sequence[int], count: int = 1) -> list[int]:
    """Returns the first `count` cores that are not taken, or the first of all cores when every core is taken."""
    return [core for core in cores if core not in taken][:count] or list(cores[:1])


def named_cores(cores: Sequence[int]) -> str:
    """Returns `core 0` or `cores 0, 1`."""
    return "core " + str(cores[0]) if len(cores) == 1 else "cores " + ", ".join(map(str, cores))
