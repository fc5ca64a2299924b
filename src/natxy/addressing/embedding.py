# SPDX-License-Identifier: Apache-2.0
"""Puts IPv4 addresses into IPv6 addresses behind a prefix (RFC 6052 §2.2).

The 32 bits follow the prefix, but leave out bits 64 to 71, which are zero. So prefixes of 40, 48 and 56 bits divide the
IPv4 address into a part before these bits and a part after them.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

LENGTHS: Final = (32, 40, 48, 56, 64, 96)
_BITS: Final = 32
_EVERY_BIT: Final = (1 << _BITS) - 1
# The lowest bits of the two parts, counted from the least significant bit of the IPv6 address.
_BEFORE: Final = 64
_AFTER_END: Final = 56
_LONGEST: Final = 96


def embeds(prefix: IPv6Network) -> IPv6Network:
    """Returns the prefix. ValueError if it has another length, or bits 64 to 71 that are not zero."""
    if prefix.prefixlen not in LENGTHS:
        lengths = ", ".join(f"/{length}" for length in LENGTHS[:-1])
        raise ValueError(f"expected a {lengths} or /{LENGTHS[-1]} such as 2001:2:0:64::/96, got {prefix}")
    if int(prefix.network_address) >> _AFTER_END & 0xFF:
        raise ValueError(f"expected a prefix whose bits 64 to 71 are zero (RFC 6052 §2.2), got {prefix}")
    return prefix


def embedded(prefix: IPv6Network, address: IPv4Address) -> IPv6Address:
    """Returns the IPv6 address of an IPv4 host."""
    number, low = int(address), _bits_after(prefix)
    before, after = number >> low, number & (1 << low) - 1
    return prefix.network_address + ((before << _BEFORE) + (after << _lowest_after(prefix)))


def extracted(prefix: IPv6Network, address: IPv6Address) -> IPv4Address:
    """Returns the IPv4 host whose IPv6 address this is. ValueError if the address is not behind the prefix."""
    low = _bits_after(prefix)
    before = int(address) >> _BEFORE & (1 << _BITS - low) - 1
    after = int(address) >> _lowest_after(prefix) & (1 << low) - 1
    host = IPv4Address(before << low | after)
    if embedded(prefix, host) != address:
        raise ValueError(f"{address} is no IPv4 address behind {prefix}")
    return host


def embedded_network(prefix: IPv6Network, network: IPv4Network) -> IPv6Network:
    """Returns the IPv6 network of the hosts of an IPv4 network."""
    low, length = _bits_after(prefix), network.prefixlen
    bits = prefix.prefixlen + length if length <= _BITS - low else 128 - _lowest_after(prefix) - (_BITS - length)
    return IPv6Network((embedded(prefix, network.network_address), bits))


def extracted_network(prefix: IPv6Network, network: IPv6Network) -> IPv4Network:
    """Returns the IPv4 network whose IPv6 network this is. ValueError if the prefix has no such network."""
    first = extracted(prefix, network.network_address)
    candidates = (IPv4Network((first, length), strict=False) for length in range(_BITS + 1))
    found = next((each for each in candidates if embedded_network(prefix, each) == network), None)
    if found is None:
        raise ValueError(f"{network} is no IPv4 network behind {prefix}")
    return found


def moved_bit(prefix: IPv6Network, varying: int, low_bit: int) -> int | None:
    """Returns where bit `low_bit` of IPv4 addresses, which differ in the bits `varying`, is in the IPv6 addresses; None
    if bits on both sides of bits 64 to 71 vary."""
    low = _bits_after(prefix)
    if not varying >> low:
        return low_bit + _lowest_after(prefix)
    return None if varying & (1 << low) - 1 or low_bit < low else low_bit - low + _BEFORE


def _bits_after(prefix: IPv6Network) -> int:
    """Returns how many bits of an IPv4 address come after bits 64 to 71."""
    return min(_BITS, max(0, prefix.prefixlen - _BITS))


def _lowest_after(prefix: IPv6Network) -> int:
    return 0 if prefix.prefixlen == _LONGEST else _AFTER_END - _bits_after(prefix)
