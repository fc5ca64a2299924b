# SPDX-License-Identifier: Apache-2.0
"""Composes the command that starts QEMU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Final

from natxy.dut.transport.base import pinned
from natxy.engine.messages.common import Side
from natxy.plan.model.addresses import USUAL_MTU
from natxy.plan.testbeds.vm import Accelerator, VmConfig
from natxy.testbeds.vm.accelerator import CPU_MODELS, ENDS_WITH_NATXY, QEMU
from natxy.testbeds.vm.image import VmImage

# guest/vm.sh names the interfaces by these addresses.
MANAGEMENT_MAC: Final = "02:00:00:00:02:00"
NIC_MACS: Final = {Side.LEFT: "02:00:00:00:02:01", Side.RIGHT: "02:00:00:00:02:02"}
# Link-local addresses (RFC 3927) are forwarded by nobody, so that no test can have them.
MANAGEMENT_NETWORK: Final = IPv4Network("169.254.77.0/24")
GUEST_ADDRESS: Final = IPv4Address("169.254.77.15")
_DEVICES: Final = {"virtio": "virtio-net-pci", "e1000e": "e1000e", "vmxnet3": "vmxnet3"}
# The length of a virtio NIC's receive queue in frames, the longest that QEMU allows; its transmit queue stays shorter
# without vhost.
_RECEIVE_QUEUE: Final = 1024
# The NIC neither merges frames nor leaves checksums unfinished: a frame must look as it does on a wire.
_OFFLOADS: Final = ("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo")


@dataclass(frozen=True)
class Start:
    """Holds what differs from one start of a virtual machine to another.

    `taps`: the descriptors of each tap, one a queue; `vhosts`, when given, those of /dev/vhost-net. `cores`: those that
    its threads may run on. `folder` gets its control socket, its console and, with a `plugin` that counts instructions,
    their counts. `disk` replaces the image's own; without it, what is written to the image is forgotten. `snapshot`
    names the state of that disk to go on from; without it the system boots. `ssh_port` is where its ssh server is
    reached on this machine; `VirtualMachine.start` chooses one.
    """

    accelerator: Accelerator
    cores: Sequence[int]
    taps: Mapping[Side, Sequence[int]]
    vhosts: Mapping[Side, Sequence[int]]
    folder: Path
    mtu: int
    plugin: Path | None = None
    disk: Path | None = None
    snapshot: str | None = None
    ssh_port: int = 0

    @property
    def control(self) -> Path:
        return self.folder / "control"

    @property
    def console(self) -> Path:
        return self.folder / "console"

    @property
    def counts(self) -> Path:
        return self.folder / "instructions"

    @property
    def descriptors(self) -> list[int]:
        return [each for ends in (self.taps, self.vhosts) for side in ends.values() for each in side]


def qemu_argv(config: VmConfig, image: VmImage, start: Start, cpus: int) -> list[str]:
    """Returns the command. QEMU ends with the thread that starts it, even a killed one."""
    accelerator = "kvm" if start.accelerator == "kvm" else "tcg,thread=multi"
    return [
        *[*ENDS_WITH_NATXY, *pinned(start.cores), QEMU],
        *["-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-accel", accelerator],
        *["-cpu", CPU_MODELS[start.accelerator], "-smp", str(cpus), "-m", config.memory],
        *_disk(image, start),
        *_management(config, start),
        *[word for side in Side for word in _nic(side, config, start)],
        *["-device", "virtio-rng-pci"],
        *["-qmp", f"unix:{_quoted(start.control)},server=on,wait=off"],
        *["-serial", f"file:{_quoted(start.console)}"],
        *(["-plugin", f"{_quoted(start.plugin)},counts={_quoted(start.counts)}"] if start.plugin else []),
    ]


def _disk(image: VmImage, start: Start) -> list[str]:
    # What the guest writes goes to a temporary file, which has no name, so that the image stays as it is.
    file = f"file={_quoted(image.disk)},format={image.disk_format},snapshot=on"
    if start.disk:
        file = f"file={_quoted(start.disk)},format=qcow2"
    words = ["-drive", f"if=none,id=disk,{file},cache=unsafe", "-device", "virtio-blk-pci,drive=disk"]
    if start.snapshot:
        words += ["-loadvm", start.snapshot]
    if image.kernel and image.initrd:
        line = "root=/dev/vda rw console=ttyS0 quiet"
        words += ["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", line]
    return words


def _management(config: VmConfig, start: Start) -> list[str]:
    # The guest reaches nothing by this network: it only answers at the forwarded port.
    network = f"net={MANAGEMENT_NETWORK},dhcpstart={GUEST_ADDRESS},restrict=on,ipv6=off"
    forward = f"hostfwd=tcp:127.0.0.1:{start.ssh_port}-{GUEST_ADDRESS}:{config.port}"
    return [
        *["-netdev", f"user,id=management,{network},{forward}"],
        *["-device", f"virtio-net-pci,netdev=management,mac={MANAGEMENT_MAC},romfile="],
    ]


def _nic(side: Side, config: VmConfig, start: Start) -> list[str]:
    several = config.queues > 1
    taps = ":".join(map(str, start.taps[side]))
    network = f"tap,id={side},{'fds' if several else 'fd'}={taps}"
    if vhosts := start.vhosts.get(side):
        network += f",vhost=on,{'vhostfds' if several else 'vhostfd'}={':'.join(map(str, vhosts))}"
    device = f"{_DEVICES[config.nic]},netdev={side},mac={NIC_MACS[side]},romfile="
    if config.nic == "virtio":
        device += f",rx_queue_size={_RECEIVE_QUEUE}," + ",".join(f"{offload}=off" for offload in _OFFLOADS)
        if several:
            # Each queue has two vectors, and the device two more.
            device += f",mq=on,vectors={2 * config.queues + 2}"
        if start.mtu != USUAL_MTU:
            device += f",host_mtu={start.mtu}"
    return ["-netdev", network, "-device", device]


def _quoted(path: Path) -> str:
    """Returns a path within QEMU's list of settings, where a comma would end it."""
    return str(path).replace(",", ",,")
