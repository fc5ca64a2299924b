# SPDX-License-Identifier: Apache-2.0
"""The engine's tasks on one core against DPDK's own testpmd on that core, side by side: `make bench`.

Machines are shared and their speed drifts, so the two take turns, every round gives one ratio, and seconds are those
that the thread had the core. The ratios go to build/bench/ratios.json as a list of {name, ratio_median, ratio_min,
ratio_max, goal}, how late frames left to build/bench/pacing.json as a list of {name, median_ns, p99_ns, p999_ns,
max_ns}. `make docs` makes tables of both.
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
PACING: Final = Path("build/bench/pacing.json")
SECONDS: Final = 0.5
START_S: Final = 1.5
PACING_S: Final = 0.5
# As a trial's workers go before all others, so do both sides here.
FIRST: Final = ["nice", "-n", "-20"]
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

    @property
    def name(self) -> str:
        return f"{self.task} / testpmd {self.peer}"


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


# Whoever can send twice as much with two cores is limited by neither memory nor what cores share.
SCALED: Final = "send-addresses-ports-ipv4"
PACED: Final = [f"{method}-{rate}" for rate in ("10k", "100k", "1M") for method in ("paced", "spun")]


def task(name: str, core: int, seconds: float = SECONDS) -> subprocess.Popen[str]:
    return subprocess.Popen([*FIRST, TASKS, name, str(core), str(seconds)], stdout=subprocess.PIPE, text=True)


def printed(process: subprocess.Popen[str]) -> dict[str, str | float]:
    output, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{TASKS} ended with {process.returncode}")
    result: dict[str, str | float] = json.loads(output.splitlines()[-1])
    return result


def task_fps(name: str, *cores: int) -> float:
    """Of one such task on each of `cores`, all at once."""
    return sum(float(printed(process)["fps"]) for process in [task(name, core) for core in cores])


def testpmd_fps(mode: str, core: int, control_core: int) -> float:
    """Per second that its forwarding thread had the core, as `task_fps` counts."""
    received = mode == "rxonly"
    port = f"--vdev=net_null0,no-rx={0 if received else 1}"
    argv = [
        *FIRST, "dpdk-testpmd", "--no-pci", "--no-huge", "-m", "1024", "--no-telemetry", "--no-shconf",
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
    ratios: dict[str, list[float]] = {comparison.name: [] for comparison in COMPARISONS}
    scaled: list[float] = []
    lateness: dict[str, list[dict[str, str | float]]] = {name: [] for name in PACED}
    for _ in track(range(ROUNDS), "natxy and testpmd in turns", console=Console(stderr=True)):
        peers = {mode: testpmd_fps(mode, core, control_core) for mode in FORWARD_MODES}
        for comparison in COMPARISONS:
            ratios[comparison.name].append(task_fps(comparison.task, core) / peers[comparison.peer])
        if control_core != core:
            scaled.append(task_fps(SCALED, core, control_core) / task_fps(SCALED, core))
        for name in PACED:
            lateness[name].append(printed(task(name, core, PACING_S)))
    results = [summary(comparison.name, ratios[comparison.name], comparison.goal) for comparison in COMPARISONS]
    if scaled:
        results.append(summary(f"{SCALED} on two cores / on one", scaled, 2.0))
    # Others that take the core away make frames late, never early: the quietest round tells most of the method.
    pacing = [min(rounds, key=lambda result: float(result["p999_ns"])) for rounds in lateness.values()]
    RATIOS.parent.mkdir(parents=True, exist_ok=True)
    RATIOS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PACING.write_text(json.dumps(pacing, indent=1) + "\n", encoding="utf-8")
    show(results)
    Console().print(pacing_table(pacing))


def summary(name: str, ratios: list[float], goal: float) -> dict[str, str | float]:
    return {
        "name": name,
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "goal": goal,
    }


def pacing_table(pacing: list[dict[str, str | float]]) -> Table:
    table = Table(title="How late frames left, nanoseconds, the quietest round")
    table.add_column("Method and rate")
    for title in ("Median", "99 %", "99.9 %", "Max"):
        table.add_column(title, justify="right")
    for result in pacing:
        values = (result[key] for key in ("median_ns", "p99_ns", "p999_ns", "max_ns"))
        table.add_row(str(result["name"]), *(f"{value:,}" for value in values))
    return table


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
