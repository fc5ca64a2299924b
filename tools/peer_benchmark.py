# SPDX-License-Identifier: Apache-2.0
"""The engine's tasks against DPDK's own testpmd, side by side, and what they cost besides: `make bench`.

Machines are shared and their speed drifts, so the two take turns, every round gives one ratio, and seconds are those
that the thread had the core. The ratios go to build/bench/ratios.json as a list of {name, ratio_median, ratio_min,
ratio_max, goal}, how late frames left to build/bench/pacing.json as a list of {name, median_ns, p99_ns, p999_ns,
max_ns}, what a phase 1 of 100 million connections costs to build/bench/phase1.json. `make docs` makes tables of them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tools.testpmd import FIRST, forwarding, stopped_fps
from tools.wirings import Wiring, net_memif, net_ring, veth

TASKS: Final = Path("build/engine/task_bench")
PHASE1: Final = Path("build/engine/phase1_bench")
MEASURED: Final = Path("build/bench")
SECONDS: Final = 0.5
ROUNDS: Final = 5
FAMILIES: Final = ("ipv4", "ipv6")


@dataclass(frozen=True)
class Ratio:
    name: str
    goal: float


# A task, and what testpmd does beside it.
COMPARED: Final = [
    (f"{name}-{family}", peer, goal)
    for name, peer, goal in (
        ("send-fixed", "txonly", 1.5),
        ("send-ports", "txonly", 1.5),
        ("send-addresses-ports", "txonly", 1.5),
        ("send-enumerated", "txonly", 1.5),
        ("respond-4M", "txonly", 1.0),
        ("respond-100M", "txonly", 1.0),
        ("receive", "rxonly", 0.5),
        ("receive-learn-4M", "rxonly", 0.5),
    )
    for family in FAMILIES
]

# siitperf's receiver, rreceive, got 19 million frames a second where testpmd's rxonly had 109: net_null, 64 bytes over
# IPv4, one core of a virtual machine as in docs/explanation/speed.md; measured once, apart from all else here.
SIITPERF_RECEIVES: Final = 19 / 109

# Whoever can send twice as much with two cores is limited by neither memory nor what cores share.
SCALED: Final = "send-addresses-ports-ipv4"
PACED: Final = [f"{method}-{rate}" for rate in ("10k", "100k", "1M") for method in ("paced", "spun")]


def ways(core: int, other: int) -> dict[str, Callable[[int], AbstractContextManager[Wiring]]]:
    """What there is on this machine besides a port that throws frames away."""
    across = {"net_ring": net_ring, "net_memif": net_memif} if other != core else {}
    return across | ({"veth": veth} if os.geteuid() == 0 else {})


def printed(argv: Sequence[str | Path]) -> list[dict[str, Any]]:
    process = subprocess.run([*FIRST, *argv], capture_output=True, text=True, check=False)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, argv))} ended with {process.returncode}:\n{process.stderr}")
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]


def task(name: str, *cores: int, wiring: Wiring | None = None) -> dict[str, Any]:
    """On each of `cores` at once, in one program."""
    argv: list[str | Path] = [TASKS, name, ",".join(map(str, cores)), str(SECONDS)]
    if wiring:
        argv = [*wiring.prefix, *argv, wiring.device, *wiring.arguments]
    return printed(argv)[0]


def testpmd_fps(mode: str, core: int, control_core: int, wiring: Wiring) -> float:
    with forwarding(
        mode, wiring.device, core, control_core, prefix=wiring.prefix, environment=wiring.environment
    ) as process:
        time.sleep(SECONDS)
        return stopped_fps(mode, process)


def one_round(core: int, other: int) -> Iterator[tuple[Ratio, float]]:
    peers = {
        "txonly": testpmd_fps("txonly", core, other, Wiring("net_null0,no-rx=1")),
        "rxonly": testpmd_fps("rxonly", core, other, Wiring("net_null0")),
    }
    for name, peer, goal in COMPARED:
        ratio = task(name, core)["fps"] / peers[peer]
        yield Ratio(f"{name} / testpmd {peer}", goal), ratio
        if name == "receive-ipv4":
            yield Ratio(f"{name} / siitperf's receiver", 1.0), ratio / SIITPERF_RECEIVES
    for way, wired in ways(core, other).items():
        with wired(other) as wiring:
            peer_fps = testpmd_fps("txonly", core, other, wiring)
        for family in FAMILIES:
            name = f"send-addresses-ports-{family}"
            with wired(other) as wiring:
                ratio = task(name, core, wiring=wiring)["fps"] / peer_fps
            yield Ratio(f"{name} over {way} / testpmd txonly", 1.0), ratio
    if other != core:
        both = task(SCALED, core, other)["fps"]
        yield Ratio(f"{SCALED} on two cores / on one", 2.0), both / task(SCALED, core)["fps"]


def main() -> None:
    cores = sorted(os.sched_getaffinity(0))
    core, other = cores[0], cores[-1]
    ratios: dict[Ratio, list[float]] = {}
    lateness: dict[str, list[dict[str, Any]]] = {}
    for _ in track(range(ROUNDS), "natxy and testpmd in turns", console=Console(stderr=True)):
        for ratio, measured in one_round(core, other):
            ratios.setdefault(ratio, []).append(measured)
        for name in PACED:
            lateness.setdefault(name, []).append(task(name, core))
    tables = {
        "ratios": [summary(ratio, measured) for ratio, measured in ratios.items()],
        # Others that take the core away make frames late, never early: the quietest round tells most of the method.
        "pacing": [min(rounds, key=lambda result: float(result["p999_ns"])) for rounds in lateness.values()],
        "phase1": printed([PHASE1, str(core), str(other)]),
    }
    MEASURED.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        (MEASURED / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        show(name, rows)


def summary(ratio: Ratio, measured: Sequence[float]) -> dict[str, Any]:
    return {
        "name": ratio.name,
        "ratio_median": round(statistics.median(measured), 3),
        "ratio_min": round(min(measured), 3),
        "ratio_max": round(max(measured), 3),
        "goal": ratio.goal,
    }


def show(title: str, rows: Iterable[dict[str, Any]]) -> None:
    table = Table(title=title)
    for row in rows:
        if not table.columns:
            for column in row:
                table.add_column(column, justify="left" if column == "name" else "right")
        table.add_row(*(value if isinstance(value, str) else f"{value:,}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
