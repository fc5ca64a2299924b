# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from natxy.cli import app
from natxy.results.reader import RunReader
from natxy.results.records import RunState

PLAN = """\
name: small
testbed: {kind: simulated}
timing: lab
repeat: 100
experiments:
  - name: forwarding
    gateway: {driver: simulated, forwarding_fps: 400000}
    procedure: throughput
    search: {min_rate: 10k, max_rate: 500k, error: 100}
"""


def test_a_killed_run_goes_on_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "natxy", "run", str(tmp_path / "plan.yaml"), "--output", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while "repetition 3:" not in process.stdout.readline():
            pass
        process.kill()
    measured = RunReader(folder).run
    assert measured.state == RunState.DIED
    done = CliRunner().invoke(app, ["resume", str(folder)])
    assert done.exit_code == 0, done.output
    run = RunReader(folder).run
    assert run.state == RunState.DONE
    assert len(run.experiments[0].values) == 100
    kept = [trial for repetition in measured.experiments[0].repetitions for trial in repetition.trials]
    assert [trial for repetition in run.experiments[0].repetitions for trial in repetition.trials][: len(kept)] == kept
    assert (folder / "report.html").exists()
    again = CliRunner().invoke(app, ["resume", str(folder)])
    assert again.exit_code == 2


def test_what_is_no_run_is_exit_2(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["resume", str(tmp_path)]).exit_code == 2
    assert CliRunner().invoke(app, ["resume", str(tmp_path / "nowhere")]).exit_code == 2
