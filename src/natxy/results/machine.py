# SPDX-License-Identifier: Apache-2.0
"""What the report says of the machine natxy runs on."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def describe_machine() -> dict[str, str]:
    return {
        "host": platform.node(),
        "processor": _first(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo")) or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": _first(r"^MemTotal:\s*(.+)$", Path("/proc/meminfo")) or "unknown",
        "system": _first(r'^PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release")) or platform.system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _first(pattern: str, file: Path) -> str | None:
    try:
        match = re.search(pattern, file.read_text(errors="replace"), re.MULTILINE)
    except OSError:
        return None
    return match[1].strip() if match else None
