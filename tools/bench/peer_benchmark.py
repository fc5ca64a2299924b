# SPDX-License-Identifier: Apache-2.0
"""Compares the engine's tasks with DPDK's testpmd, and measures pacing and phase 1: `make bench`.

The speed of a shared machine drifts, so testpmd runs directly before and after every two tasks, and ratios are to the
mean of its two rates. Rates are per second that the thread had the core. The results are files in build/bench:
ratios.json, a list of {name, ratio_median, ratio_min, ratio_max, goal, cpu, isa}; pacing.json, the lateness of frames;
phase1.json, the cost of a phase 1 of 100 million connections; conditions.json, the machine and the settings.
`make docs` makes tables of them.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from natxy.system.machine import describe_machine
from tools.bench.hugepages import reserved
from tools.bench.processor import best_isa, flags, model
from tools.bench.programs import PHASE1, printed, task
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED, below_goal
from tools.bench.testpmd import Testpmd
from tools.bench.wirings import Way, endless, net_memif, net_ring, nowhere, veth

SECONDS: Final = 0.5
ROUNDS: Final = 5
FAMILIES: Final = ("ipv4", "ipv6")
# A task that sends twice as much on two cores is limited by no resource that the cores share.
SCALED: Final = "send-addresses-ports-ipv4"
NUMBERS_OF_CORES: Final = {2: "two", 4: "four", 8: "eight", 16: "sixteen"}
RATES: Final = ("10k", "100k", "1M")
# Goals for the 99.9th percentile of lateness in ns: as trials send, the simplest sender, and a loop without frames.
PACED: Final[Mapping[str, int | None]] = {"paced": 1000, "spun": None, "seen": None}


@dataclass(frozen=True)
class Ratio:
    name: str
    goal: float | None


@dataclass(frozen=True)
class Compared:
    """Pairs a task with a mode of testpmd and the ratio to reach."""

    task: str
    mode: str
    goal: float
    way: Way = nowhere
    over: str = ""


COMPARED: Final = (
    Compared("send-fixed", "txonly", 1.8),
    Compared("send-ports", "txonly", 1.8),
    Compared("send-addresses-ports", "txonly", 1.8),
    Compared("send-enumerated", "txonly", 1.6),
    Compared("respond-4M", "txonly", 1.2),
    Compared("respond-100M", "txonly", 1.0),
    # Every segment of a TCP connection's life is sent and received.
    Compared("lives-4M", "txonly", 0.5),
    Compared("lives-100M", "txonly", 0.5),
    Compared("receive", "rxonly", 0.8, endless),
    Compared("receive-learn-4M", "rxonly", 0.6, endless),
)
BETWEEN_CORES: Final = (
    Compared("send-addresses-ports", "txonly", 1.0, net_ring, " over net_ring"),
    Compared("send-addresses-ports", "txonly", 1.0, net_memif, " over net_memif"),
)
AS_ROOT: Final = (Compared("send-addresses-ports", "txonly", 1.0, veth, " over veth"),)


def beside(peer: Callable[[], float], tasks: Mapping[str, Callable[[], float]]) -> Iterator[tuple[str, float]]:
    """Yields the ratio of each task to the peer, which runs before and after them: an even drift cancels out."""
    before = peer()
    measured = {name: run() for name, run in tasks.items()}
    mean = (before + peer()) / 2
    return ((name, value / mean) for name, value in measured.items())


class Bench:
    """Runs natxy's tasks and testpmd on the first core, their control threads and the receiver on the last one."""

    def __init__(self, cores: Sequence[int]) -> None:
        self._cores = cores
        core, other = cores[0], cores[-1]
        #: Properties of the program, from a first run that also warms the core up.
        self.program = task(SCALED, [core], SECONDS)
        hugepages = self.program["hugepages"]
        self._testpmd, self._receiver = Testpmd(core, other, hugepages), Testpmd(other, other, hugepages)

    def one_round(self) -> Iterator[tuple[Ratio, float]]:
        across = BETWEEN_CORES if len(self._cores) > 1 else ()
        for compared in (*COMPARED, *across, *(AS_ROOT if os.geteuid() == 0 else ())):
            tasks = [f"{compared.task}-{family}" for family in FAMILIES]
            for name, ratio in beside(
                partial(self._testpmd_fps, compared.mode, compared.way),
                {name: partial(self._task_fps, name, compared.way) for name in tasks},
            ):
                yield Ratio(f"{name}{compared.over} / testpmd", compared.goal), ratio
        for cores, word in NUMBERS_OF_CORES.items():
            if cores <= len(self._cores):
                one, all_of_them = (partial(self._task_fps, SCALED, nowhere, number) for number in (1, cores))
                for name, ratio in beside(one, {SCALED: all_of_them}):
                    yield Ratio(f"{name} on {word} cores / on one", 0.975 * cores), ratio

    def paced(self) -> Iterator[dict[str, Any]]:
        for rate in RATES:
            for method, goal_ns in PACED.items():
                found = task(f"{method}-{rate}", self._cores[:1], SECONDS)
                yield {key: found[key] for key in ("name", "median_ns", "p99_ns", "p999_ns", "max_ns")} | {
                    "goal_p999_ns": goal_ns
                }

    def phase1(self) -> list[dict[str, Any]]:
        return printed([PHASE1, str(self._cores[0]), str(self._cores[-1])])

    def _testpmd_fps(self, mode: str, way: Way) -> float:
        with way(self._receiver) as wiring:
            return self._testpmd.fps(mode, wiring, SECONDS)

    def _task_fps(self, name: str, way: Way, cores: int = 1) -> float:
        with way(self._receiver) as wiring:
            result = task(name, self._cores[:cores], SECONDS, wiring)
        if result["hugepages"] != self.program["hugepages"]:
            sys.exit("make bench: free hugepages came or went, and testpmd would have others than natxy; start again")
        return float(result["fps"])


