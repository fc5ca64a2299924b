# SPDX-License-Identifier: Apache-2.0
"""Frames on an interface in a network namespace, by tcpdump: what tests that judge frames share."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scapy.packet import Packet
from scapy.utils import PcapReader

PATIENCE_S = 20
# For frames that are too many.
SURPLUS_S = 0.1
_FILE_HEADER_BYTES = 24
_FRAME_HEADER_BYTES = 16


@contextmanager
def captured(namespace: str, interface: str, direction: str, into: Path, count: int) -> Iterator[list[Packet]]:
    """UDP frames that pass `interface` in `direction`, there when the block has ended: it waits for `count` of them."""
    where = ["ip", "netns", "exec", namespace, "tcpdump", "-i", interface, "-Q", direction]
    # The DUT's own frames in the other direction would double those of a phase 2.
    how = ["-Z", "root", "-U", "--immediate-mode", "-s", "0", "-B", "16384", "-w", str(into), "udp"]
    frames: list[Packet] = []
    with subprocess.Popen([*where, *how], stderr=subprocess.PIPE, text=True) as tcpdump:
        assert tcpdump.stderr is not None
        try:
            while "listening on" not in tcpdump.stderr.readline():
                assert tcpdump.poll() is None, "tcpdump ended"
            yield frames
            deadline = time.monotonic() + PATIENCE_S
            while _written(into) < count and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(SURPLUS_S)
        finally:
            tcpdump.terminate()
    with PcapReader(str(into)) as reader:
        frames.extend(reader)


def _written(file: Path) -> int:
    """Frames that are whole in a file which grows."""
    content = file.read_bytes()
    end, count = _FILE_HEADER_BYTES, 0
    while end + _FRAME_HEADER_BYTES <= len(content):
        end += _FRAME_HEADER_BYTES + int.from_bytes(content[end + 8 : end + 12], sys.byteorder)
        count += end <= len(content)
    return count
