# SPDX-License-Identifier: Apache-2.0
"""Every procedure against the reference gateway, in trials as short as they can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from natxy.calibration.calibration import Calibration, Wiring
from natxy.calibration.reading import INVALID, Reading, Standing
from natxy.calibration.scale import Scale
from natxy.calibration.stall import StallingListener
from natxy.engine.program import find_engine, find_reference
from natxy.errors import NatxyError
from natxy.plan.gateways.limits import TablePolicy
from natxy.procedures.registry import PROCEDURES


def programs_are_built() -> bool:
    try:
        find_engine()
        find_reference()
    except NatxyError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="calibrating needs root"),
    pytest.mark.skipif(not programs_are_built(), reason="natxy-engine or natxy-reference is not built"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="tester and gateway need a core each"),
]

# Counts of what the gateway does to frames and connections at rates far below what any machine manages.
UNDISTURBED = {
    "duplicates", "wrong-ports", "wrong-checksums", "not-established", "stalled-tester",
    *(f"table-capacity-{policy}" for policy in TablePolicy),
}  # fmt: skip

SCALE = Scale(rate_fps=50_000, trial_s=0.2, connections=2000, width=1 / 20)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Reading]:
    calibration = Calibration.choose(Wiring.MEMIF, SCALE)
    return calibration.measure(tmp_path_factory.mktemp("calibration"), StallingListener(calibration.cases))


def test_what_is_measured_is_true(found: list[Reading]) -> None:
    """A machine with something else to do may disturb some of it each time."""
    assert [reading for reading in found if reading.standing == Standing.WRONG] == []
    assert len([reading for reading in found if reading.ok]) > len(found) / 2


def test_what_no_busy_machine_disturbs_is_true(found: list[Reading]) -> None:
    core = [reading for reading in found if reading.case in UNDISTURBED]
    assert {reading.case for reading in core} == UNDISTURBED
    assert [reading for reading in core if not reading.ok] == []


def test_every_procedure_is_measured(found: list[Reading]) -> None:
    by_frames = {name for name, procedure in PROCEDURES.items() if not procedure.declaration.between_hosts}
    assert {reading.procedure for reading in found} == by_frames


def test_a_stalled_tester_blames_itself(found: list[Reading]) -> None:
    (stalled,) = [reading for reading in found if reading.what.endswith(INVALID)]
    assert stalled.measured == 100


def test_the_command_prints_what_it_found(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "natxy", "calibrate", "--json", "--only", "duplicates", "--only", "wrong-checksums"]
    done = subprocess.run([*argv, "--output", str(tmp_path / "run")], capture_output=True, text=True, check=False)
    rows = json.loads(done.stdout)
    assert {"procedure", "figure", "what", "truth", "measured", "error", "ok"} <= rows[0].keys()
    assert {row["run"] for row in rows} <= {
        str(tmp_path / "run"),
        *(str(tmp_path / f"run/again-{n}") for n in (2, 3, 4)),
    }
    assert [row["figure"] for row in rows] == ["lost", "duplicate", "corrupt", "received"]
    assert [row["case"] for row in rows] == ["duplicates"] * 2 + ["wrong-checksums"] * 2
    assert done.returncode == (0 if all(row["ok"] for row in rows) else 3), done.stderr
