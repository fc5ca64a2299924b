# SPDX-License-Identifier: Apache-2.0
"""Describes standing labs, finds them in the ledger, and ends them."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from pydantic import BaseModel, ConfigDict

from natxy.dut.registry import GATEWAYS
from natxy.engine.messages.common import Side
from natxy.errors import DutError, PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.model.addresses import IPAddress
from natxy.system.interrupts import dumped
from natxy.system.ledger import Kind, Ledger
from natxy.system.process_owner import Owner
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.lab_kernels import runs_in_guest
from natxy.testbeds.veth import TESTER_MACS
from natxy.untrusted.texts import one_line

# A gateway may have a large table to remove.
_END_S: Final = 120.0


class StandingError(PlanError):
    """Reports a lab that cannot stand."""

    page = "how-to/lab.md"


class StandingLab(BaseModel):
    """Describes a lab to those who use it.

    `tester` and `duts` are the network namespaces, those of the gateways from left to right. The tester's interfaces
    in its own are `left` and `right`.
    `tester_addresses`, `tester_macs` and `dut_macs` have those of the left and of the right link.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: str
    experiment: str
    gateway: str
    tester: str
    duts: tuple[str, ...]
    in_guest: bool
    io: str
    tester_cores: tuple[int, ...]
    tester_addresses: tuple[IPAddress, IPAddress]
    tester_macs: tuple[str, str]
    dut_macs: tuple[str, str]

    @classmethod
    def of(cls, lab: NetnsLab, io: str, experiment: Experiment, plan: Path) -> Self:
        gateway_macs = GATEWAYS[experiment.gateway.driver].macs or lab.outer_macs
        tester_macs, dut_macs = ((macs[Side.LEFT], macs[Side.RIGHT]) for macs in (TESTER_MACS, gateway_macs))
        links = experiment.address_plan
        return cls(
            plan=str(plan),
            experiment=experiment.name,
            gateway=experiment.gateway.title,
            tester=lab.engine_description()["tester namespace"],
            duts=lab.dut_namespaces,
            in_guest=runs_in_guest(experiment.gateway),
            io=io,
            tester_cores=lab.cores.tester,
            tester_addresses=(links.left.tester.ip, links.right.tester.ip),
            tester_macs=tester_macs,
            dut_macs=dut_macs,
        )

    @property
    def name(self) -> str:
        return one_line(f"{self.plan}, experiment {self.experiment}")


@contextmanager
def recorded_lab(lab: StandingLab) -> Iterator[None]:
    """Has an entry in the ledger that says what this process's lab is, until the context ends.

    Raises StandingError if another lab stands.
    """
    ledger = Ledger()
    entry = ledger.add(Kind.LAB, lab.name, details=dumped(lab))
    try:
        # Of two that begin at the same time, the ledger's first one goes on.
        check_none_stands()
        yield
    finally:
        ledger.remove(entry)


def check_none_stands() -> None:
    """Raises StandingError if another process's lab stands, or is being built, for longer than one of this process."""
    for keeper, name in standing_labs().items():
        if keeper == Owner.current():
            return
        raise StandingError(f"the lab of {name} stands already (process {keeper.pid}); `natxy lab down` removes it")


def standing_labs() -> dict[Owner, str]:
    """Returns the names of the labs that stand on this machine, the oldest first, by the processes that keep them."""
    entries = [entry for entry in Ledger().entries() if entry.kind == Kind.LAB and entry.is_owned()]
    return {entry.process(): entry.what for entry in entries}


def left_labs() -> dict[Owner, str]:
    """Returns the names of the labs whose keepers were killed in this boot, by these."""
    return {entry.process(): entry.what for entry in Ledger().left() if entry.kind == Kind.LAB}


def end_lab(keeper: Owner) -> None:
    """Asks a lab's keeper to remove the lab, and waits until it has ended. Does nothing when it has ended already.

    Raises DutError when it does not end.
    """
    with suppress(ProcessLookupError):
        process = os.pidfd_open(keeper.pid)
        try:
            if not keeper.is_alive():
                return
            signal.pidfd_send_signal(process, signal.SIGTERM)
            ended, _, _ = select.select([process], [], [], _END_S)
        finally:
            os.close(process)
        if not ended:
            raise DutError(
                f"process {keeper.pid}, which keeps a lab, has not removed it within {_END_S:g} s: end it by "
                f"`kill -9 {keeper.pid}`, then run `natxy cleanup`"
            )
