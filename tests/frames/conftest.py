# SPDX-License-Identifier: Apache-2.0
"""Provides the NAT that the tests send frames of both families through."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface, ip_network

import pytest

from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.model.terms import Family
from tests.support.nat_bed import NatBed, nat_bed


@pytest.fixture(scope="module", params=list(Family))
def bed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatBed]:
    with nat_bed(_links(request.param), tmp_path_factory.mktemp("engine")) as opened:
        yield opened


def _links(family: Family) -> AddressPlan:
    if family == Family.IPV4:
        return AddressPlan(
            left=_link("10.0.0.1/24", "10.0.0.2/24", "10.0.0.0/16"),
            right=_link("198.19.0.1/24", "198.19.0.2/24", "198.19.0.0/16", networks=256),
        )
    return AddressPlan(
        left=_link("2001:2::1/64", "2001:2::2/64", "2001:2::/49"),
        right=_link("2001:2:0:8000::1/64", "2001:2:0:8000::2/64", "2001:2:0:8000::/56", networks=256),
    )


def _link(dut: str, tester: str, behind: str, networks: int = 1) -> LinkAddresses:
    prefix = ip_network(behind)
    return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), behind=(prefix,), networks=networks)
