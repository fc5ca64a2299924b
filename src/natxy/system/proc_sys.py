# SPDX-License-Identifier: Apache-2.0
"""Finds out whether this machine's sysctls can be set at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PROC_SYS: Final = Path("/proc/sys")
REMEDY: Final = (
    "natxy sets sysctls of the network namespaces that it makes: start the container with `--privileged`, or run "
    "`mount -o remount,rw /proc/sys` in it"
)


def is_read_only() -> bool:
    """Returns True where /proc/sys is mounted read-only, as it is in most containers."""
    return bool(os.statvfs(PROC_SYS / "net").f_flag & os.ST_RDONLY)
