# SPDX-License-Identifier: Apache-2.0
"""Boots a virtual machine in which natxy drives PCI network cards, which QEMU emulates, by DPDK's own drivers.

The machine is the one that `make vm` builds. It has this machine's files, to read only, and runs natxy from them: what
measures there is this very installation, but for an engine that is built for a CPU that QEMU has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from natxy.dut.transport.local import NetnsTransport
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortsOpen, PortSpec
from natxy.plan.testbeds.vm import VmConfig
from natxy.system.machine_sysctls import MachineSysctls
from natxy.testbeds.veth import SILENT_SYSCTLS
from natxy.testbeds.vm.accelerator import CPU_MODELS, ENDS_WITH_NATXY, QEMU
from natxy.testbeds.vm.image import VmImage, find_image
from natxy.testbeds.vm.qemu import GUEST_ADDRESS, MANAGEMENT_MAC, MANAGEMENT_NETWORK
from natxy.testbeds.vm.qmp import QemuMonitor
from natxy.testbeds.vm.taps import tap
from tests.support import needs
from tests.support.sshd import running_sshd

SOURCES: Final = Path(__file__).resolve().parents[2]
ENGINE: Final = SOURCES / "build" / "engine-x86-64-v3" / "natxy-engine"
"""The engine for a CPU without AVX-512, which QEMU does not emulate."""
NEEDS: Final = [
    *[*needs.VM, needs.programs("ssh"), pytest.mark.cards],
    pytest.mark.skipif(
        not ENGINE.exists(), reason="the engine for QEMU's CPU is not built: run `make portable-x86-64-v3`"
    ),
]
"""The marks of tests that boot such machines, besides those of a lab."""
CORES: Final = 3
_HUGEPAGES: Final = 384
_BOOT_S: Final = 400
_COMMAND_S: Final = 1200
_DUT_FOLDER: Final = "/run/dut"
# A port of the namespace, in which nothing else listens.
SSH_PORT: Final = 2222
# The longest frame that natxy sends, less its Ethernet header and FCS.
_LONGEST_MTU: Final = 9198


@dataclass(frozen=True)
class Pair:
    """Describes two cards that are joined as by a cable: DPDK's driver and the kernel's, QEMU's name of their model
    with settings, and where they are on the machine's PCI bus. `queues` are those of their taps."""

    name: str
    driver: str
    kernel_driver: str
    device: str
    slot: int
    queues: int = 1
    longest_frame: int = 9216

    def address(self, side: Side) -> str:
        return f"0000:00:{self._slot(side)}.0"

    def mac(self, side: Side) -> str:
        return f"02:00:00:00:04:{self._slot(side)}"

    def interface(self, side: Side) -> str:
        """Returns the other end of the card's cable, in the namespace."""
        return f"{self.name}-{side}"

    @property
    def arguments(self) -> list[str]:
        """Returns the engine's arguments that let it open both."""
        return [word for side in Side for word in ("--pci", self.address(side))]

    def ports(self, *, medium: PortMedium = PortMedium.LOOP, queues: int = 1, mtu: int = 1500) -> PortsOpen:
        return PortsOpen(
            ports=[
                PortSpec(side=side, device=self.address(side), medium=medium, queues=queues, mtu=mtu) for side in Side
            ]
        )

    def qemu(self, side: Side, taps: Sequence[int]) -> list[str]:
        """Returns QEMU's arguments for a card whose cable ends at these descriptors of a tap."""
        name, fds = self.interface(side), "fds" if len(taps) > 1 else "fd"
        where = f"id={name},mac={self.mac(side)},addr={self._slot(side)},romfile="
        return [
            *["-netdev", f"tap,id=net-{name},{fds}={':'.join(map(str, taps))}"],
            *["-device", f"{self.device},netdev=net-{name},{where}"],
        ]

    def _slot(self, side: Side) -> str:
        return f"{self.slot + (side is Side.RIGHT):02x}"


# A virtio device asks the IOMMU, as a card has to, only if it is told so. QEMU computes the hash that spreads frames.
VIRTIO: Final = Pair(
    "virtio",
    "net_virtio",
    "virtio-pci",
    "virtio-net-pci,disable-legacy=on,iommu_platform=on,rx_queue_size=1024,mq=on,vectors=6,rss=on,hash=on,"
    f"host_mtu={_LONGEST_MTU}",
    slot=0x10,
    queues=2,
)
E1000E: Final = Pair("e1000e", "net_e1000_em", "e1000e", "e1000e", slot=0x12)
VMXNET3: Final = Pair("vmxnet3", "net_vmxnet3", "vmxnet3", "vmxnet3", slot=0x14, longest_frame=9018)
PAIRS: Final = (VIRTIO, E1000E, VMXNET3)


