# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions and cycles of this machine's cores, by the counters of its processor (perf_event_open(2))."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import time
from collections.abc import Collection
from typing import Final, NamedTuple

from natxy.results.dut_load import InstructionCount

# Of linux/perf_event.h.
HARDWARE: Final = 0
_CYCLES: Final = 0
_INSTRUCTIONS: Final = 1
_ATTRIBUTE_BYTES: Final = 128
_WITH_TIMES: Final = 1 | 2
_CLOSE_ON_EXEC: Final = 8
_READING: Final = struct.Struct("3Q")
_SYSTEM_CALLS: Final = {"x86_64": 298, "aarch64": 241}


class _Reading(NamedTuple):
    counted: int
    enabled_ns: int
    running_ns: int


class CoreInstructions:
    """Counts what cores execute, programs and kernel alike, until it is closed.

    The machine may have no such counters, which is usual in a virtual machine, or forbid them
    (`kernel.perf_event_paranoid`): then nothing is known. `kind` and `events` are perf's numbers of what is counted.
    """

    def __init__(
        self, cores: Collection[int], kind: int = HARDWARE, events: tuple[int, int] = (_INSTRUCTIONS, _CYCLES)
    ) -> None:
        self._counters: list[list[int]] = [[], []]
        self._before: list[list[_Reading]] = [[], []]
        self._after: list[list[_Reading]] = [[], []]
        self._before_s = self._after_s = 0.0
        try:
            for core in cores:
                for event, opened in zip(events, self._counters, strict=True):
                    opened.append(_open(kind, event, core))
        except OSError:
            self.close()

    def close(self) -> None:
        for opened in self._counters:
            while opened:
                os.close(opened.pop())

    def begin(self) -> None:
        self._before, self._before_s = self._read(), time.monotonic()

    def end(self) -> None:
        self._after, self._after_s = self._read(), time.monotonic()

    def spent(self) -> InstructionCount | None:
        """Returns what was executed between `begin` and `end`.

        None where nothing counts, or if the counters counted only at times because others had them too.
        """
        counts = []
        for before, after in zip(self._before, self._after, strict=True):
            pairs = [*zip(before, after, strict=False)]
            if len(before) != len(after) or not pairs or any(map(_is_partial, pairs)):
                return None
            counts.append(sum(new.counted - old.counted for old, new in pairs))
        instructions, cycles = counts
        return InstructionCount(count=instructions, elapsed_s=self._after_s - self._before_s, cycles=cycles)

    def _read(self) -> list[list[_Reading]]:
        """Returns what each core's counter has counted: of instructions, and of cycles."""
        try:
            return [
                [_Reading(*_READING.unpack(os.read(counter, _READING.size))) for counter in opened]
                for opened in self._counters
            ]
        except OSError:
            return [[], []]


def _is_partial(pair: tuple[_Reading, _Reading]) -> bool:
    before, after = pair
    return after.running_ns - before.running_ns < after.enabled_ns - before.enabled_ns


def _open(kind: int, event: int, core: int) -> int:
    """Returns the descriptor of a counter of everything on a core. Raises OSError without one."""
    number = _SYSTEM_CALLS.get(platform.machine())
    if number is None:
        raise OSError(f"unknown machine {platform.machine()}")
    attribute = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
    # The type, the size, the event, no sampling, and what a reading has beside the count.
    struct.pack_into("IIQQQQ", attribute, 0, kind, _ATTRIBUTE_BYTES, event, 0, 0, _WITH_TIMES)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(ctypes.c_long(number), attribute, -1, core, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return int(descriptor)
