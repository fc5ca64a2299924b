# SPDX-License-Identifier: Apache-2.0
"""The lab whose DUT is a guest: user-mode Linux in the DUT's namespace, between the ends of its links. Several gateways
have a network namespace each in the guest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from natxy.dut import registry
from natxy.dut.base import Gateway
from natxy.dut.linux.interfaces import set_links
from natxy.dut.transport.base import Transport
from natxy.engine.messages.common import Side
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.model.addresses import AddressPlan
from natxy.plan.path import GatewayPath
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.guest.kernel import RECEIVE_BUFFER_BYTES, Guest, find_guest
from natxy.testbeds.guest_chain import GuestChain
from natxy.testbeds.lab import DUT_MACS, NetnsLab
from natxy.testbeds.veth import SILENT_SYSCTLS

# The kernel counts a small frame in a socket's buffer as about that much memory.
_FRAME_MEMORY_BYTES: Final = 1024


class GuestLab(NetnsLab):
    _dut_sysctls: ClassVar[Mapping[str, int]] = SILENT_SYSCTLS
    # Different from the guest's, so that the namespace's kernel discards frames for the guest at once.
    _dut_macs: ClassVar[Mapping[Side, str]] = {Side.LEFT: "02:00:00:00:00:21", Side.RIGHT: "02:00:00:00:01:21"}

    def __init__(self, config: LabConfig, addresses: AddressPlan, gateways: Sequence[AddressPlan] = ()) -> None:
        """`gateways` has the addresses of each gateway's links, if there are several."""
        super().__init__(config, addresses)
        # The guest has one core.
        self.gateway_cores = ()
        macs = {self.interfaces.left: DUT_MACS[Side.LEFT], self.interfaces.right: DUT_MACS[Side.RIGHT]}
        self._guest = Guest(find_guest(), self._namespaces.dut, self.cores.dut, macs, addresses.mtu)
        self._gateways = gateways
        self._chain = GuestChain(self._guest, self.interfaces, len(gateways), addresses.mtu) if gateways else None

    @property
    def transport(self) -> Transport:
        return self._guest

    def create_path(self, path: GatewayPath) -> Gateway[Any]:
        return registry.create_chain(path, self._chain.boxes) if self._chain else super().create_path(path)

    def dut_description(self) -> dict[str, str]:
        cores = ", ".join(map(str, self.cores.dut))
        return {
            "machine": self._guest.describe(),
            "cores": f"{cores} (the one virtual CPU, a process)",
            "receive buffer": f"{RECEIVE_BUFFER_BYTES} bytes an interface",
        }

    def dut_hardware(self) -> Sequence[dict[str, str]]:
        """Returns nothing: the guest's hardware is a process."""
        return ()

    def counting(self) -> None:
        """Returns None: the answer would take its one virtual CPU longer than a trial, through a serial line."""

    def caveats(self) -> list[Caveat]:
        return [
            *super().caveats(),
            limitation(
                "The gateway's kernel runs in user mode, as a process with one virtual CPU: it forwards several times "
                "slower than on the machine itself, so compare it with gateways of the same kind only."
            ),
        ]

    def _buffer_frames(self) -> int:
        return RECEIVE_BUFFER_BYTES // _FRAME_MEMORY_BYTES

    def _start_dut(self) -> None:
        for interface in (self.interfaces.left, self.interfaces.right):
            self._dut.run(["ip", "link", "set", interface, "promisc", "on"])
        self._stack.callback(self._guest.stop)
        self._guest.start()
        if self._chain:
            self._chain.make()

    def _set_links(self) -> None:
        if not self._chain:
            super()._set_links()
            return
        for box, addresses in zip(self._chain.boxes, self._gateways, strict=True):
            set_links(box.transport, box.interfaces, addresses)
