# SPDX-License-Identifier: Apache-2.0
"""The base of all testbeds' settings: the facts that checks, reports and runs use for every kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from natxy.plan.frames.sizes import VLAN_TAG_BYTES
from natxy.plan.model.base import PlanModel
from natxy.plan.model.problems import Problem
from natxy.plan.testbeds.cores import CoreAssignment, assign_cores
from natxy.plan.testbeds.machines import DutLocation, DutPair, FurtherTester, HostLocation, LinkSetUp
from natxy.plan.testbeds.ports import EnginePorts, Io
from natxy.plan.testbeds.tester_cores import Cores, TesterCores


class TestbedModel(PlanModel):
    """Holds the settings of a testbed. The defaults describe one on this machine with a gateway and ports."""

    has_gateway: ClassVar[bool] = True
    """True if a gateway lies between the tester's ports."""
    has_ports: ClassVar[bool] = True
    """True if the tester sends and receives by two ports of its own, which a TCP on this machine can use instead."""
    in_virtual_time: ClassVar[bool] = False
    """True if tester and gateway are models, and nothing is measured."""
    nominal_line_rate: ClassVar[bool] = False
    """True if a line rate in the plan is only nominal, because the links can carry more."""
    runs_guests: ClassVar[bool] = False
    """True if a gateway can run in user-mode Linux."""
    counts_instructions: ClassVar[bool] = False
    """True if natxy counts the instructions that the gateway executes, where its processor or QEMU does."""
    outlives_gateways: ClassVar[bool] = False
    """True if one testbed serves all gateways of a run, because it takes long to build."""
    stand_together: ClassVar[bool] = False
    """True if testbeds of several gateways can stand at a time; those that are not measured rest."""
    build_s: ClassVar[float] = 0.0
    """About how long it takes to build a testbed that outlives its gateways."""
    answer_s: ClassVar[float] = 3.0
    """The time within which the DUT has to answer the first requests for its addresses."""
    only_driver: ClassVar[str | None] = None
    """The one gateway driver that runs on this testbed; None if others run too."""

    @property
    def tag_bytes(self) -> int:
        """Returns how much longer frames are on the tester's cables by the tags of VLANs."""
        return VLAN_TAG_BYTES * self.engine_ports.tags if self.engine_ports else 0

    @property
    def most_pairs(self) -> int:
        """Returns how many pairs of interfaces can have traffic at the same time."""
        return 1

    @property
    def fewest_hops(self) -> int:
        """Returns how many gateways frames have to cross, one behind the other."""
        return 1

    @property
    def most_hops(self) -> int:
        """Returns how many gateways frames can cross, one behind the other."""
        return 1

    @property
    def gateways_share_machine(self) -> bool:
        """Returns True when the gateways of a chain run on one machine."""
        return True

    @property
    def dut_macs(self) -> dict[str, str]:
        """Returns the DUT's MAC addresses by the side of the tester's port, where the plan has them."""
        return {}

    @property
    def is_local(self) -> bool:
        """Returns True when this machine sends, receives or forwards the frames."""
        return not self.in_virtual_time

    @property
    def gateway_is_local(self) -> bool:
        """Returns True when the gateway runs on this machine, as far as the plan says where it runs."""
        here = all(location.ssh is None for location in self.dut_locations)
        return here and self.has_gateway and not self.in_virtual_time

    @property
    def gateway_has_machine(self) -> bool:
        """Returns True when the gateway is a machine of its own, reached by ssh."""
        return any(location.ssh for location in self.dut_locations)

    @property
    def driver_sets_links(self) -> bool:
        """Returns True when the gateway's driver sets the addresses and routes of the DUT's interfaces."""
        return self.dut_location is not None and self.dut_location.addresses == LinkSetUp.SET

    @property
    def dut_location(self) -> DutLocation | None:
        """Returns how to reach the DUT; None when the testbed makes it."""
        return None

    @property
    def dut_locations(self) -> tuple[DutLocation, ...]:
        """Returns how to reach all DUTs, one behind the other from left to right; none when the testbed makes them."""
        return (self.dut_location,) if self.dut_location else ()

    @property
    def further_dut_pairs(self) -> tuple[DutPair, ...]:
        """Returns the DUT's interfaces of further pairs, where the plan names them."""
        return ()

    @property
    def commands_run_on_dut(self) -> bool:
        """Returns False when the gateway's commands may run on another machine than the one that forwards."""
        return self.dut_location is None or not self.dut_location.may_be_elsewhere

    @property
    def remote_hosts(self) -> Mapping[str, HostLocation]:
        """Returns the hosts that replace the tester's ports, by side."""
        return {}

    @property
    def further_testers(self) -> Sequence[FurtherTester]:
        """Returns the testers that send and receive besides this machine."""
        return ()

    @property
    def engine_ports(self) -> EnginePorts | None:
        """Returns the ports that natxy-engine opens; None when it does not run."""
        return None

    def assign_cores(self, usable: Iterable[int], dut_count: int = 1) -> CoreAssignment | None:
        """Assigns `usable` cores of this machine; None when no engine runs on it.

        `dut_count`: cores for the gateway where the plan does not name them. Raises PlanError when the plan names a
        core that is not usable.
        """
        del usable, dut_count
        return None

    def dut_core_count(self, usable: Iterable[int], wanted: int) -> int | None:
        """Returns how many cores an experiment's `cores` can give the gateway, at most `wanted` in a lab.

        None: only the DUT behind ssh knows. 0: frames cannot be steered to cores of the gateway's own. Raises PlanError
        as `assign_cores` does.
        """
        del wanted
        self.assign_cores(usable)
        return None if self.dut_location and self.dut_location.ssh else 0

    def problems(self) -> Iterator[Problem]:
        """Yields the errors in the settings that the types of the fields do not prevent."""
        if self.engine_ports:
            yield from self.engine_ports.problems()

    def frame_problem(self, longest: int) -> str | None:
        """Returns why the testbed cannot carry frames of `longest` bytes, FCS counted, or None when it can."""
        del longest
        return None


class TesterMachine(TestbedModel):
    """Assigns the cores of a machine that has the tester."""

    tester_cores: TesterCores | None = None
    """Cores of the tester: one, a list, or by task; default: the first one."""

    def assign_cores(self, usable: Iterable[int], dut_count: int = 0) -> CoreAssignment:
        del dut_count
        return assign_cores(usable, self.tester_cores, ())


class CabledTester(TesterMachine):
    """Describes a tester with two ports of its own, which may be PCI devices."""

    io: Io = "af_xdp"
    """`af_xdp` or `af_packet`, for an `interface`."""
    queues: Annotated[int, Field(ge=1, le=64)] = 1
    """Queues of a port."""
    memory_channels: Annotated[int, Field(ge=1, le=255)] | None = None
    """The machine's memory channels, for frames of `pci` ports (DPDK's `-n`); default: DPDK assumes 4."""

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        testers = [self.engine_ports, *(tester.ports for tester in self.further_testers)]
        if self.memory_channels and not any(ports and ports.pci for ports in testers):
            text = "the memory of interfaces is not spread over channels, only that of a port given by pci; remove it"
            yield Problem(("testbed", "memory_channels"), text)


class SharedMachine(TesterMachine):
    """Assigns the cores of a machine that tester and gateway share."""

    dut_cores: Cores | None = None
    """Cores of the gateway, one or a list; default: as many others as `cores` ask for."""

    def assign_cores(self, usable: Iterable[int], dut_count: int = 1) -> CoreAssignment:
        return assign_cores(usable, self.tester_cores, self.dut_cores, dut_count=dut_count)
