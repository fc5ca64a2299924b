# SPDX-License-Identifier: Apache-2.0
"""DPDK arguments for the devices that the engine opens."""

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
