# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.transport.base import CompletedCommand, HeldSysctls
from natxy.dut.transport.hotplug import CoreSwitch, HotPlug
from natxy.errors import DutError
from natxy.testbeds.guest_chain import GuestChain


class Guest:
    """A machine that notes its commands, and refuses those that begin with `refused`."""

    machine: HeldSysctls
    network: HeldSysctls
    hot_plug: HotPlug

    def __init__(self, refused: str = "nothing") -> None:
        self.refused = refused
        self.ran: list[str] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        line = " ".join(argv)
        self.ran.append(line)
        if check and line.startswith(self.refused):
            raise DutError(f"{self.refused} was refused")
        return CompletedCommand(tuple(argv), 0, "", "")

    def describe(self) -> str:
        return "a guest"


def test_each_gateway_has_a_namespace_and_the_outer_ones_the_machines_interfaces() -> None:
    guest = Guest()
    chain = GuestChain(guest, DutInterfaces("left", "right"), 3, 1520)
    chain.make()
    assert [box.interfaces for box in chain.boxes] == [
        DutInterfaces("left", "dut1-right"),
        DutInterfaces("dut2-left", "dut2-right"),
        DutInterfaces("dut3-left", "right"),
    ]
    assert "ip link set left netns natxy-dut1" in guest.ran
    assert "ip link set right netns natxy-dut3" in guest.ran
    made = "ip netns exec natxy-dut1 ip link add dut1-right type veth peer name dut2-left netns natxy-dut2"
    assert made in guest.ran
    assert "ip netns exec natxy-dut3 ip link set dut3-left mtu 1520 up" in guest.ran
    chain.boxes[1].transport.run(["true"])
    assert guest.ran[-1] == "ip netns exec natxy-dut2 true"
    assert chain.boxes[1].transport.describe() == "network namespace natxy-dut2 of a guest"


def test_all_gateways_switch_the_machines_cores() -> None:
    guest = Guest()
    guest.hot_plug = HotPlug(guest)
    chain = GuestChain(guest, DutInterfaces("left", "right"), 2, 1500)
    switches = [box.transport.hot_plug for box in chain.boxes if isinstance(box.transport, CoreSwitch)]
    assert switches == [guest.hot_plug] * 2


@pytest.mark.parametrize("refused", ["nothing", "ip link set right"])
def test_the_interfaces_come_back(refused: str) -> None:
    guest = Guest(refused)
    chain = GuestChain(guest, DutInterfaces("left", "right"), 2, 1500)
    if refused == "nothing":
        chain.make()
        chain.dissolve()
    else:
        with pytest.raises(DutError, match="was refused"):
            chain.make()
    assert guest.ran[-4:] == [
        "ip netns exec natxy-dut1 ip link set left netns 1",
        "ip netns exec natxy-dut2 ip link set right netns 1",
        "ip netns del natxy-dut1",
        "ip netns del natxy-dut2",
    ]
