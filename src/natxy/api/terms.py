# SPDX-License-Identifier: Apache-2.0
"""Offers the values that plans and requests are made of: families, orders, directions, addresses, ports and cores."""

from natxy.plan.frames.sizes import SMALLEST_FRAME
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import WELL_KNOWN_PREFIX, IPAddress, IPNetwork, LinkAddresses
from natxy.plan.model.terms import NAME_EXPECTED, NAME_PATTERN, Family, Order, Selection, TranslationKind
from natxy.plan.model.traffic import Directions, PortRange
from natxy.plan.testbeds.tester_cores import CoresOfPort, CoresOfTasks

__all__ = [
    "NAME_EXPECTED",
    "NAME_PATTERN",
    "SMALLEST_FRAME",
    "WELL_KNOWN_PREFIX",
    "AddressRange",
    "AddressRanges",
    "CoresOfPort",
    "CoresOfTasks",
    "Directions",
    "Family",
    "IPAddress",
    "IPNetwork",
    "LinkAddresses",
    "Order",
    "PortRange",
    "Selection",
    "TranslationKind",
]
