# SPDX-License-Identifier: Apache-2.0
"""Measures how often `natxy compare` finds a known shift: `python -m tools.detection FOLDER [--shift 3] …`.

The reference gateway forwards with real frames at a rate that is known, and at one that is lower by the shift. Runs at
the same rate are compared with each other, and with runs at the other. It prints both rates of detection, which have to
be at most 1 of 20 and at least 9 of 10; otherwise the exit code is 1. The runs stay in FOLDER.

The gateway's buffer lets more frames pass in short trials than its rate, in both runs alike. Results hardly vary over
memif; with `--testbed lab` the kernel's veth pairs add noise.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from natxy.events.listener import RunListener
from natxy.plan.yaml.loading import load_plan
from natxy.results.analysis.compare import Compared, Verdict, compare
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan

# The search begins around the truth, so that a repetition takes few trials.
_AROUND: Final = 0.15
_FOUND_AT_LEAST: Final = 0.9
_FLAGGED_AT_MOST: Final = 0.05
PLAN: Final = """\
name: detection
seed: {seed}
repeat: {repeat}
timing: {{preset: lab, trial: {trial}s}}
testbed: {{kind: {testbed}}}
experiments:
  - name: forwarding
    gateway: {{driver: reference, max_rate: {rate}, rate_scope: direction}}
    procedure: throughput
    search: {{min_rate: {low}, max_rate: {high}, error: {error}%}}
    max_invalid: 30
"""


def measured(arguments: argparse.Namespace, name: str, rate: float, seed: int) -> RunRecord:
    """Measures a gateway with this rate, frames per second per direction, into a folder of its own."""
    folder: Path = arguments.folder / name
    plan = arguments.folder / f"{name}.yaml"
    around = {"low": round(arguments.rate * (1 - _AROUND)), "high": round(arguments.rate * (1 + _AROUND))}
    plan.write_text(PLAN.format(**vars(arguments) | around | {"rate": round(rate), "seed": seed}), encoding="utf-8")
    if not folder.exists():
        run_plan(load_plan(plan), folder, RunListener())
    run = RunReader(folder).run
    [experiment] = run.experiments
    found = ", ".join(f"{value / 1e3:.1f}" for value in experiment.values)
    print(f"{name}: {found} kfps; truth {rate / 1e3:.1f}", flush=True)
    return run


def comparisons(arguments: argparse.Namespace, shift: float) -> Iterator[Compared]:
    """Yields comparisons of two runs each, of which the second is slower by `shift` percent."""
    for number in range(arguments.comparisons):
        pair = [
            measured(arguments, f"{name}-{shift:g}-{number}", arguments.rate * (1 - share), seed)
            for name, share, seed in (("first", 0.0, 2 * number + 1), ("other", shift / 100, 2 * number + 2))
        ]
        [(_, other)] = compare(pair).figures
        if other.difference_percent is None or other.interval_percent is None:
            raise SystemExit(f"no comparison: a run has fewer than two results; see {arguments.folder}")
        low, high = other.interval_percent.low, other.interval_percent.high
        print(f"−{shift:g} %: found {other.difference_percent:+.2f} % [{low:+.2f}, {high:+.2f}]: {other.verdict}")
        yield other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the runs; those that it has are not measured again")
    parser.add_argument("--shift", type=float, default=3.0, help="percent by which the second gateway is slower")
    parser.add_argument("--comparisons", type=int, default=20, help="of each kind")
    parser.add_argument("--repeat", type=int, default=15, help="repetitions of a run")
    parser.add_argument("--rate", type=float, default=50e3, help="frames per second per direction")
    parser.add_argument("--trial", type=float, default=0.25, help="seconds")
    parser.add_argument("--error", type=float, default=1.0, help="width of a search's last bracket in percent")
    parser.add_argument("--testbed", choices=("memif", "lab"), default="memif")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    met = True
    for shift in (0.0, arguments.shift):
        found = [other.verdict is Verdict.DIFFERS for other in comparisons(arguments, shift)]
        share = sum(found) / len(found)
        enough = share >= _FOUND_AT_LEAST if shift else share <= _FLAGGED_AT_MOST
        print(
            f"shift of {shift:g} %: found in {sum(found)} of {len(found)} comparisons: {'met' if enough else 'missed'}"
        )
        met &= enough
    raise SystemExit(0 if met else 1)


if __name__ == "__main__":
    main()