def main() -> None:
    with machine_given_back(), reserved():
        measure()


def measure() -> None:
    begin = time.monotonic()
    bench = Bench(sorted(os.sched_getaffinity(0)))
    ratios: dict[Ratio, list[float]] = {}
    lateness: dict[str, list[dict[str, Any]]] = {}
    for _ in track(range(ROUNDS), "natxy and testpmd in turns", console=Console(stderr=True)):
        for ratio, measured in bench.one_round():
            ratios.setdefault(ratio, []).append(measured)
        for paced in bench.paced():
            lateness.setdefault(paced["name"], []).append(paced)
    tables = {
        "ratios": [summary(ratio, measured) for ratio, measured in ratios.items()],
        "pacing": [quietest(rounds) for rounds in lateness.values()],
        "phase1": bench.phase1(),
    }
    MEASURED.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        save_rows(name, rows)
        show(name, rows)
    machine = describe_machine()
    save(
        "conditions",
        {key: machine[key] for key in ("processor", "cores", "kernel")}
        | {"model": model(), "isa": best_isa(flags())}
        | {key: bench.program[key] for key in ("compiler", "dpdk", "hugepages")}
        | {"rounds": ROUNDS, "seconds": SECONDS, "took_s": round(time.monotonic() - begin)},
    )


def summary(ratio: Ratio, measured: Sequence[float]) -> dict[str, Any]:
    return {
        "name": ratio.name,
        "ratio_median": round(statistics.median(measured), 3),
        "ratio_min": round(min(measured), 3),
        "ratio_max": round(max(measured), 3),
        "goal": ratio.goal,
    }


def quietest(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns the round with the least lateness, plus the worst round's 99.9th percentile. Other programs on the core
    only add lateness, so the quietest round describes the method best."""
    best = min(rounds, key=lambda found: float(found["p999_ns"]))
    return best | {"p999_worst_ns": max(found["p999_ns"] for found in rounds)}


def save_rows(name: str, rows: Iterable[dict[str, Any]]) -> None:
    """Saves rows, each of which says on which CPU it was measured."""
    where = {"cpu": f"{describe_machine()['processor']}, {model()}", "isa": best_isa(flags())}
    save(name, [row | where for row in rows])


def save(name: str, what: object) -> None:
    (MEASURED / f"{name}.json").write_text(json.dumps(what, indent=1) + "\n", encoding="utf-8")


def show(title: str, rows: Iterable[dict[str, Any]]) -> None:
    """Prints a table that fits a terminal of 80 columns."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for row in rows:
        if not table.columns:
            for column in row:
                heading, is_name = column.removeprefix("ratio_").replace("_", " "), column == "name"
                table.add_column(heading, justify="left" if is_name else "right", no_wrap=is_name)
            table.add_column()
        below = below_goal(row)
        table.add_row(*map(_shown, row.values()), "below" if below else "", style="bold red" if below else "")
    Console().print(table)


def _shown(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


if __name__ == "__main__":
    main()
