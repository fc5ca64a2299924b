# SPDX-License-Identifier: Apache-2.0
"""Completes names of plans, runs and drivers, for shells.

Shells interpret what they are given, and file names can be others'. So names with other characters than `PLAIN` allows
are left to the shell's own completion of files, which follows whenever natxy knows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from natxy.results import RESULTS_FILE

PLAIN: Final = re.compile(r"[\w./+,@%~-]+", re.ASCII)


def plans(incomplete: str) -> list[str]:
    """Returns the YAML files in the folder of the incomplete path, and in the folders below it."""
    return paths(incomplete, "*.yaml")


def runs(incomplete: str) -> list[str]:
    """Returns the folders of runs in the folder of the incomplete path, and in the folders below it."""
    return [str(Path(file).parent) for file in paths(incomplete, f"*/{RESULTS_FILE}")]


def drivers() -> list[tuple[str, str]]:
    """Returns the names of the drivers of a single gateway, each with its summary."""
    from natxy.dut.registry import SINGLE_GATEWAYS

    return [(driver.name, driver.summary) for driver in SINGLE_GATEWAYS.values()]


def paths(incomplete: str, pattern: str) -> list[str]:
    """Returns the files that match the pattern in the folder of the incomplete path and in those below it."""
    folder = incomplete.rpartition("/")[0] + "/" if "/" in incomplete else ""
    try:
        found: Iterator[Path] = chain(Path(folder or ".").glob(pattern), Path(folder or ".").glob(f"*/{pattern}"))
        paths = [folder + str(file.relative_to(folder or ".")) for file in found]
    except OSError:
        return []
    return sorted(path for path in paths if PLAIN.fullmatch(path))
