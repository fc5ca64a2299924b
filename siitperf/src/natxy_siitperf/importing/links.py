# SPDX-License-Identifier: Apache-2.0
"""Chooses the addresses of a link around those that siitperf's tester plays there.

siitperf.conf does not have the gateway's addresses; natxy's labs set them, and natxy needs them as next hops.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_interface, ip_network
from typing import Final

from natxy.api.terms import AddressRange, IPAddress, IPNetwork, LinkAddresses

# The usual length of a link's prefix, and the next one if the hosts fill that.
_LENGTHS: Final = {4: (24, 16), 6: (64, 48)}
# Candidates for an address at each end of a prefix.
_ENDS: Final = 8


def link_around(
    real: IPAddress, hosts: AddressRange, networks: int = 1, far: IPAddress | None = None
) -> LinkAddresses | None:
    """Returns a link on which `real` is the tester, and behind which are the hosts, if they are others; None if the
    hosts leave no address for the gateway.

    `networks` is the number of networks behind the link, each with a route of its own. `far`, the tester's address on
    the other link, is not on this one.
    """
    for length in _lengths(real, far):
        network = ip_network((real, length), strict=False)
        highest = network.num_addresses - 2
        numbers = (*range(1, min(_ENDS, highest + 1)), *range(highest, max(0, highest - _ENDS), -1))
        usable = [network[number] for number in numbers]
        free = [each for each in usable if each not in hosts and each != real]
        ends = {network.network_address, network.broadcast_address}
        if free:
            dut = free[0]
            tester = real if real not in ends else next(each for each in usable if each != dut)
            alone = hosts.size == 1 and hosts.first == tester
            return LinkAddresses(
                dut=ip_interface(f"{dut}/{length}"),
                tester=ip_interface(f"{tester}/{length}"),
                behind=() if alone else (_around(hosts, networks),),
                networks=networks,
            )
    return None


def _lengths(real: IPAddress, far: IPAddress | None) -> Sequence[int]:
    """Returns the usual lengths of a link's prefix, none shorter than what keeps both addresses apart."""
    usual = _LENGTHS[real.version]
    if far is None or far.version != real.version:
        return usual
    apart = real.max_prefixlen - (int(real) ^ int(far)).bit_length() + 1
    # Two addresses, of the tester and of the gateway, need 2 bits.
    return usual if apart > real.max_prefixlen - 2 else [max(length, apart) for length in usual]


def _around(hosts: AddressRange, networks: int) -> IPNetwork:
    """Returns the shortest prefix that contains all hosts; with `networks`, so many /24 or /64."""
    bits = hosts.first.max_prefixlen
    if networks > 1:
        length = (24 if bits == 32 else 64) - (networks - 1).bit_length()
    else:
        length = bits - (int(hosts.first) ^ int(hosts.last)).bit_length()
        # Whole bytes are what a person would write.
        length -= length % 8
    return ip_network((hosts.first, length), strict=False)
