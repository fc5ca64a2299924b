# SPDX-License-Identifier: Apache-2.0
"""DPDK's arguments and kernel settings for the devices that the engine opens."""

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


# An AF_XDP socket in copy mode takes no more frames once those on their way to the DUT fill its send buffer: at the
# usual 212992 bytes after some 280 frames, long before the DUT's input queue (net.core.netdev_max_backlog, 1000) is
# full. The tester would be held back and the DUT never lose a frame. 8 MiB is more than a full ring of long frames.
AF_XDP_SEND_BUFFER: Final = ("net.core.wmem_default", str(8 * 1024 * 1024))
