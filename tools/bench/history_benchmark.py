# SPDX-License-Identifier: Apache-2.0
"""Measures how long `natxy history` takes with a thousand runs, first without an index and then with one.

    python -m tools.bench.history_benchmark FOLDER [RUNS]

The exit code is 1 if it takes longer than 10 s with an index.

Makes the runs in FOLDER from one simulated run, a night apart and with results that vary: those of the gateway rise by
5 % after two thirds of the runs, together with a new kernel, and single runs are worse.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from natxy.results import RESULTS_FILE

_PLAN: Final = """\
name: nightly
description: Forwarding and NAT of a simulated gateway
seed: 7
repeat: 3
testbed: {kind: simulated}
defaults: {directions: bidirectional}
experiments:
  - {name: forwarding, title: Forwarding, gateway: {driver: simulated, forwarding_fps: 600k}, procedure: throughput,
     search: &search {min_rate: 10k, max_rate: 600k, error: 4k}}
  - {name: nat, title: NAT throughput, gateway: {driver: simulated, forwarding_fps: 400k}, procedure: throughput,
     connections: 10k, phase1_rate: 50k, baseline: forwarding, search: *search}
  - {name: nat-rate, title: NAT connections, gateway: {driver: simulated}, procedure: connection-rate,
     connections: 10k, search: {min_rate: 10k, max_rate: 1M, error: 2k}}
  - {name: latency, title: Latency, gateway: {driver: simulated}, procedure: latency, rate: 50k}
"""
_FIRST_NIGHT: Final = datetime(2024, 1, 1, 2, tzinfo=UTC)
_NOISE: Final = 0.01
_WORSE: Final = 0.9
_MOST_WITH_INDEX_S: Final = 10.0


def make_runs(folder: Path, count: int) -> None:
    """Makes `count` runs in `folder`, which must not exist."""
    folder.mkdir(parents=True)
    plan, sample = folder / "nightly.yaml", folder / "sample"
    plan.write_text(_PLAN, encoding="utf-8")
    _natxy("run", str(plan), "--output", str(sample))
    chance = random.Random(1)
    for number in range(count):
        _copy(sample, folder / f"nightly-{number:04}", number, count, chance)
    shutil.rmtree(sample)


def _copy(sample: Path, folder: Path, number: int, count: int, chance: random.Random) -> None:
    folder.mkdir()
    shutil.copy(sample / RESULTS_FILE, folder)
    faster = number >= count * 2 // 3
    level = (1.05 if faster else 1.0) * (_WORSE if chance.random() < 2 / count else 1.0)
    began = (_FIRST_NIGHT + timedelta(days=number)).isoformat(timespec="milliseconds")
    with closing(sqlite3.connect(folder / RESULTS_FILE)) as db, db:
        db.execute("UPDATE run SET started_at = ?, seed = ?", (began, str(number)))
        if faster:
            machine = json.loads(db.execute("SELECT machine_json FROM run").fetchone()[0])
            db.execute("UPDATE run SET machine_json = ?", (json.dumps(machine | {"kernel": "6.12.0"}),))
        rows = db.execute(
            "SELECT repetition.id, value, lower_bound, upper_bound, figures_json, gateway, experiment.name "
            "FROM repetition JOIN experiment ON experiment.id = experiment_id"
        ).fetchall()
        for row, value, low, high, figures, _, name in rows:
            factor = chance.gauss(1, _NOISE) * (level if name.startswith("nat") else 1.0)
            scaled = {figure: value and value * factor for figure, value in json.loads(figures).items()}
            db.execute(
                "UPDATE repetition SET value = ?, lower_bound = ?, upper_bound = ?, figures_json = ? WHERE id = ?",
                (value * factor, low and low * factor, high and high * factor, json.dumps(scaled), row),
            )


def _natxy(*arguments: str) -> float:
    """Runs natxy and returns the seconds that it took."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "natxy", *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> int:
    folder = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    if not folder.exists():
        make_runs(folder, count)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    shutil.rmtree(folder / "cache", ignore_errors=True)
    spent_s = 0.0
    for state in ("without an index", "with an index"):
        spent_s = _natxy("history", str(folder))
        print(f"{count} runs, {state}: {spent_s:.1f} s")
    return int(spent_s > _MOST_WITH_INDEX_S)


if __name__ == "__main__":
    sys.exit(main())
