# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that a virtual machine executes without KVM, by a plugin of QEMU.

A frame takes as many instructions on a busy machine as on a quiet one, because what other programs of the machine
execute is not counted.
"""

from __future__ import annotations

import mmap
import sys
import time
from array import array
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Final

from natxy.dut.linux.symbols import KernelSymbols
from natxy.dut.transport.base import Transport
from natxy.errors import DutError, PlanError
from natxy.results.dut_load import InstructionCount
from natxy.testbeds.guest.recipe import Recipe, built_folder

PROGRAMS: Final = "programs"
"""The name of what is outside of the kernel: programs, and the firmware at the start."""
OTHERS: Final = "other functions"
# In the package's own Python, by tools/package/debian/rules.
_PACKAGED: Final = ("lib", "natxy", "instructions.so")
# guest/instructions.c has the same.
_MAGIC: Final = 0x3173746375727473
_HEAD: Final = 2
_WORD_BYTES: Final = 8
_RECIPE: Final = Recipe("vm", "the counter of a virtual machine's instructions", ("instructions.c",))
# Functions with a smaller share of the instructions are counted together.
_LEAST_SHARE: Final = 1e-5
_SYMBOLS_S: Final = 60.0


def find_plugin() -> Path | None:
    """Returns the plugin of the Debian package, or else the one that `make vm` has built.

    Returns None if neither is there, or if another version of the source was built.
    """
    packaged = Path(sys.prefix, *_PACKAGED)
    if packaged.is_file():
        return packaged
    folder = built_folder("vm-instructions")
    try:
        _RECIPE.check(folder)
    except PlanError:
        return None
    return folder / _PACKAGED[-1]


class GuestInstructions:
    """Reads how many instructions a virtual machine has executed, from the file that the plugin writes.

    `look_up` asks the guest's kernel where its functions are; until then, and in a guest without /proc/kallsyms, all of
    the kernel counts as one.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._before: array[int] = array("Q")
        self._after: array[int] = array("Q")
        self._before_s = self._after_s = 0.0
        self._modules = ""
        self._symbols = KernelSymbols()

    def begin(self) -> None:
        self._before = self._after = self._read()
        self._before_s = self._after_s = time.monotonic()

    def end(self) -> None:
        self._after_s = time.monotonic()
        self._after = self._read()

    def spent(self) -> InstructionCount | None:
        """Returns what was executed between `begin` and `end`; None if the plugin did not count."""
        before, after = self._before, self._after
        if not before or not after:
            return None
        # A place keeps its number; those that came later had counted nothing before.
        pairs = zip_longest(after[::2], after[1::2], before[1::2], fillvalue=0)
        counts = {address: new - old for address, new, old in pairs if new > old}
        programs = counts.pop(0, 0)
        modules, functions = self._symbols.by_place(counts)
        total = sum(counts.values()) + programs
        own = {PROGRAMS: programs} if programs else {}
        return InstructionCount(
            count=total,
            elapsed_s=self._after_s - self._before_s,
            modules={**modules, **own},
            functions={**_large(functions, _LEAST_SHARE * total), **own} if self._symbols else {},
        )

    def look_up(self, guest: Transport) -> None:
        """Asks the guest for its functions, if it has other modules than before. A guest that is not Linux has none."""
        try:
            modules = _loaded(guest.run(["cat", "/proc/modules"]).stdout)
            if modules != self._modules:
                argv = ["grep", "-i", " [tw] ", "/proc/kallsyms"]
                self._symbols = KernelSymbols(guest.run(argv, timeout_s=_SYMBOLS_S).stdout)
                self._modules = modules
        except DutError:
            # A busy guest may answer the next time.
            self._modules = ""

    def _read(self) -> array[int]:
        """Returns the places as pairs of an address and a count; none where the plugin did not write the file."""
        words: array[int] = array("Q")
        try:
            with self._file.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as counts:
                head = memoryview(counts)[: _HEAD * _WORD_BYTES].cast("Q")
                magic, used = head
                head.release()
                if magic == _MAGIC:
                    words.frombytes(counts[_HEAD * _WORD_BYTES : (_HEAD + 2 * used) * _WORD_BYTES])
        except (OSError, ValueError):
            return array("Q")
        return words


def _large(functions: Mapping[str, int], least: float) -> dict[str, int]:
    """Returns the functions with so many instructions, and the sum of all others."""
    large = {name: count for name, count in functions.items() if count >= least}
    others = sum(functions.values()) - sum(large.values())
    return {**large, **({OTHERS: others} if others else {})}


def _loaded(modules: str) -> str:
    """Returns the name and the address of each module, without what changes while it is used."""
    return "\n".join(f"{words[0]} {words[-1]}" for line in modules.splitlines() if (words := line.split()))
