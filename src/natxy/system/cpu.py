# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of this machine's processor."""

from __future__ import annotations

from pathlib import Path


def cpu_flags() -> frozenset[str]:
    """The names of /proc/cpuinfo; none where it cannot be read or lists none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    fields = (line.partition(":") for line in lines)
    return next((frozenset(value.split()) for key, _, value in fields if key.strip() == "flags"), frozenset())


def is_virtual_machine() -> bool:
    return "hypervisor" in cpu_flags()
