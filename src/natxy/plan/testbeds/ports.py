# SPDX-License-Identifier: Apache-2.0
"""Describes the ports and cores of a tester on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from natxy.plan.model.addresses import Mac
from natxy.plan.model.base import Pattern, PlanModel
from natxy.plan.model.problems import Problem
from natxy.plan.model.units import counted
from natxy.plan.testbeds.tester_cores import CoresOfTasks, TesterCores, distinct

# The kernel's rule.
InterfaceName = Annotated[
    str, Pattern(r"(?!\.{1,2}$)[^\s/]{1,15}", "the name of an interface, such as ens1f0, of at most 15 characters")
]
PciAddress = Annotated[
    str,
    Pattern(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", "a PCI address in small letters, such as 0000:41:00.0"),
]
Io = Literal["af_xdp", "af_packet"]
MOST_PAIRS: Final = 16
"""The most pairs of ports, a left and a right one each, that a tester has."""
Medium = Literal["veth", "memif", "cable"]
"""The kind of link that joins two ports of a tester."""


VlanId = Annotated[int, Field(ge=1, le=4094)]


class TesterPort(PlanModel):
    """Names one of the tester's two ports: a device bound to a DPDK driver, or a network interface of the kernel.

    Frames come from `mac`, by default the port's own address, which stays as it is.
    """

    pci: PciAddress | None = None
    """PCI address of a device with a DPDK driver, e.g. 0000:41:00.0."""
    interface: InterfaceName | None = None
    """Interface of the kernel, without addresses."""
    mac: Mac | None = None
    """Address that frames come from; default: the port's own."""
    vlan: VlanId | None = None
    """VLAN of the frames (IEEE 802.1Q)."""
    service_vlan: VlanId | None = None
    """Outer VLAN, which has `vlan` within it (802.1ad, QinQ)."""

    @model_validator(mode="after")
    def _one_of_both(self) -> TesterPort:
        if (self.pci is None) == (self.interface is None):
            raise ValueError("expected pci, e.g. 0000:41:00.0, or interface, e.g. ens1f0, and not both")
        if self.service_vlan and not self.vlan:
            raise ValueError("`service_vlan` has VLANs within it; give the `vlan`, too")
        return self

    @property
    def tags(self) -> tuple[int, ...]:
        """The VLANs whose tags the frames have, the outer one first."""
        return tuple(vlan for vlan in (self.service_vlan, self.vlan) if vlan)

    def is_same(self, other: TesterPort) -> bool:
        """Returns True for one device, whatever its MAC addresses and VLANs are."""
        return (self.pci, self.interface) == (other.pci, other.interface)


def check_macs(*given: tuple[str, Mac | None]) -> None:
    """Raises ValueError if the first of the named addresses is also another one."""
    (field, mac), *others = given
    if twins := [name for name, other in others if mac and mac == other]:
        raise ValueError(
            f"{field} and {twins[0]} are the same address, {mac}; each end of a cable needs its own: change one of them"
        )


@dataclass(frozen=True)
class EnginePorts:
    """The two ports that natxy-engine opens, and its worker cores, whatever lies between the ports.

    `left` and `right`: given for the medium `cable`; natxy makes the ports of the others. Those of the medium `tap`
    lead to a virtual machine.
    """

    medium: Medium | Literal["tap"]
    io: Io = "af_xdp"
    queues: int = 1
    tester_cores: TesterCores | None = None
    left: TesterPort | None = None
    right: TesterPort | None = None
    memory_channels: int | None = None
    further: tuple[TesterPort, ...] = ()
    """The ports of further pairs."""

    @property
    def tags(self) -> int:
        """Returns how many tags of VLANs the frames have."""
        return max((len(port.tags) for port in self.of_cable.values()), default=0)

    @property
    def is_trunk(self) -> bool:
        """Returns True when both ports are the same device, with a VLAN for each."""
        return bool(self.left and self.right and self.left.is_same(self.right))

    @property
    def of_cable(self) -> dict[str, TesterPort]:
        """Returns the ports of the first pair's cable by side."""
        return {"left": self.left, "right": self.right} if self.left and self.right else {}

    @property
    def of_cables(self) -> tuple[TesterPort, ...]:
        """Returns the ports of all cables."""
        return (*self.of_cable.values(), *self.further)

    @property
    def name(self) -> str:
        """Returns the names of both ports, or the medium where the ports are made anew for each run."""
        names = dict.fromkeys(port.pci or port.interface or "" for port in self.of_cable.values())
        return "+".join(names) or self.medium

    @property
    def engine_arguments(self) -> list[str]:
        """Returns the arguments of natxy-engine by which it finds the ports and gives them memory."""
        channels = ["--eal", f"-n{self.memory_channels}"] if self.pci and self.memory_channels else []
        return [*(word for address in dict.fromkeys(self.pci) for word in ("--pci", address)), *channels]

    def memory_description(self) -> dict[str, str]:
        """Returns the memory channels for the report, if the plan has them."""
        return {"memory channels": str(self.memory_channels)} if self.memory_channels else {}

    @property
    def pci(self) -> list[str]:
        """Returns the PCI addresses of the ports that have one."""
        return [port.pci for port in self.of_cables if port.pci]

    @property
    def workers(self) -> int:
        """Returns the number of the tester's cores."""
        return len(distinct(self.tester_cores or [0]))

    @property
    def most_receivers(self) -> int:
        """Returns how many of the tester's cores share the queues of the port that the most receive on."""
        if isinstance(self.tester_cores, CoresOfTasks):
            return max(len(cores) for _, task, cores in self.tester_cores.tasks() if task == "receive")
        return min(self.queues, (self.workers + 1) // 2)

    @property
    def driver(self) -> str:
        if self.medium == "memif":
            return "net_memif"
        return "a driver of DPDK's own" if self.left and self.left.pci else f"net_{self.io}"

    def problems(self) -> Iterator[Problem]:
        """Yields an error if a port has more queues than its driver supports, or a task more cores than its port has
        queues."""
        if self.medium == "veth" and self.io == "af_xdp" and self.queues > 1:
            yield Problem(
                ("testbed", "queues"),
                f"af_xdp has one queue on a veth pair, not {self.queues}: DPDK's driver asks for channels that veth "
                "doesn't have; remove it, or set `io: af_packet`",
            )
        if isinstance(self.tester_cores, CoresOfTasks):
            if self.is_trunk and self.tester_cores.left != self.tester_cores.right:
                text = "both ports are the same device, whose queues have the same cores; give left and right the same"
                yield Problem(("testbed", "tester_cores", "right"), text)
            for side, task, cores in self.tester_cores.tasks():
                if len(cores) > self.queues:
                    text = (
                        f"{len(cores)} cores for a port with {counted(self.queues, 'queue')}, and a queue has one core "
                        f"that {task}s; give {counted(self.queues, 'core')}, or more `queues`"
                    )
                    yield Problem(("testbed", "tester_cores", side, task), text)
