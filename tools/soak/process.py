# SPDX-License-Identifier: Apache-2.0
"""Reads what a running process holds: memory, file descriptors, threads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FIELD: Final = re.compile(r"^(\w+): +(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True)
class Holdings:
    """Memory is in KiB. `resident_kib` is all of it: anonymous memory, files and memory shared with other processes,
    and huge pages, which the kernel counts apart."""

    resident_kib: int
    anonymous_kib: int
    shared_kib: int
    hugepages_kib: int
    descriptors: int
    threads: int


def holdings(pid: int, proc: Path = Path("/proc")) -> Holdings:
    process = proc / str(pid)
    kib = {name: int(size) for name, size in _FIELD.findall((process / "smaps_rollup").read_text())}
    hugepages_kib = kib["Shared_Hugetlb"] + kib["Private_Hugetlb"]
    return Holdings(
        resident_kib=kib["Rss"] + hugepages_kib,
        anonymous_kib=kib["Anonymous"],
        shared_kib=kib["Rss"] - kib["Anonymous"],
        hugepages_kib=hugepages_kib,
        descriptors=len([*(process / "fd").iterdir()]),
        threads=len([*(process / "task").iterdir()]),
    )
