# SPDX-License-Identifier: Apache-2.0
"""Describes this machine's processor: its model, and the levels of x86-64 that it can run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

_LAUNCHER: Final = Path("build/portable/natxy-engine")


def model() -> str:
    """Returns what tells generations apart whose name is the same, such as "family 6, model 207"."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    facts = dict(re.findall(r"^(cpu family|model)\s*: (\d+)$", text, flags=re.MULTILINE))
    return f"family {facts['cpu family']}, model {facts['model']}"


def usable_isas() -> list[str]:
    """Returns the levels of x86-64 that the portable engine has builds for and this CPU can run, the best one last."""
    names = sorted(build.suffix[1:] for build in _LAUNCHER.parent.glob("natxy-engine.*"))
    return [name for name in names if _starts(name)]


def _starts(isa: str) -> bool:
    return subprocess.run([_LAUNCHER, "--isa", isa, "--version"], capture_output=True, check=False).returncode == 0
