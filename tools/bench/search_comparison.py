# SPDX-License-Identifier: Apache-2.0
"""Compares how well and how fast searches find a gateway's throughput while the gateway pauses or varies.

`python -m tools.bench.search_comparison` measures the simulated gateway, whose truth and whose stalls are known.
`--reference MINUTES FOLDER` measures natxy-reference, whose truth and outages are set, with real frames over shared
memory. `--lab MINUTES FOLDER` measures forwarding and nftables NAT44 in a lab on this machine. Both measure all
searches in turn until the time is over; runs that FOLDER already has count too. All print Markdown tables. "Off" is the
difference between the median and the truth, which a lab does not know. "Middle 90 %" are the 5th and the 95th
percentile, relative to the truth or, in a lab, to the search's own median.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from natxy.events.listener import RunListener
from natxy.plan.model.timing import LAB_TIMING
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord
from natxy.run.run import run_plan


def _mlr(exceed_ratio: float, trials: int, trial: str) -> dict[str, Any]:
    goal = {"initial_trial": "100ms", "final_trial": trial, "trials": trials, "exceed_ratio": exceed_ratio}
    return {"kind": "mlrsearch", "error": "2%", "goal": goal}


SEARCHES: Final[dict[str, dict[str, Any]]] = {
    "binary": {"kind": "binary", "error": "1%"},
    "mlrsearch 0 × 1, 250 ms": _mlr(0, 1, "250ms"),
    "mlrsearch 0.5 × 2, 500 ms": _mlr(0.5, 2, "500ms"),
    "mlrsearch 0.25 × 4, 250 ms": _mlr(0.25, 4, "250ms"),
    "robust (0.5 × 5, 100 ms)": {"error": "2%"},
    "mlrsearch 0.5 × 7, 100 ms": _mlr(0.5, 7, "100ms"),
    "mlrsearch 0.5 × 9, 100 ms": _mlr(0.5, 9, "100ms"),
    "mlrsearch 0.5 × 3, 150 ms": _mlr(0.5, 3, "150ms"),
    "mlrsearch 0.5 × 5, 200 ms": _mlr(0.5, 5, "200ms"),
    "mlrsearch 0.5 × 7, 150 ms": _mlr(0.5, 7, "150ms"),
    "mlrsearch 0.5 × 10, 250 ms": _mlr(0.5, 10, "250ms"),
    "mlrsearch 0.6 × 5, 100 ms": _mlr(0.6, 5, "100ms"),
    "mlrsearch 0.6 × 5, 200 ms": _mlr(0.6, 5, "200ms"),
}
LIMITS: Final = {"min_rate": "10k", "max_rate": "600k"}
REFERENCE_FPS: Final = 333e3
REFERENCE_OUTAGES: Final = {
    "natxy-reference": None,
    "natxy-reference, all frames lost for 4.5 ms every 2 s on average": "2s",
    "natxy-reference, all frames lost for 4.5 ms every 500 ms on average": "500ms",
}
TRUTHS_FPS: Final = tuple(210e3 * (1 + number / 9) for number in range(12))


@dataclass(frozen=True)
class Disturbance:
    """Holds how much the gateway's rate varies from trial to trial, and the mean time between stalls, if there are any.

    A stall lasts longer than the gateway's buffer covers.
    """

    title: str
    noise: float
    stalls_every: str | None = None


DISTURBANCES: Final = (
    Disturbance("No stalls", 0.02),
    Disturbance("A stall of 6 ms every 2 s on average", 0.02, "2s"),
    Disturbance("A stall of 6 ms every 500 ms on average", 0.02, "500ms"),
    Disturbance("A core whose speed changes, so that the rate varies by 12 % from trial to trial", 0.12),
)


@dataclass(frozen=True)
class Found:
    """Holds one repetition: the rate found, as a share of the truth or in frames per second, and its cost."""

    rate: float
    seconds: float
    trials: int


def simulated(search: dict[str, Any], disturbance: Disturbance, repeat: int) -> list[Found]:
    """Returns the results for several truths, `repeat` of each."""
    found = []
    for seed, truth_fps in enumerate(TRUTHS_FPS):
        gateway: dict[str, Any] = {"driver": "simulated", "forwarding_fps": 2 * truth_fps, "buffer_frames": 1000}
        if disturbance.stalls_every:
            gateway["stalls"] = {"every": disturbance.stalls_every, "duration": "6ms", "watched": False}
        experiment = {"name": "e", "gateway": gateway, "procedure": "throughput", "search": LIMITS | search}
        testbed = {"kind": "simulated", "noise": disturbance.noise}
        plan = {"name": "p", "seed": seed, "timing": "lab", "repeat": repeat, "testbed": testbed}
        with TemporaryDirectory() as folder:
            run_plan(
                resolve(Plan.model_validate(plan | {"experiments": [experiment]})), Path(folder) / "run", RunListener()
            )
            [record] = RunReader(Path(folder) / "run").run.experiments
        found += [
            Found(repetition.value / truth_fps, _virtual_s(repetition), len(repetition.trials))
            for repetition in record.repetitions
            if repetition.value is not None
        ]
    return found


def _virtual_s(repetition: RepetitionRecord) -> float:
    waits_s = LAB_TIMING.settle + TRIAL_OVERHEAD_S
    # The drain ends as soon as all frames have arrived.
    return sum(trial.duration_s + waits_s + LAB_TIMING.drain * (trial.lost > 0) for trial in repetition.trials)


def measured(
    plan_of: Callable[[int], Plan], minutes: float, folder: Path, truth_fps: float | None = None
) -> dict[tuple[str, str], list[Found]]:
    """Measures plans with all searches until the time is over; returns the results by gateway and search.

    `plan_of` returns a plan for a seed. An experiment's title is its gateway and its search. Rates are returned as
    shares of `truth_fps`, if it is known.
    """
    end_s = time.monotonic() + 60 * minutes
    while time.monotonic() < end_s:
        number = len([*folder.glob("*/results.sqlite")])
        run_plan(resolve(plan_of(number)), folder / f"{number:03}", RunListener())
    found: dict[tuple[str, str], list[Found]] = {}
    for results in sorted(folder.glob("*/results.sqlite")):
        for experiment in RunReader(results.parent).run.experiments:
            gateway, _, search = experiment.title.partition(": ")
            for repetition in experiment.repetitions:
                if search and repetition.value is not None and repetition.finished_at:
                    started, finished = map(datetime.fromisoformat, (repetition.started_at, repetition.finished_at))
                    seconds = (finished - started).total_seconds()
                    found.setdefault((gateway, search), []).append(
                        Found(repetition.value / (truth_fps or 1.0), seconds, len(repetition.trials))
                    )
    return found


def _reference_plan(seed: int) -> Plan:
    experiments: list[dict[str, Any]] = []
    limit = {"driver": "reference", "max_rate": 2 * REFERENCE_FPS, "rate_scope": "aggregate", "buffer_frames": 1000}
    for title, every in REFERENCE_OUTAGES.items():
        gateway = limit | {"seed": seed, "outages": {"every": every, "duration": "4.5ms"} if every else None}
        for name, search in SEARCHES.items():
            experiment = {"name": f"e{len(experiments)}", "title": f"{title}: {name}", "gateway": gateway}
            experiments.append(experiment | {"procedure": "throughput", "search": LIMITS | search})
    plan = {"name": "searches", "seed": seed, "timing": "lab", "repeat": 1, "testbed": {"kind": "memif"}}
    return _plan(plan, experiments)


def _lab_plan(seed: int) -> Plan:
    nat = {"gateway": {"driver": "nftables", "udp_timeout_s": 120}, "connections": "20k"}
    rate = {"procedure": "connection-rate", "search": {"min_rate": "10k", "max_rate": "1M", "error": "5%"}}
    experiments: list[dict[str, Any]] = [nat | rate | {"name": "rate"}]
    for number, (name, search) in enumerate(SEARCHES.items()):
        throughput = {"procedure": "throughput", "search": LIMITS | search}
        known = {"phase1_rate": {"experiment": "rate", "percent": 50}}
        forwarding = {"name": f"forwarding-{number}", "title": f"forwarding: {name}", "gateway": "linux-forward"}
        experiments.append(throughput | forwarding)
        experiments.append(throughput | nat | known | {"name": f"nat44-{number}", "title": f"NAT44: {name}"})
    return _plan({"name": "searches", "seed": seed, "timing": "lab", "repeat": 1}, experiments)


def _plan(plan: dict[str, Any], experiments: list[dict[str, Any]]) -> Plan:
    return Plan.model_validate(plan | {"experiments": [{"max_invalid": 20} | each for each in experiments]})


def row(name: str, found: Sequence[Found], truth: float | None = None, *, middle: bool = False) -> str:
    """Returns the search's row; shares are of `truth`, or of the search's own median without one.

    `middle`: the row has the range of the middle 90 %, which few results do not tell.
    """
    rates = [each.rate for each in found]
    low, high = (percent / (truth or median(rates)) for percent in np.percentile(rates, [5, 95]))
    worst = min(rates) / (truth or median(rates))
    off = f"{100 * (median(rates) / truth - 1):+.1f} %" if truth else f"{median(rates):,.0f}"
    most = f" {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} % |" if middle else ""
    return (
        f"| {name} | {off} |{most} {100 * (worst - 1):+.1f} % "
        f"| {mean(each.seconds for each in found):.1f} | {mean(each.trials for each in found):.1f} |"
    )


def simulated_tables(repeat: int) -> Iterator[str]:
    for disturbance in DISTURBANCES:
        yield f"\n{disturbance.title}:\n"
        yield "| search | off | middle 90 % | worst | seconds | trials |\n|---|---|---|---|---|---|"
        for name, search in SEARCHES.items():
            yield row(name, simulated(search, disturbance, repeat), truth=1.0, middle=True)


def measured_tables(found: dict[tuple[str, str], list[Found]], truth: float | None = None) -> Iterator[str]:
    for gateway in dict.fromkeys(gateway for gateway, _ in found):
        repetitions = min(len(results) for (of, _), results in found.items() if of == gateway)
        yield f"\n{gateway}, at least {repetitions} repetitions each:\n"
        yield f"| search | {'off' if truth else 'median'} | worst | seconds | trials |"
        yield "|---|---|---|---|---|"
        yield from (row(name, results, truth) for (of, name), results in found.items() if of == gateway)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare searches while the gateway pauses now and then.")
    real = parser.add_mutually_exclusive_group()
    real.add_argument("--lab", nargs=2, metavar=("MINUTES", "FOLDER"), help="measure in a lab on this machine")
    real.add_argument("--reference", nargs=2, metavar=("MINUTES", "FOLDER"), help="measure natxy-reference")
    parser.add_argument("--repeat", type=int, default=20, help="simulated repetitions of each truth; default: 20")
    given = parser.parse_args()
    if given.reference:
        minutes, folder = float(given.reference[0]), Path(given.reference[1])
        tables = measured_tables(measured(_reference_plan, minutes, folder, REFERENCE_FPS), truth=1.0)
    elif given.lab:
        tables = measured_tables(measured(_lab_plan, float(given.lab[0]), Path(given.lab[1])))
    else:
        tables = simulated_tables(given.repeat)
    for line in tables:
        print(line, flush=True)


if __name__ == "__main__":
    main()
