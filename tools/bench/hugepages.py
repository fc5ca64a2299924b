# SPDX-License-Identifier: Apache-2.0
"""Huge pages, DPDK's usual memory, for as long as something is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PAGES: Final = 512
RESERVED: Final = Path("/proc/sys/vm/nr_hugepages")


@contextmanager
def reserved(pages: Path = RESERVED) -> Iterator[None]:
    """At least 512 of the usual size, until the context is left; as many as there are where the kernel knows none, the
    user may not, or the memory is in pieces."""
    try:
        before = int(pages.read_text())
        if before < PAGES:
            pages.write_text(str(PAGES))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        pages.write_text(str(before))
