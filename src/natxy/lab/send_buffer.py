# SPDX-License-Identifier: Apache-2.0
"""The send buffer that AF_XDP needs."""

from __future__ import annotations

from typing import Final

# An AF_XDP socket in copy mode takes no more frames once those on their way to the DUT fill its send buffer: at the
# usual 212992 bytes after some 280 frames, long before the DUT's input queue (net.core.netdev_max_backlog, 1000) is
# full. The tester would be held back and the DUT never lose a frame. 8 MiB is more than a full ring of long frames.
AF_XDP_SEND_BUFFER: Final = ("net.core.wmem_default", str(8 * 1024 * 1024))
