# SPDX-License-Identifier: Apache-2.0
"""Words that plans and the engine share."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Family(StrEnum):
    IPV4 = "ipv4"
    IPV6 = "ipv6"


class TranslationKind(StrEnum):
    """Between the families of the two sides, named from the left.

    `nat64` (RFC 6146) and `nat46`: from IPv6 to IPv4, and from IPv4 to IPv6. `siit`: IPv6 on the left and IPv4 on the
    right, stateless in both directions (RFC 7915).
    """

    NAT64 = "nat64"
    NAT46 = "nat46"
    SIIT = "siit"

    @property
    def families(self) -> tuple[Family, Family]:
        """Left, right."""
        return (Family.IPV4, Family.IPV6) if self is TranslationKind.NAT46 else (Family.IPV6, Family.IPV4)


IP_HEADER_DIFFERENCE_BYTES: Final = 20

# Results of traffic of which one of these differs say nothing of their gateways side by side.
TRAFFIC_FIELDS: Final = ("frame_size", "size_convention", "directions", "family")

# More make a message slow to read; a bit field has no such limit.
MOST_ADDRESSES_LISTED: Final = 65_536


class Kernel(StrEnum):
    """Whose kernel a lab's gateway is made of: the machine's `own`, or one in `user-mode` with one virtual CPU."""

    OWN = "own"
    USER_MODE = "user-mode"


class SizeConvention(StrEnum):
    """What a frame size means where a translation changes it by the 20 bytes that the two IP headers differ by.

    `paired`: it is the IPv6 side's; the IPv4 side sends 20 bytes less, so that every frame is `frame_size` in IPv6.
    `nominal`: both sides send it (RFC 8219 §5.1.1 to the letter), so frames from the IPv4 side grow.
    """

    PAIRED = "paired"
    NOMINAL = "nominal"


class Order(StrEnum):
    """How the values of a varying field follow each other (RFC 9693 §4.4)."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    PSEUDORANDOM = "pseudorandom"
