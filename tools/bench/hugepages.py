# SPDX-License-Identifier: Apache-2.0
"""Reserves huge pages, DPDK's usual memory, for the time of a measurement."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from natxy.errors import DutError
from natxy.system.machine_sysctls import MachineSysctls

PAGES: Final = 512
RESERVED: Final = "vm.nr_hugepages"


@contextmanager
def reserved(machine: MachineSysctls | None = None) -> Iterator[None]:
    """Reserves at least 512 pages of the default size within the context. Prints why it does not where the kernel has
    no huge pages or the user may not reserve them; fragmented memory may give fewer."""
    machine = machine or MachineSysctls()
    try:
        if int(machine.read(RESERVED)) < PAGES:
            machine.hold(RESERVED, str(PAGES))
    except DutError as error:
        print(f"make bench: on pages of 4 KiB: {error}", file=sys.stderr)
    try:
        yield
    finally:
        machine.release_all()
