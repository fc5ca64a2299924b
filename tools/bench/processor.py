# SPDX-License-Identifier: Apache-2.0
"""Describes this machine's processor: its model, and the levels of x86-64 that it can run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Final

_LAUNCHER: Final = Path("build/portable/natxy-engine")
# The flags of /proc/cpuinfo that a level adds to the one before (x86-64 psABI §3.1.1); `abm` is LZCNT there.
_LEVELS: Final = {
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "x86-64-v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def model() -> str:
    """Returns what tells generations apart whose name is the same, such as "family 6, model 207"."""
    facts = dict(re.findall(r"^(cpu family|model)\s*: (\d+)$", _cpuinfo(), flags=re.MULTILINE))
    return f"family {facts['cpu family']}, model {facts['model']}"


def best_isa(flags: Collection[str]) -> str:
    """Returns the highest level of x86-64 that a CPU with these flags of /proc/cpuinfo reaches."""
    best = "x86-64"
    for level, added in _LEVELS.items():
        if not added <= set(flags):
            break
        best = level
    return best


def flags() -> list[str]:
    """Returns the flags that /proc/cpuinfo lists for this machine's first CPU."""
    listed = re.search(r"^flags\s*: (.*)$", _cpuinfo(), flags=re.MULTILINE)
    return listed[1].split() if listed else []


def usable_isas() -> list[str]:
    """Returns the levels of x86-64 that the portable engine has builds for and this CPU can run, the best one last."""
    names = sorted(build.suffix[1:] for build in _LAUNCHER.parent.glob("natxy-engine.*"))
    return [name for name in names if _starts(name)]


def _cpuinfo() -> str:
    return Path("/proc/cpuinfo").read_text(encoding="utf-8")


def _starts(isa: str) -> bool:
    return subprocess.run([_LAUNCHER, "--isa", isa, "--version"], capture_output=True, check=False).returncode == 0
