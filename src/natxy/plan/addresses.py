# SPDX-License-Identifier: Apache-2.0
"""Who has which address on the two links of a testbed.

The address plan is `gateway` by default: the tester has one address per link and everything else it plays lies
behind that next hop, because thousands of on-link neighbours slow a DUT.
"""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network

from pydantic import BaseModel, ConfigDict

IPInterface = IPv4Interface | IPv6Interface
IPNetwork = IPv4Network | IPv6Network


class LinkAddresses(BaseModel):
    """One side: `dut` and `tester` share the link's prefix; `behind` is routed by the DUT to `tester`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dut: IPInterface
    tester: IPInterface
    behind: tuple[IPNetwork, ...] = ()


class AddressPlan(BaseModel):
    """The left side is the initiator's (private) side, the right one the responder's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: LinkAddresses
    right: LinkAddresses
