# SPDX-License-Identifier: Apache-2.0
"""The testbed `vm`: a virtual machine between two taps, which the engine opens in a namespace of natxy's own."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.linux.counters import TIMES
from natxy.dut.linux.counting import CountWatch, CountWatches
from natxy.dut.linux.hardware import describe_hardware
from natxy.dut.linux.load import LoadWatch, LoadWatches, ReadingCost
from natxy.dut.networks import check_free, other_uses
from natxy.dut.registry import Box
from natxy.dut.transport.local import NetnsTransport
from natxy.engine.devices import ring_slots
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortSpec
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.gateways import GatewayConfig
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.model.units import counted
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds.cores import CoreAssignment, named_cores
from natxy.plan.testbeds.vm import VmConfig
from natxy.system.core_watch import Absence, CoreWatch
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner
from natxy.system.temporary_folder import temporary_folder
from natxy.tcp.hosts import Foreground, TcpHosts
from natxy.testbeds.base import EngineTestbed
from natxy.testbeds.gateway_watch import REPEATED, GatewayWatch
from natxy.testbeds.guest_chain import GuestChain
from natxy.testbeds.host_links import hosts_in_namespaces
from natxy.testbeds.namespaces import LabNamespaces
from natxy.testbeds.veth import SILENT_SYSCTLS, TESTER_MACS
from natxy.testbeds.vm.accelerator import choose_accelerator, describe_accelerator
from natxy.testbeds.vm.image import find_image
from natxy.testbeds.vm.instructions import GuestInstructions, find_plugin
from natxy.testbeds.vm.machine import VirtualMachine
from natxy.testbeds.vm.qemu import Start
from natxy.testbeds.vm.taps import QUEUE_FRAMES, tap
from natxy.testbeds.vm.vcpus import read_times

_VHOST: Final = Path("/dev/vhost-net")
# The ssh server in the virtual machine goes on for so long after a command has ended.
_CALM_S: Final = 0.2


class VmLab(EngineTestbed):
    """A virtual machine; a process has one at a time. `dut_cores`: the cores that it gets where the plan names none.

    The machine stays up and runs the gateways one after the other. Several gateways of a path have a network namespace
    each in it.
    """

    def __init__(self, config: VmConfig, addresses: AddressPlan, dut_cores: int = 1) -> None:
        super().__init__()
        self._config = config
        self._addresses = addresses
        self._machine = MachineSysctls()
        self._namespaces = LabNamespaces(Owner.current())
        self.cores: CoreAssignment = config.assign_cores(os.sched_getaffinity(0), dut_cores)
        self._cpus = config.cpus or len(self.cores.dut)
        self.interfaces = DutInterfaces(config.left, config.right)
        self._tester = NetnsTransport(self._namespaces.tester, self._machine)
        self._image = find_image(config)
        self.transport = VirtualMachine(config, self._image, self._cpus)
        self._chain: GuestChain | None = None
        self._instructions: GuestInstructions | None = None
        self._reading_cost: ReadingCost | None = None
        self._accelerator = choose_accelerator(config.accelerator)
        # vhost is made for the virtual CPUs of KVM.
        self._vhost = _VHOST.exists() and config.nic == "virtio" and self._accelerator == "kvm"

    def _build(self) -> None:
        self._stack.callback(self._machine.release_all)
        self._stack.callback(self._namespaces.remove)
        self._namespaces.add(self._namespaces.tester)
        self._tester.run(["sysctl", "-qw", *(f"{name}={value}" for name, value in SILENT_SYSCTLS.items())])
        folder = self._stack.enter_context(temporary_folder("natxy-vm-"))
        taps = {side: self._stack.enter_context(self._tap(number, side)) for number, side in enumerate(Side)}
        vhosts = {side: self._opened_vhosts() for side in Side} if self._vhost else {}
        self._stack.callback(self.transport.stop)
        # Counts of several virtual CPUs would be lost where they meet.
        plugin = find_plugin() if self._accelerator == "tcg" and self._cpus == 1 else None
        start = Start(
            accelerator=self._accelerator,
            cores=self.cores.dut,
            taps=taps,
            vhosts=vhosts,
            folder=folder,
            mtu=self._addresses.mtu,
            plugin=plugin,
        )
        self.transport.start(start)
        self._instructions = GuestInstructions(start.counts) if plugin else None
        self.gateway_cores = self.transport.hot_plug.cores()

    def renew(self) -> None:
        self._dissolve()
        self.transport.hot_plug.give_back()
        self.gateway_cores = self.transport.hot_plug.cores()

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        uses = other_uses(self.transport, self.interfaces, sets_links=self._config.driver_sets_links)
        check_free(self.transport, uses, addresses)
        return registry.create(config, self.transport, self.interfaces, addresses)

    def create_path(self, path: GatewayPath) -> Gateway[Any]:
        self._dissolve()
        if len(path.hops) == 1:
            return super().create_path(path)
        self._chain = GuestChain(self.transport, self.interfaces, len(path.hops), path.ends.mtu)
        self._chain.make()
        return registry.create_chain(path, self._chain.boxes)

    def _dissolve(self) -> None:
        """Gives the interfaces of a chain back to the virtual machine's own namespace."""
        chain, self._chain = self._chain, None
        if chain:
            chain.dissolve()

    @property
    def boxes(self) -> Sequence[Box]:
        return self._chain.boxes if self._chain else [Box(self.transport, self.interfaces)]

    def engine_argv(self) -> list[str]:
        return ["ip", "netns", "exec", self._namespaces.tester, *super().engine_argv()]

    def port_specs(self) -> list[PortSpec]:
        mtu = self._addresses.mtu
        return [
            PortSpec(
                side=side,
                device=f"net_af_packet{number},iface={side},qpairs=1{ring_slots(mtu)}",
                # A tap whose virtual machine takes no more holds the tester back, or drops.
                medium=PortMedium.VETH,
                mac=TESTER_MACS[side],
                mtu=mtu,
            )
            for number, side in enumerate(Side)
        ]

    def watch(self) -> GatewayWatch:
        cores = CoreWatch(self.cores.dut, self.transport.threads)

        def begin() -> None:
            self.transport.check_runs()
            cores.begin()

        def end() -> Absence | None:
            # The frames of a gateway that is no longer there were not lost by it.
            self.transport.check_runs()
            return cores.end()

        watch = GatewayWatch(begin, end, len(self.cores.dut), QUEUE_FRAMES)
        if self._instructions:
            self._instructions.look_up(self.transport)
        # Of several readings, the first gateway's is the one next to the trial.
        calm_s = [_CALM_S if self._instructions else 0.0, *[0.0] * (len(self.boxes) - 1)]
        each = [
            LoadWatch(
                box.transport, box.interfaces, (), lambda: read_times(self.transport.vcpu_threads), TIMES, calm_s=calm_s
            )
            for box, calm_s in zip(self.boxes, calm_s, strict=True)
        ]
        spent = LoadWatches(each, self._instructions)
        self._reading_cost = spent.cost()
        return watch.with_load(spent)

    def counting(self) -> CountWatches:
        return CountWatches([CountWatch(box.transport, box.interfaces) for box in self.boxes])

    def dut_hardware(self) -> Sequence[dict[str, str]]:
        return [describe_hardware(box.transport, box.interfaces) for box in self.boxes]

    def description(self) -> dict[str, str]:
        return {
            "testbed": "vm: a virtual machine between two taps on one machine",
            "kernel": f"{platform.system()} {platform.release()} (the tester's)",
            **self.cores.description(),
            **({"readings of the DUT's load": self._reading_cost.text()} if self._reading_cost else {}),
        }

    def dut_description(self) -> dict[str, str]:
        cores, queues = named_cores(self.cores.dut), counted(self._config.queues, "queue")
        boot_s, executed = self.transport.boot_s, describe_accelerator(self._accelerator)
        begun = ", from the state after an earlier boot" if self.transport.has_gone_on else ""
        return {
            "machine": f"QEMU with {executed}, {counted(self._cpus, 'virtual CPU')}, {self._config.memory}",
            "cores": f"{cores} of the tester's machine",
            "image": str(self._image.disk) if self._config.image else "Debian 12, built by natxy",
            "NICs": f"{self._config.nic}, {queues} each{', vhost' if self._vhost else ''}",
            "boot": "unknown" if boot_s is None else f"{boot_s:.0f} s to the first login{begun}",
        }

    def engine_description(self) -> dict[str, str]:
        return {"tester namespace": self._namespaces.tester, "i/o": "net_af_packet on taps, 1 queue a port"}

    def caveats(self) -> list[Caveat]:
        sentences = [
            "The gateway is a virtual machine on the tester's own machine: the rates hold for its virtual NICs and "
            "this machine, and not for a gateway with network interface cards.",
            "The links are taps, which are software: a frame takes no time on the wire.",
        ]
        if self._accelerator == "tcg":
            sentences.append(
                "QEMU executed the gateway's instructions itself (TCG), because a guest does not boot with KVM here or "
                "the plan says so: the gateway is many times slower than on the processor, so compare it only with "
                "gateways that were measured in the same way."
            )
        if self._cpus > len(self.cores.dut):
            few = f"{self._cpus} virtual CPUs share {counted(len(self.cores.dut), 'core')}"
            sentences.append(f"The gateway's {few}: its rate does not grow with its number of virtual CPUs.")
        return [*map(limitation, sentences)]

    def engine_caveats(self) -> list[Caveat]:
        sentences = [
            "The kernel's part of receiving the tester's frames runs on the gateway's core and counts as its work.",
            "The kernel makes net_af_packet wait for the gateway, so a gateway at its limit may cause late frames or "
            "back-pressure at the tester instead of lost frames.",
        ]
        if self.cores.shared:
            sentences.append("Tester and gateway share a core, so that neither can keep its times.")
        return [REPEATED, *map(limitation, sentences)]

    def hosts(self, addresses: Addresses, foreground: Foreground) -> AbstractContextManager[TcpHosts]:
        ends, cores, mtu = {side: side.value for side in Side}, self.cores.tester, self._addresses.mtu
        return hosts_in_namespaces(ends, self._tester, self._namespaces, addresses, foreground, mtu=mtu, cores=cores)

    def host_caveats(self) -> list[Caveat]:
        return [
            limitation(
                f"Both hosts run on {named_cores(self.cores.tester)}, so TCP itself may be what limits the goodput; "
                "the same link without translation, as a baseline, shows what the hosts can do."
            )
        ]

    def _tap(self, number: int, side: Side) -> AbstractContextManager[list[int]]:
        mac, queues, mtu = TESTER_MACS[side], self._config.queues, self._addresses.mtu
        return tap(self._tester, side.value, mac, number=number, queues=queues, mtu=mtu)

    def _opened_vhosts(self) -> list[int]:
        descriptors = []
        for _ in range(self._config.queues):
            descriptor = os.open(_VHOST, os.O_RDWR | os.O_CLOEXEC)
            self._stack.callback(os.close, descriptor)
            descriptors.append(descriptor)
        return descriptors
