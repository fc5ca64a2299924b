# SPDX-License-Identifier: Apache-2.0
"""Reserves huge pages, DPDK's usual memory, for the time of a measurement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PAGES: Final = 512
RESERVED: Final = Path("/proc/sys/vm/nr_hugepages")


@contextmanager
def reserved(pages: Path = RESERVED) -> Iterator[None]:
    """Reserves at least 512 pages of the default size within the context. Changes nothing where the kernel has no huge
    pages or the user may not reserve them; fragmented memory may give fewer."""
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
