# SPDX-License-Identifier: Apache-2.0
"""DPDK arguments and kernel settings for the devices that the engine opens."""

from __future__ import annotations

from typing import Final

# A slot of the driver's ring has 2048 bytes by default, headers of its own included. Above this MTU, the engine uses
# longer buffers too (engine/port/port.cpp).
_DEFAULT_MAX_MTU: Final = 1986
_LONG_SLOT_BYTES: Final = 3 * 4096


def ring_slots(mtu: int) -> str:
    """Returns the arguments of `net_af_packet` by which a slot of its ring holds a frame of `mtu`.

    A block of the ring has one slot, as long as a buffer of the engine.
    """
    if mtu <= _DEFAULT_MAX_MTU:
        return ""
    return f",framesz={_LONG_SLOT_BYTES},blocksz={_LONG_SLOT_BYTES}"


# An AF_XDP socket in copy mode accepts frames until those in flight to the DUT fill its send buffer. The default of
# 212992 bytes is full after some 280 frames, long before the DUT's input queue (net.core.netdev_max_backlog, 1000): the
# tester would be slowed down and the DUT would never lose a frame. 8 MiB exceed a full ring of long frames.
AF_XDP_SEND_BUFFER: Final = ("net.core.wmem_default", str(8 * 1024 * 1024))
