# SPDX-License-Identifier: Apache-2.0
"""Measures the start of the programs that stand in for siitperf's, in a lab: `make bench`.

siitperf_start.json has a row for each way of calling them, with the seconds from the start of a program to its first
frame at the gateway, and the load of the last minute: other programs delay a start.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track

from natxy.system.temporary_folder import temporary_folder
from tests.support.siitperf_start import MOST_S, WAYS, Way, bed_to_start_in, to_first_frame_s
from tools.bench.peer_benchmark import save, show
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED

_ROUNDS: Final = 9


def main() -> None:
    rows = []
    with machine_given_back():
        for name, way in track(WAYS.items(), "the programs' start", console=Console(stderr=True)):
            with temporary_folder("natxy-bench-") as folder:
                rows.append(row(name, measure(way, folder)))
    MEASURED.mkdir(parents=True, exist_ok=True)
    save("siitperf_start", rows)
    show("start of siitperf's programs, seconds", rows)


def measure(way: Way, folder: Path) -> list[float]:
    """Returns the seconds of each call, in a lab of its own: an engine that is kept open keeps its ports to itself."""
    with bed_to_start_in(folder) as bed:
        # It makes what later calls find: the run, or the engine.
        to_first_frame_s(bed, way)
        return [to_first_frame_s(bed, way) for _ in range(_ROUNDS)]


def row(name: str, took_s: list[float]) -> dict[str, Any]:
    return {
        "name": name,
        "median_s": round(statistics.median(took_s), 3),
        "least_s": round(min(took_s), 3),
        "most_s": round(max(took_s), 3),
        "goal_s": MOST_S,
        "load": round(os.getloadavg()[0], 1),
    }


if __name__ == "__main__":
    main()
