# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_interface

import pytest

from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds import lab as netns
from natxy.testbeds.lab import NetnsLab

ADDRESSES = AddressPlan(
    left=LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24")),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)


@pytest.mark.parametrize("virtual", [True, False])
def test_a_virtual_machine_is_a_deviation(monkeypatch: pytest.MonkeyPatch, virtual: bool) -> None:
    monkeypatch.setattr(netns, "is_virtual_machine", lambda: virtual)
    caveats = NetnsLab(LabConfig(), ADDRESSES).caveats()
    assert any("counts as the gateway's loss" in caveat.text for caveat in caveats) == virtual
