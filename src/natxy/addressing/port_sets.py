# SPDX-License-Identifier: Apache-2.0
"""Says which ports of a shared IPv4 address a subscriber has (RFC 7597 §5.1), as in lw4o6, MAP-E and MAP-T."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_PORT_BITS: Final = 16
LAST_PORT: Final = (1 << _PORT_BITS) - 1
USUAL_OFFSET: Final = 6
"""The offset with which nobody has the ports below 1024 (RFC 7597 §5.1)."""


@dataclass(frozen=True)
class PortSet:
    """Holds a port set's identifier (PSID), its length in bits, and the offset: how many bits stand before it.

    The bits of a port are the offset's, the PSID, and the rest. With an offset, those before the PSID are not all zero,
    so that nobody has the first ports. A PSID of no bits has all ports. ValueError if 16 bits do not hold this.
    """

    psid: int = 0
    psid_length: int = 0
    offset: int = USUAL_OFFSET

    def __post_init__(self) -> None:
        if self.psid_length < 0 or self.offset < 0 or self.offset + self.psid_length > _PORT_BITS:
            raise ValueError(
                f"expected an offset and a PSID of at most {_PORT_BITS} bits together, got {self.offset} and "
                f"{self.psid_length}"
            )
        if not 0 <= self.psid < 1 << self.psid_length:
            raise ValueError(f"expected a PSID of {self.psid_length} bits, got {self.psid}")

    @property
    def ranges(self) -> list[range]:
        """The ranges of ports, from the lowest one on."""
        if self.psid_length == 0:
            return [range(1 << _PORT_BITS)]
        behind = _PORT_BITS - self.offset
        size = 1 << (behind - self.psid_length)
        first_index = 1 if self.offset else 0
        starts = ((index << behind) + self.psid * size for index in range(first_index, 1 << self.offset))
        return [range(start, start + size) for start in starts]

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __contains__(self, port: int) -> bool:
        if self.psid_length == 0:
            return 0 <= port < 1 << _PORT_BITS
        behind = _PORT_BITS - self.offset
        return psid_of(port, self.psid_length, self.offset) == self.psid and (self.offset == 0 or port >> behind > 0)


def psid_of(port: int, psid_length: int, offset: int) -> int:
    """Returns the PSID in a port, also of one that nobody has."""
    return port >> (_PORT_BITS - offset - psid_length) & (1 << psid_length) - 1
