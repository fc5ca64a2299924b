# SPDX-License-Identifier: Apache-2.0
"""Terms of a plan that other layers use too: families, kinds of translation, ends of softwires, orders, names."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Family(StrEnum):
    IPV4 = "ipv4"
    IPV6 = "ipv6"


class TranslationKind(StrEnum):
    """The translation between the families of the two sides, left to right.

    `nat64` (RFC 6146): IPv6 to IPv4. `nat46`: IPv4 to IPv6. `siit`: IPv6 to IPv4, stateless in both directions
    (RFC 7915). `clat`: IPv4 to IPv6, likewise, where the IPv6 side stands for IPv4 hosts behind the prefix, as at the
    customer's end of 464XLAT (RFC 6877).
    """

    NAT64 = "nat64"
    NAT46 = "nat46"
    SIIT = "siit"
    CLAT = "clat"

    @property
    def families(self) -> tuple[Family, Family]:
        """The families of the left and the right side."""
        from_ipv4 = self in {TranslationKind.NAT46, TranslationKind.CLAT}
        return (Family.IPV4, Family.IPV6) if from_ipv4 else (Family.IPV6, Family.IPV4)

    @property
    def is_stateless(self) -> bool:
        """True if frames pass in both directions without a connection, whatever the gateway."""
        return self in {TranslationKind.SIIT, TranslationKind.CLAT}


class EarlyEnd(StrEnum):
    """Says when a trial ends before all its frames are sent.

    `lost`: as soon as a stream has certainly lost more frames than it may. `invalid`: once this loss has ceased to
    grow, and is no more than pauses of the tester explain.
    """

    NEVER = "never"
    INVALID = "invalid"
    LOST = "lost"


class SoftwireEnd(StrEnum):
    """The end of a softwire, which carries IPv4 packets in IPv6 packets (RFC 2473 §3).

    `edge`, on the left: puts what comes from the left into IPv6, as a B4 (RFC 6333 §5), an lwB4 (RFC 7596) or a MAP-E
    CE (RFC 7597) does. `core`, on the right: takes it out again, as an AFTR, an lwAFTR or a MAP-E BR does.
    """

    EDGE = "edge"
    CORE = "core"

    @property
    def families(self) -> tuple[Family, Family]:
        """The families of the left and the right link."""
        return (Family.IPV4, Family.IPV6) if self == SoftwireEnd.EDGE else (Family.IPV6, Family.IPV4)


class MapEnd(StrEnum):
    """The end of MAP-T, which translates IPv4 packets to IPv6 and back by a mapping rule (RFC 7599).

    `map-edge`, on the left: the translator of a subscriber's CE. `map-core`, on the right: the border relay (BR).
    """

    EDGE = "map-edge"
    CORE = "map-core"

    @property
    def families(self) -> tuple[Family, Family]:
        """The families of the left and the right link."""
        return (Family.IPV4, Family.IPV6) if self == MapEnd.EDGE else (Family.IPV6, Family.IPV4)


EDGES: Final = frozenset({SoftwireEnd.EDGE, MapEnd.EDGE})
CORES: Final = frozenset({SoftwireEnd.CORE, MapEnd.CORE})
"""The ends of softwires and of MAP-T: where IPv4 gets into IPv6, and where it gets out of it again."""


NAME_PATTERN: Final = r"[a-z0-9][a-z0-9._-]*"
NAME_EXPECTED: Final = "small letters, digits, '.', '_' and '-', beginning with a letter or a digit"
"""Says what names of plans and experiments are, as `NAME_PATTERN` does."""

# Results can be compared only where these fields of their experiments are equal.
TRAFFIC_FIELDS: Final = (
    "protocol", "frame_size", "mix", "extension_headers", "size_convention", "directions", "family",
)  # fmt: skip


# The value of a swept field in a cell of a sweep.
CellValue = bool | int | float | str


class Kernel(StrEnum):
    """The kernel that a lab's gateway runs in: the machine's `own`, or `user-mode` Linux with one virtual CPU."""

    OWN = "own"
    USER_MODE = "user-mode"


class SizeConvention(StrEnum):
    """The meaning of `frame_size` where a translation changes it by the 20 bytes between the two IP headers.

    `paired`: the IPv6 side sends `frame_size`, and the IPv4 side 20 bytes less. `nominal`: both sides send `frame_size`
    (RFC 8219 §5.1.1 to the letter), and frames from the IPv4 side grow by 20 bytes.
    """

    PAIRED = "paired"
    NOMINAL = "nominal"


class Selection(StrEnum):
    """The choice of a frame's flow.

    `random`: each field varies independently. A field in pseudorandom order is drawn uniformly for every frame (RFC
    4814 §4); other fields take their next value. `enumerate`: frame i uses flow i of the space, in the orders of the
    fields, and starts again after the last flow.
    """

    RANDOM = "random"
    ENUMERATE = "enumerate"


class Order(StrEnum):
    """The order of the values of a field that varies (RFC 9693 §4.4)."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    PSEUDORANDOM = "pseudorandom"
