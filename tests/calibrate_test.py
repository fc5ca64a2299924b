# SPDX-License-Identifier: Apache-2.0
"""Every procedure against the reference gateway, in trials as short as they can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from natxy.calibration.case import INVALID, Case, Reading, readings
from natxy.calibration.plan import Wiring, calibration_plan, cases
from natxy.calibration.scale import Scale
from natxy.calibration.stall import stall_engine
from natxy.engine.messages import Progress
from natxy.errors import NatxyError
from natxy.lab.engine_program import find_engine, find_reference
from natxy.plan.experiment import Experiment
from natxy.procedures.listener import RunListener
from natxy.procedures.registry import PROCEDURES
from natxy.procedures.runner import run_plan
from natxy.results.reader import RunReader
from natxy.results.records import TrialKind


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

SCALE = Scale(rate_fps=10_000, trial_s=0.3, connections=2000, width=1 / 20)
# A moment in which the machine has something else to do is in the gateway's or the tester's longest delays.
OF_A_MOMENT = ("Worst case", "PDV, ", "Largest", "Smallest", "Reset time by time stamps")


class Stalls(RunListener):
    """Stops the engine in the trials of the experiments named."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._name = ""

    def experiment_started(self, experiment: Experiment) -> None:
        self._name = experiment.name

    def progress(self, kind: TrialKind, progress: Progress) -> None:
        if self._name in self._names:
            stall_engine()


def measured(chosen: list[Case], folder: Path) -> dict[str, list[Reading]]:
    """By the case's name."""
    listener = Stalls({case.name for case in chosen if case.stalled})
    run_plan(calibration_plan(chosen, SCALE, Wiring.MEMIF), folder, listener)
    reader = RunReader(folder)
    return {case.name: list(readings(case, reader.experiment(case.name))) for case in chosen}


def is_wrong(reading: Reading) -> bool:
    return not reading.ok and not reading.remark and not any(word in reading.what for word in OF_A_MOMENT)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Reading]:
    folder = tmp_path_factory.mktemp("calibration")
    by_case = measured(list(cases(SCALE)), folder / "run")
    # The machine may have had something else to do; what is wrong twice is wrong.
    doubtful = [case for case in cases(SCALE) if any(map(is_wrong, by_case[case.name]))]
    if doubtful:
        by_case |= measured(doubtful, folder / "again")
    return [reading for of_case in by_case.values() for reading in of_case]


def test_what_is_measured_is_true(found: list[Reading]) -> None:
    """A tester that the machine is too busy for says so."""
    assert [reading for reading in found if is_wrong(reading)] == []
    assert len([reading for reading in found if reading.ok]) > len(found) / 2


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
    assert {"procedure", "truth", "measured", "error", "ok"} <= rows[0].keys()
    assert [row["case"] for row in rows] == ["duplicates"] * 2 + ["wrong-checksums"] * 2
    assert done.returncode == (0 if all(row["ok"] for row in rows) else 3), done.stderr
