# SPDX-License-Identifier: Apache-2.0
"""Writes the first foreign frames of a run as a pcap capture."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from natxy.engine.messages.results import ForeignSample
from natxy.system.whole_file import appended_file

FOREIGN_FILE: Final = "foreign.pcap"

_NANOSECOND_MAGIC = 0xA1B23C4D
_ETHERNET = 1
_SNAP_LENGTH = 65535
_HEADER: Final = struct.Struct("<IHHiIII")
_FRAME: Final = struct.Struct("<IIII")


class PcapWriter:
    """Appends frames to a capture. The kernel has every frame when `add` returns."""

    def __init__(self, path: Path) -> None:
        self._file = appended_file(path)
        self._file.seek(0)
        written = self._file.read()
        # A killed writer may leave half a frame.
        self._file.truncate(_whole(written))
        if len(written) < _HEADER.size:
            self._file.write(_HEADER.pack(_NANOSECOND_MAGIC, 2, 4, 0, 0, _SNAP_LENGTH, _ETHERNET))

    def add(self, samples: Iterable[ForeignSample]) -> None:
        for sample in samples:
            frame = base64.b64decode(sample.data_base64)
            seconds, nanoseconds = divmod(sample.time_ns, 1_000_000_000)
            header = _FRAME.pack(seconds & 0xFFFFFFFF, nanoseconds, len(frame), len(frame))
            self._file.write(header + frame)

    def close(self) -> None:
        self._file.close()


def _whole(capture: bytes) -> int:
    """Returns the number of bytes up to the end of the last whole frame, the header included."""
    if len(capture) < _HEADER.size:
        return 0
    end = _HEADER.size
    while end + _FRAME.size <= len(capture):
        following = end + _FRAME.size + _FRAME.unpack_from(capture, end)[2]
        if following > len(capture):
            break
        end = following
    return end
