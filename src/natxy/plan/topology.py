# SPDX-License-Identifier: Apache-2.0
"""The address plans a plan can name: RFC 2544 C.2.2's and RFC 5180's benchmark blocks, and private inner sides."""

from __future__ import annotations

from ipaddress import ip_interface, ip_network
from typing import Final

from natxy.plan.addresses import LinkAddresses
from natxy.plan.experiment import Addresses
from natxy.plan.models import AddressesPlan, AddressPreset, AddressRange
from natxy.plan.terms import Family

# Where test traffic may go: benchmark blocks (RFC 6890, RFC 5180 with its erratum), private and shared ones.
SAFE_NETWORKS: Final = tuple(
    ip_network(text)
    for text in (
        "198.18.0.0/15",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "2001:2::/48",
        "fc00::/7",
    )
)


def _link(dut: str, tester: str, behind: str) -> LinkAddresses:
    return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), behind=(ip_network(behind),))


def _hosts(first: str, last: str | None = None, low_bit: int = 0) -> AddressRange:
    return AddressRange.model_validate({"first": first, "last": last or first, "low_bit": low_bit})


# A varying IPv4 address keeps off the link's own /24; it lies behind the tester's link address. An IPv6 address varies
# in bits 96 to 111.
_PRIVATE_V4: Final = _link("10.0.0.1/24", "10.0.0.2/24", "10.0.0.0/16")
_LEFT_V4: Final = _link("198.18.0.1/24", "198.18.0.2/24", "198.18.0.0/16")
_RIGHT_V4: Final = _link("198.19.0.1/24", "198.19.0.2/24", "198.19.0.0/16")
_PRIVATE_V6: Final = _link("fd00:2::1/64", "fd00:2::2/64", "fd00:2:0:1::/64")
_LEFT_V6: Final = _link("2001:2::1/64", "2001:2::2/64", "2001:2:0:1::/64")
_RIGHT_V6: Final = _link("2001:2:0:8000::1/64", "2001:2:0:8000::2/64", "2001:2:0:8001::/64")

_MANY: Final = {
    _PRIVATE_V4: _hosts("10.0.1.0", "10.0.255.254"),
    _LEFT_V4: _hosts("198.18.1.0", "198.18.255.254"),
    _RIGHT_V4: _hosts("198.19.1.0", "198.19.255.254"),
    _PRIVATE_V6: _hosts("fd00:2:0:1::2", "fd00:2:0:1::ffff:2", low_bit=16),
    _LEFT_V6: _hosts("2001:2:0:1::2", "2001:2:0:1::ffff:2", low_bit=16),
    _RIGHT_V6: _hosts("2001:2:0:8001::2", "2001:2:0:8001::ffff:2", low_bit=16),
}


def resolve_addresses(plan: AddressesPlan, family: Family, *, translating: bool) -> Addresses:
    """`translating`: the gateway hides the left side, which then has private addresses."""
    if family == Family.IPV4:
        left, right = (_PRIVATE_V4 if translating else _LEFT_V4), _RIGHT_V4
    else:
        left, right = (_PRIVATE_V6 if translating else _LEFT_V6), _RIGHT_V6
    return Addresses(
        preset=plan.preset,
        left=plan.left or left,
        right=plan.right or right,
        left_hosts=plan.left_hosts or _played(plan.left, left, plan.preset),
        right_hosts=plan.right_hosts or _played(plan.right, right, plan.preset),
    )


def _played(given: LinkAddresses | None, default: LinkAddresses, preset: AddressPreset) -> AddressRange:
    link = given or default
    if preset == AddressPreset.MULTIPLE and link in _MANY:
        return _MANY[link]
    return AddressRange(first=link.tester.ip, last=link.tester.ip)
