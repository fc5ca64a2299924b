# SPDX-License-Identifier: Apache-2.0
"""The engine's tasks on one core against DPDK's own testpmd on that core, side by side: `make bench`.

Machines are shared and their speed drifts, so the two take turns, every round gives one ratio, and seconds are those
that the thread had the core. The ratios go to
build/bench/ratios.json as a list of {name, ratio_median, ratio_min, ratio_max, goal}.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

TASKS: Final = Path("build/engine/task_bench")
RATIOS: Final = Path("build/bench/ratios.json")
SECONDS: Final = 1.0
START_S: Final = 1.5
ROUNDS: Final = 5

# Of testpmd, 64 bytes with the FCS: what it sends without looking at a clock, and what it receives without looking in.
FORWARD_MODES: Final = {
    "txonly": ["--forward-mode=txonly", "--txonly-multi-flow", "--txpkts=60"],
    "rxonly": ["--forward-mode=rxonly"],
}


@dataclass(frozen=True)
class Comparison:
    task: str
    peer: str
    goal: float


COMPARISONS: Final = [
    Comparison(f"{task}-{family}", peer, goal)
    for task, peer, goal in (
        ("send-fixed", "txonly", 1.5),
        ("send-ports", "txonly", 1.5),
        ("send-addresses-ports", "txonly", 1.5),
        ("send-enumerated", "txonly", 1.5),
        ("respond-4M", "txonly", 1.0),
        ("respond-100M", "txonly", 1.0),
        ("receive", "rxonly", 0.5),
        ("receive-learn-4M", "rxonly", 0.5),
    )
    for family in ("ipv4", "ipv6")
]


def task_fps(name: str, core: int) -> float:
    output = subprocess.run([TASKS, name, str(core), str(SECONDS)], check=True, capture_output=True, text=True).stdout
    return float(json.loads(output.splitlines()[-1])["fps"])


def testpmd_fps(mode: str, core: int, control_core: int) -> float:
    """Per second that its forwarding thread had the core, as `task_fps` counts."""
    received = mode == "rxonly"
    port = f"--vdev=net_null0,no-rx={0 if received else 1}"
    argv = [
        "dpdk-testpmd", "--no-pci", "--no-huge", "-m", "1024", "--no-telemetry", "--no-shconf",
        "--log-level=*:error", "--lcores", f"0@{control_core},1@{core}", "--main-lcore=0", port, "--",
        *FORWARD_MODES[mode], "--port-topology=loop", "--burst=32", "--nb-cores=1", "--total-num-mbufs=16384",
        "--stats-period=60", "--auto-start",
    ]  # fmt: skip
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(START_S + SECONDS)
        taken_s = thread_s(process.pid, "rte-worker-1")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    direction = "RX" if received else "TX"
    frames = re.findall(rf"{direction}-packets: (\d+)", output)
    if not frames or not taken_s:
        sys.exit(f"dpdk-testpmd printed no counters:\n{output}")
    return int(frames[-1]) / taken_s


def thread_s(pid: int, name: str) -> float:
    """Seconds on a core, of the process' thread of that name."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    return 0.0


def main() -> None:
    cores = sorted(os.sched_getaffinity(0))
    core, control_core = cores[0], cores[-1]
    ratios: dict[str, list[float]] = {comparison.task: [] for comparison in COMPARISONS}
    for _ in track(range(ROUNDS), "natxy and testpmd in turns", console=Console(stderr=True)):
        peers = {mode: testpmd_fps(mode, core, control_core) for mode in FORWARD_MODES}
        for comparison in COMPARISONS:
            ratios[comparison.task].append(task_fps(comparison.task, core) / peers[comparison.peer])
    results: list[dict[str, str | float]] = [
        {
            "name": f"{comparison.task} / testpmd {comparison.peer}",
            "ratio_median": round(statistics.median(ratios[comparison.task]), 3),
            "ratio_min": round(min(ratios[comparison.task]), 3),
            "ratio_max": round(max(ratios[comparison.task]), 3),
            "goal": comparison.goal,
        }
        for comparison in COMPARISONS
    ]
    RATIOS.parent.mkdir(parents=True, exist_ok=True)
    RATIOS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    show(results)


def show(results: list[dict[str, str | float]]) -> None:
    table = Table(title="Frames per second on one core, relative to testpmd (burst 32, net_null, 64 bytes)")
    table.add_column("Task")
    for title in ("Median", "Min", "Max", "Goal"):
        table.add_column(title, justify="right")
    for result in results:
        values = (result[key] for key in ("ratio_median", "ratio_min", "ratio_max", "goal"))
        table.add_row(str(result["name"]), *(f"{value:.2f}" for value in values))
    Console().print(table)


if __name__ == "__main__":
    main()