class PciGuest:
    """A running virtual machine with network cards."""

    def __init__(self, ssh: Sequence[str], monitor: QemuMonitor, namespace: NetnsTransport) -> None:
        self.namespace: Final = namespace
        self._ssh = ssh
        self._monitor = monitor

    def run(self, script: str) -> str:
        """Runs a script by the machine's own shell and returns its output."""
        done = subprocess.run(
            [*self._ssh, "sh", "-eu"], input=script, capture_output=True, text=True, timeout=_COMMAND_S, check=False
        )
        assert done.returncode == 0, f"{script}: {done.stdout}{done.stderr}"
        return done.stdout

    def natxy(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        argv = self._here(sys.executable, "-m", "natxy", *arguments)
        return subprocess.run(argv, capture_output=True, text=True, timeout=_COMMAND_S, check=False)

    @contextmanager
    def engine(self, log: Path, *arguments: str) -> Iterator[EngineClient]:
        """Runs the engine there, with two workers, and its client here."""
        engine = EngineClient(
            self._here(str(ENGINE), "--worker-cores", "1,2", "--main-core", "0", *arguments), log, silence_s=60
        )
        try:
            yield engine
        finally:
            engine.close()

    def bind(self, pair: Pair, driver: str) -> None:
        """Takes two cards from their drivers and gives them to another one."""
        self.run(
            f"modprobe {driver}\n"
            f"for card in {pair.address(Side.LEFT)} {pair.address(Side.RIGHT)}; do\n"
            "  at=/sys/bus/pci/devices/$card\n"
            f"  echo {driver} > $at/driver_override\n"
            "  [ ! -e $at/driver ] || echo $card > $at/driver/unbind\n"
            "  echo $card > /sys/bus/pci/drivers_probe\n"
            "  readlink $at/driver\n"
            "done\n"
        )

    @contextmanager
    def without_hugepages(self) -> Iterator[None]:
        """Takes all hugepages from the machine within the context."""
        setting = "/proc/sys/vm/nr_hugepages"
        self.run(f"echo 0 > {setting}")
        try:
            yield
        finally:
            self.run(f"echo {_HUGEPAGES} > {setting}; [ $(cat {setting}) = {_HUGEPAGES} ]")

    def set_link(self, pair: Pair, side: Side, *, up: bool) -> None:
        """Pulls the cable of a card, or plugs it in."""
        self._monitor.execute("set_link", name=pair.interface(side), up=up)

    @contextmanager
    def gateway_behind(self, pair: Pair, folder: Path) -> Iterator[str]:
        """Leads the cables of two cards to this machine instead, whose namespace is a gateway, and runs its ssh server.

        Yields the ssh configuration in the virtual machine, in which the gateway's name is `gateway`.
        """
        for side in Side:
            self.namespace.run(["ip", "link", "set", pair.interface(side), "nomaster"])
        answers = "net.ipv4.conf.all.arp_ignore"
        self.namespace.run(["sysctl", "-qw", f"{answers}=0"])
        try:
            with running_sshd(folder, inside=self.namespace.inside([])):
                # There, QEMU's network has this address for the loopback of the namespace.
                for file in ("ssh_config", "known_hosts", "user_key"):
                    text = (folder / file).read_text().replace("127.0.0.1", str(MANAGEMENT_NETWORK[2]))
                    text = text.replace(str(folder), _DUT_FOLDER)
                    self.run(f"mkdir -p {_DUT_FOLDER}; umask 077; cat > {_DUT_FOLDER}/{file} << 'END'\n{text}\nEND\n")
                yield f"{_DUT_FOLDER}/ssh_config"
        finally:
            self.namespace.run(["sysctl", "-qw", f"{answers}={SILENT_SYSCTLS[answers]}"])
            for side in Side:
                self.namespace.run(["ip", "link", "set", pair.interface(side), "master", pair.name])

    def _here(self, *argv: str) -> list[str]:
        """Returns the command that runs a program of this machine's files in the virtual machine."""
        settings = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/run/home", "TMPDIR=/run", f"NATXY_ENGINE={ENGINE}"]
        return [*self._ssh, "chroot", "/host", "env", "-C", str(SOURCES), *settings, *argv]


@contextmanager
def pci_guest(folder: Path) -> Iterator[PciGuest]:
    """Boots a machine with all pairs of cards. The other ends of their cables are in a network namespace, a bridge for
    each pair."""
    with ExitStack() as stack:
        namespace = stack.enter_context(silent_namespace())
        cards = []
        for number, (pair, side) in enumerate((pair, side) for pair in PAIRS for side in Side):
            end = tap(
                namespace,
                pair.interface(side),
                f"02:00:00:00:05:{number:02x}",
                number=number,
                queues=pair.queues,
                mtu=_LONGEST_MTU,
            )
            cards.append((pair, side, stack.enter_context(end)))
        for pair in PAIRS:
            join(namespace, pair)
        arguments = [word for pair, side, taps in cards for word in pair.qemu(side, taps)]
        fds = [descriptor for _, _, taps in cards for descriptor in taps]
        yield stack.enter_context(booted_guest(folder, namespace, arguments, fds=fds))


@contextmanager
def booted_guest(
    folder: Path,
    namespace: NetnsTransport,
    cards: Sequence[str],
    *,
    fds: Sequence[int] = (),
    ssh_port: int = SSH_PORT,
) -> Iterator[PciGuest]:
    """Boots a machine with QEMU's arguments for its cards, in which descriptors may be named that are among `fds`.

    In the namespace, its ssh server has the port `ssh_port` of the loopback. `folder` gets its console.
    """
    image = find_image(VmConfig(kind="vm"))
    control = folder / "control"
    with ExitStack() as stack:
        output = stack.enter_context((folder / "qemu").open("wb"))
        qemu = subprocess.Popen(
            namespace.inside([*_qemu(image, control, folder / "console", ssh_port), *cards]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=fds,
            start_new_session=True,
        )
        stack.callback(qemu.wait)
        stack.callback(qemu.kill)
        _wait(qemu, folder, control.exists)
        monitor = QemuMonitor(control)
        stack.callback(monitor.close)
        ssh = namespace.inside(_ssh(image, folder, ssh_port))
        _wait(qemu, folder, lambda: not subprocess.run([*ssh, "true"], capture_output=True, check=False).returncode)
        guest = PciGuest(ssh, monitor, namespace)
        guest.run(
            "mkdir /host /run/home\n"
            "mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /host\n"
            "for folder in proc sys dev run; do mount --rbind /$folder /host/$folder; done\n"
            # natxy's ledger.
            "mount -t tmpfs none /host/var/lib\n"
        )
        yield guest


def join(namespace: NetnsTransport, pair: Pair) -> None:
    """Joins two cards as by a cable: what one sends, the other receives."""
    namespace.run(["ip", "link", "add", pair.name, "mtu", str(_LONGEST_MTU), "type", "bridge", "mcast_snooping", "0"])
    for side in Side:
        namespace.run(["ip", "link", "set", pair.interface(side), "master", pair.name])
    namespace.run(["ip", "link", "set", pair.name, "up"])


def _qemu(image: VmImage, control: Path, console: Path, ssh_port: int) -> list[str]:
    # QEMU gives the guest this machine's own time stamp counter, but does not tell it that its rate is constant.
    line = f"root=/dev/vda rw console=ttyS0 quiet intel_iommu=on iommu=pt tsc=reliable hugepages={_HUGEPAGES}"
    forward = f"hostfwd=tcp:127.0.0.1:{ssh_port}-{GUEST_ADDRESS}:22"
    return [
        *[*ENDS_WITH_NATXY, QEMU, "-nodefaults", "-no-user-config", "-display", "none"],
        *["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", CPU_MODELS["tcg"], "-smp", str(CORES), "-m", "3G"],
        *["-device", "intel-iommu,intremap=on"],
        *["-drive", f"if=none,id=disk,file={image.disk},format={image.disk_format},snapshot=on,cache=unsafe"],
        *["-device", "virtio-blk-pci,drive=disk", "-device", "virtio-rng-pci"],
        *["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", line],
        *["-netdev", f"user,id=management,net={MANAGEMENT_NETWORK},dhcpstart={GUEST_ADDRESS},ipv6=off,{forward}"],
        *["-device", f"virtio-net-pci,netdev=management,mac={MANAGEMENT_MAC},romfile="],
        *["-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"],
        *["-qmp", f"unix:{control},server=on,wait=off", "-serial", f"file:{console}"],
    ]


def _ssh(image: VmImage, folder: Path, port: int) -> list[str]:
    config = folder / "ssh_config"
    config.write_text(
        f"Host gateway\n  HostName 127.0.0.1\n  HostKeyAlias gateway\n  Port {port}\n  User root\n"
        f"  IdentityFile {image.key}\n  IdentitiesOnly yes\n  IdentityAgent none\n  BatchMode yes\n"
        f"  ConnectTimeout 10\n  UserKnownHostsFile {image.known_hosts}\n  GlobalKnownHostsFile none\n"
    )
    return ["ssh", "-F", str(config), "gateway"]


@contextmanager
def silent_namespace() -> Iterator[NetnsTransport]:
    """Has a network namespace whose kernel sends nothing of its own."""
    name = f"natxy-cards-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        namespace = NetnsTransport(name, MachineSysctls())
        namespace.run(["ip", "link", "set", "lo", "up"])
        namespace.run(["sysctl", "-qw", *(f"{setting}={value}" for setting, value in SILENT_SYSCTLS.items())])
        yield namespace
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def _wait(qemu: subprocess.Popen[bytes], folder: Path, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _BOOT_S
    while not ready():
        said = (folder / "qemu").read_text(errors="replace")
        assert qemu.poll() is None, said
        assert time.monotonic() < deadline, said + (folder / "console").read_text(errors="replace")[-2000:]
        time.sleep(0.2)
