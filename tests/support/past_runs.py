# SPDX-License-Identifier: Apache-2.0
"""Makes the runs of a plan over many nights, without measuring."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from natxy.results import RESULTS_FILE
from natxy.results.records import RunState
from tests.support.sample_runs import SampleRun, Sought


def night(
    folder: Path, number: int, truth: float = 200e3, *, name: str = "nightly", kernel: str = "6.1.0-18-amd64",
    natxy_version: str = "0.1.0", state: RunState = RunState.DONE, **over: Any,
) -> Path:  # fmt: skip
    """Makes the run of a night: forwarding at 300 kfps, and a NAT with this truth and the settings `over`."""
    sample = SampleRun(folder / f"{name}-{number:02}", name=name)
    sample.experiment("forward", Sought(300e3), title="Forwarding")
    sample.experiment("nat", Sought(truth), title="NAT", gateway="nftables", baseline="forward", **over)
    made = sample.end(state)
    with closing(sqlite3.connect(made / RESULTS_FILE)) as db, db:
        (machine,) = db.execute("SELECT machine_json FROM run").fetchone()
        db.execute(
            "UPDATE run SET started_at = ?, natxy_version = ?, machine_json = ?",
            (
                f"2026-03-{number:02}T02:00:00.000+00:00",
                natxy_version,
                json.dumps(json.loads(machine) | {"kernel": kernel}),
            ),
        )
        for row, duts in db.execute("SELECT id, duts_json FROM experiment").fetchall():
            reported = duts.replace("6.1.0-18-amd64", kernel)
            db.execute("UPDATE experiment SET duts_json = ? WHERE id = ?", (reported, row))
    return made
