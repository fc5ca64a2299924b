# SPDX-License-Identifier: Apache-2.0
"""Finds the function and the module of an address in a Linux kernel, by the text of its /proc/kallsyms."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

KERNEL: Final = "kernel"
"""The name of what is in no module."""
_SYMBOL: Final = re.compile(r"([0-9a-f]{1,16}) [tTwW] (\S{1,200})(?:\t(\[[^\]\s]{1,64}\]))?", re.ASCII)


class KernelSymbols:
    """Holds the addresses at which the functions of a kernel and of its modules begin.

    The text is that of a DUT, which natxy does not trust: lines that are not as the kernel writes them are ignored.
    """

    def __init__(self, kallsyms: str = "") -> None:
        found = filter(None, map(_SYMBOL.fullmatch, kallsyms.splitlines()))
        # Who may not see the addresses sees zeros.
        named = sorted({(address, each[2], each[3] or "") for each in found if (address := int(each[1], 16))})
        self._addresses = [address for address, _, _ in named]
        self._names = [(name, module) for _, name, module in named]

    def __bool__(self) -> bool:
        return bool(self._addresses)

    def place(self, address: int) -> tuple[str, str]:
        """Returns the function that begins at an address or last before it, such as `nft_do_chain [nf_tables]`, and its
        module or `kernel`. An address before all functions is `kernel` in both.
        """
        index = bisect_right(self._addresses, address) - 1
        if index < 0:
            return KERNEL, KERNEL
        name, module = self._names[index]
        return (f"{name} {module}", module) if module else (name, KERNEL)

    def by_place(self, counts: Mapping[int, int]) -> tuple[dict[str, int], dict[str, int]]:
        """Returns the sums of counts by module and by function, from counts by address; the largest come first."""
        modules: dict[str, int] = {}
        functions: dict[str, int] = {}
        for address, count in counts.items():
            function, module = self.place(address)
            modules[module] = modules.get(module, 0) + count
            functions[function] = functions.get(function, 0) + count
        return _sorted(modules.items()), _sorted(functions.items())


def _sorted(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts, key=lambda each: (-each[1], each[0])))
