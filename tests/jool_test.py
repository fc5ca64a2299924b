# SPDX-License-Identifier: Apache-2.0
"""Jool in a lab, on whichever kernel takes its module: real frames from one family to the other."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from natxy.lab.kernels import takes_module
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from tests.guest_test import guest_is_built
from tests.run_test import engine_is_built
from tests.undisturbed import undisturbed

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a lab needs root"),
    pytest.mark.skipif(not engine_is_built(), reason="natxy-engine is not built"),
    pytest.mark.skipif(not (takes_module("jool") or guest_is_built()), reason="no Jool: make jool"),
]

# Of frames from IPv4 to IPv6, Jool 4.1.9 spoils the checksum of one in 65,536.
PLAN = """
name: jool
timing: {preset: lab, trial: 200ms, drain: 1s, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
defaults:
  gateway: jool
  max_invalid: 20
  search: {min_rate: 2k, max_rate: 4k, error: 2k}
  loss_tolerance: {reverse: 1%}
experiments:
  - {name: siit, gateway: jool-siit, translation: siit, procedure: throughput}
  - {name: siit46, gateway: jool-siit, translation: nat46, procedure: throughput, loss_tolerance: 1%}
  - {name: rate, translation: nat64, procedure: validated-connection-rate, connections: 2k}
  - {name: nat46, translation: nat46, procedure: throughput, loss_tolerance: 1%, ports: {destination: 5000},
     connections: 100, phase1_rate: 4k}
"""

EMPTYING = """
name: emptying
timing: {preset: lab, drain: 1s, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
experiments:
  - {name: emptying, gateway: jool, translation: nat64, procedure: tear-down-rate, connections: 20k, phase1_rate: 10k,
     max_invalid: 20}
"""


def measured(plan: str, folder: Path) -> tuple[list[ExperimentRecord], str]:
    """What the plan's experiments found, and all that was printed."""
    (folder / "plan.yaml").write_text(plan)
    command = [sys.executable, "-m", "natxy", "run", str(folder / "plan.yaml"), "--output", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return [*RunReader(folder / "out").run.experiments], done.stdout + done.stderr


def test_both_translators_are_measured_and_described(tmp_path: Path) -> None:
    (siit, siit46, rate, nat46), printed = measured(PLAN, tmp_path)
    assert [each.state for each in (siit, siit46, rate, nat46)] == [State.DONE] * 4, printed
    # Far below what Jool does: the search's highest rate passes.
    assert (siit.values, siit46.values, rate.values, nat46.values) == ([4000.0],) * 4
    assert rate.dut is not None
    assert rate.dut["version"].startswith("Jool 4.")
    assert '"pool6": "2001:2:0:64::/96"' in rate.dut["configuration"]


def test_how_fast_connections_go_is_measured(tmp_path: Path) -> None:
    # While a guest waits for its core, an empty table may take as long as a full one.
    (emptying,), printed = undisturbed(
        partial(measured, EMPTYING), tmp_path, lambda found: found[0][0].state != State.NO_RESULT
    )
    assert emptying.state == State.DONE, printed
    assert (emptying.values[0] or 0) > 0
