# SPDX-License-Identifier: Apache-2.0
"""Measures the reference gateway with every procedure, in very short trials."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from natxy.calibration.calibration import Calibration
from natxy.calibration.listener import CalibrationListener
from natxy.calibration.reading import INVALID, Reading, Standing
from natxy.calibration.scale import Scale
from natxy.calibration.truths import TRUTHS, map_t, softwires
from natxy.calibration.wiring import Wiring
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.model.terms import MapEnd, SoftwireEnd
from tests.support import needs
from tests.support.command import natxy

pytestmark = [*needs.LAB, needs.REFERENCE, needs.cores(2)]

# These cases count frames or connections at rates far below the limit of any machine.
UNDISTURBED = {
    "duplicates", "wrong-ports", "wrong-checksums", "not-established", "stalled-tester",
    "lost-syn-acks", "forgotten-at-fin", "answered-by-rst", "wrong-sequence",
    *(f"table-capacity-{policy}" for policy in TablePolicy),
    "first-range", "map-port-set",
    *(f"{end}-{fault}" for end in SoftwireEnd for fault in (*softwires.FAULTS, "zero-checksum")),
    *(f"{end}-{fault}" for end in MapEnd for fault in map_t.FAULTS),
}  # fmt: skip

# Each fault at one of the two ends.
ONCE = {
    *(f"{[*SoftwireEnd][number % 2]}-{fault}" for number, fault in enumerate((*softwires.FAULTS, "zero-checksum"))),
    *(f"{[*MapEnd][number % 2]}-{fault}" for number, fault in enumerate(map_t.FAULTS)),
}
TWICE = {name for name in UNDISTURBED if name.startswith((*SoftwireEnd, *MapEnd))} - ONCE

SCALE = Scale(rate_fps=50_000, trial_s=0.2, connections=2000, width=1 / 20)


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.more)], ids=["once", "all"])
def every(request: pytest.FixtureRequest) -> bool:
    """Tells whether each fault is measured at both ends."""
    return bool(request.param)


@pytest.fixture(scope="module")
def found(every: bool, tmp_path_factory: pytest.TempPathFactory) -> list[Reading]:
    calibration = Calibration.choose(Wiring.MEMIF, SCALE)
    if not every:
        cases = tuple(case for case in calibration.cases if case.name not in TWICE)
        calibration = replace(calibration, cases=cases)
    return calibration.measure(tmp_path_factory.mktemp("calibration"), CalibrationListener(calibration.cases))


@pytest.mark.long
@pytest.mark.alone
def test_what_is_measured_is_true(found: list[Reading]) -> None:
    """A busy machine may disturb some of the cases each time."""
    assert [reading for reading in found if reading.standing == Standing.WRONG] == []
    assert len([reading for reading in found if reading.ok]) > len(found) / 2


@pytest.mark.long
@pytest.mark.alone
def test_what_no_busy_machine_disturbs_is_true(every: bool, found: list[Reading]) -> None:
    core = [reading for reading in found if reading.case in UNDISTURBED]
    assert {reading.case for reading in core} == (UNDISTURBED if every else UNDISTURBED - TWICE)
    assert [reading for reading in core if not reading.ok] == []


@pytest.mark.long
@pytest.mark.alone
def test_every_procedure_with_a_truth_is_measured(found: list[Reading]) -> None:
    assert {reading.procedure for reading in found} == set(TRUTHS)


@pytest.mark.long
@pytest.mark.alone
def test_a_stalled_tester_blames_itself(found: list[Reading]) -> None:
    (stalled,) = [reading for reading in found if reading.what.endswith(INVALID)]
    assert stalled.measured == 100


def test_the_command_prints_what_it_found(tmp_path: Path) -> None:
    only = [word for case in ("duplicates", "wrong-checksums") for word in ("--only", case)]
    done = natxy("calibrate", "--json", *only, "--output", tmp_path / "run")
    rows = json.loads(done.stdout)
    assert {"procedure", "figure", "what", "truth", "measured", "error", "ok"} <= rows[0].keys()
    assert {row["run"] for row in rows} <= {
        str(tmp_path / "run"),
        *(str(tmp_path / f"run/again-{n}") for n in (2, 3, 4)),
    }
    assert [row["figure"] for row in rows] == ["lost", "duplicate", "corrupt", "received"]
    assert [row["case"] for row in rows] == ["duplicates"] * 2 + ["wrong-checksums"] * 2
    assert done.returncode == (0 if all(row["ok"] for row in rows) else 3), done.stderr
    assert ": frames lost " in done.stderr


def test_when_the_time_is_up_the_rest_is_unmeasured(tmp_path: Path) -> None:
    done = natxy("calibrate", "--json", "--budget", "0", "--only", "duplicates", "--output", tmp_path / "run")
    assert done.returncode == 3
    assert {row["standing"] for row in json.loads(done.stdout)} == {"unmeasured"}
