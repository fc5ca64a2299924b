# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `vm`: a virtual machine on this machine, with any system that boots there as the gateway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from natxy.plan.gateways.chain import MOST_HOPS
from natxy.plan.model.base import Pattern
from natxy.plan.model.problems import Problem
from natxy.plan.testbeds.base import SharedMachine
from natxy.plan.testbeds.machines import LinkSetUp
from natxy.plan.testbeds.ports import EnginePorts, InterfaceName

Nic = Literal["virtio", "e1000e", "vmxnet3"]
Accelerator = Literal["kvm", "tcg"]
Memory = Annotated[str, Pattern(r"[1-9]\d{0,5}[MG]", "an amount of memory, such as 512M or 4G")]


def _absolute(path: Path) -> Path:
    """Returns the path as it is from any working folder, with the user's home folder for `~`."""
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(f"expected the path of a file, got {str(path)!r}: no such user") from error


LocalFile = Annotated[Path, AfterValidator(_absolute)]
"""A file of this machine; a relative path begins at the working folder."""


class VmConfig(SharedMachine):
    """A virtual machine on this machine (QEMU), whose system is the gateway and is reached by ssh."""

    kind: Literal["vm"]
    image: LocalFile | None = None
    """Disk image to boot, raw or qcow2, which is never changed; default: the Debian that `make vm` builds."""
    cpus: Annotated[int, Field(ge=1, le=64)] | None = None
    """Virtual CPUs; default: one for each of the gateway's cores."""
    memory: Memory = "1G"
    """Memory of the virtual machine, e.g. 512M or 4G."""
    queues: Annotated[int, Field(ge=1, le=16)] = 1
    """Queues of each NIC of the gateway; more than 1 needs `nic: virtio`."""
    nic: Nic = "virtio"
    """Kind of its NICs: `virtio`, `e1000e` or `vmxnet3`."""
    accelerator: Accelerator | None = None
    """`kvm`, or `tcg`, QEMU's own execution of instructions; default: kvm where it works."""
    user: str = "root"
    """User who logs in by ssh."""
    as_root: list[str] = Field(default=[])
    """Prefix that runs a command as root, e.g. [sudo, -n]; none when the user is root."""
    port: Annotated[int, Field(ge=1, le=65535)] = 22
    """Port of the ssh server in the virtual machine."""
    key: LocalFile | None = None
    """Private key to log in to an own image with."""
    known_hosts: LocalFile | None = None
    """File with the ssh key of an own image for the host `gateway`; default: the key that it shows is accepted,
    because nothing else answers there."""
    left: InterfaceName = "left"
    """The gateway's interface to the initiator: the one with the MAC address 02:00:00:00:02:01."""
    right: InterfaceName = "right"
    """The gateway's interface to the responder: the one with the MAC address 02:00:00:00:02:02."""
    addresses: LinkSetUp = LinkSetUp.SET
    """`set`: natxy gives the interfaces addresses and routes; `keep`: the system of an own image has them."""

    nominal_line_rate: ClassVar[bool] = True
    counts_instructions: ClassVar[bool] = True
    outlives_gateways: ClassVar[bool] = True
    # Without KVM, Debian takes so long to boot; with KVM, a quarter of it.
    build_s: ClassVar[float] = 40.0
    # Without KVM, and on a busy machine, the first frames take seconds.
    answer_s: ClassVar[float] = 20.0

    @property
    def gateway_is_local(self) -> bool:
        """Returns False: the gateway's programs are those of the virtual machine."""
        return False

    @property
    def gateway_has_machine(self) -> bool:
        return True

    @property
    def driver_sets_links(self) -> bool:
        return self.addresses == LinkSetUp.SET

    @property
    def most_hops(self) -> int:
        # natxy puts each gateway into a network namespace of a system that it sets up itself.
        return MOST_HOPS if self.driver_sets_links else 1

    @property
    def engine_ports(self) -> EnginePorts:
        return EnginePorts("tap", "af_packet", tester_cores=self.tester_cores)

    def dut_core_count(self, usable: Iterable[int], wanted: int) -> int:
        return self.cpus or len(self.assign_cores(usable, wanted).dut)

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if self.queues > 1 and self.nic != "virtio":
            text = f"QEMU gives a NIC of {self.nic} one queue, not {self.queues}; remove it, or set `nic: virtio`"
            yield Problem(("testbed", "queues"), text)
        if self.image is None:
            for field, default in (("user", "root"), ("port", 22), ("key", None), ("known_hosts", None)):
                if getattr(self, field) != default:
                    text = "is only for your own `image`; remove it"
                    yield Problem(("testbed", field), text)
            for side in ("left", "right"):
                if getattr(self, side) != side:
                    text = f"in the image that natxy builds, the interface is {side}; remove it, or give an `image`"
                    yield Problem(("testbed", side), text)
        elif self.key is None:
            yield Problem(("testbed", "key"), "missing; give the private key that logs in to the image")
        if self.left == self.right:
            yield Problem(("testbed", "right"), f"is the same interface as left, {self.left}; give two")
