# SPDX-License-Identifier: Apache-2.0
"""How long the frames are that DPDK's AF_PACKET driver carries."""

from __future__ import annotations

from typing import Final

# A slot of the driver's ring has 2048 bytes unless asked for more; its own headers stand before the frame. The engine
# takes longer buffers above the same MTU (engine/port/port.cpp).
_LONGEST_USUAL_MTU: Final = 1986
_LONG_SLOT_BYTES: Final = 3 * 4096


def ring_slots(mtu: int) -> str:
    """What to add to `net_af_packet`'s arguments so that a slot of its ring holds a frame of `mtu`.

    A block of the ring is one slot, and so is a buffer of the engine.
    """
    if mtu <= _LONGEST_USUAL_MTU:
        return ""
    return f",framesz={_LONG_SLOT_BYTES},blocksz={_LONG_SLOT_BYTES}"
