# SPDX-License-Identifier: Apache-2.0
"""The few unexpected frames of a run, as a capture that Wireshark opens."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from natxy.engine.messages import ForeignSample

FOREIGN_FILE: Final = "foreign.pcap"

_NANOSECOND_MAGIC = 0xA1B23C4D
_ETHERNET = 1
_SNAP_LENGTH = 65535


class PcapWriter:
    """Every frame is on the disk when `add` returns."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        self._file.write(struct.pack("<IHHiIII", _NANOSECOND_MAGIC, 2, 4, 0, 0, _SNAP_LENGTH, _ETHERNET))

    def add(self, samples: Iterable[ForeignSample]) -> None:
        for sample in samples:
            frame = base64.b64decode(sample.data_base64)
            seconds, nanoseconds = divmod(sample.time_ns, 1_000_000_000)
            header = struct.pack("<IIII", seconds & 0xFFFFFFFF, nanoseconds, len(frame), len(frame))
            self._file.write(header + frame)

    def close(self) -> None:
        self._file.close()
