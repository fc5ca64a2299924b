# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.openbsd_pf.rules import pf_rules
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses

LINKS = AddressPlan(
    left=LinkAddresses(dut=ip_interface("10.0.0.1/24"), tester=ip_interface("10.0.0.2/24")),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)


@pytest.mark.parametrize(
    ("pool", "source"),
    [(None, "198.19.0.1 port 1024:65535"), ("198.19.0.4/30", "198.19.0.4/30 port 1024:65535 round-robin")],
)
def test_nat_to_one_address_or_to_all_of_a_pool_in_turn(pool: str | None, source: str) -> None:
    addresses = LINKS.model_copy(update={"pool": ip_network(pool) if pool else None})
    assert pf_rules(OpenbsdPfConfig(), DutInterfaces("em0", "em1"), addresses).splitlines() == [
        "pass no state",
        f"pass out on em1 inet proto {{ tcp, udp }} from any to any nat-to {source}",
    ]


def test_a_filter_without_nat_keeps_a_state_for_each_connection_and_blocks_the_rest_of_the_right_side() -> None:
    assert pf_rules(OpenbsdPfConfig(nat=False), DutInterfaces("em0", "em1"), LINKS).splitlines() == [
        "pass no state",
        "block in on em1 inet proto { tcp, udp } from any to any",
        "pass out on em1 inet proto { tcp, udp } from any to any",
    ]
