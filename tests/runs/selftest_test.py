# SPDX-License-Identifier: Apache-2.0
"""Tests `natxy selftest` on real ports, and the use of its results by a later run."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import State
from natxy.results.selftest import SelfTest, Work
from tests.support import needs
from tests.support.command import HANG_S
from tests.support.lab_frames import traces
from tests.support.undisturbed import undisturbed

pytestmark = [pytest.mark.machine, needs.NAMESPACES, needs.ENGINE]


def natxy(*arguments: str, state: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    command = [sys.executable, "-m", "natxy", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False, env=environment)


def disturbed(folder: Path) -> str:
    """Returns natxy's words if other programs disturbed both attempts at an experiment, of a few milliseconds each.

    A rate of pacing may be more than this machine can do.
    """
    if not (folder / "run" / RESULTS_FILE).exists():
        return ""
    ended: dict[str, list[tuple[State, str]]] = {"pacing": [], "search": []}
    for each in RunReader(folder / "run").run.experiments:
        ended["pacing" if each.procedure == "pdv" else "search"].append((each.state, each.reason or each.name))
    limits = [reason for state, reason in ended["search"] if state == State.TESTER_LIMIT]
    if all(state == State.TESTER_LIMIT for state, _ in ended["pacing"]):
        limits += [reason for _, reason in ended["pacing"]]
    return "; ".join(limits)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("medium", "ports", "driver"),
    [
        (["--medium", "memif"], "memif", "net_memif"),
        pytest.param([], "veth", "net_af_xdp", marks=pytest.mark.more),
    ],
    ids=["memif", "veth"],
)
def test_a_tester_learns_its_limits_and_later_runs_know_them(
    tmp_path: Path, medium: list[str], ports: str, driver: str
) -> None:
    before = traces()
    short = ["--repeat", "1", "--trial", "0.01", "--family", "ipv6", "--frame-size", "1518", "--connections", "2000"]
    folders = (tmp_path / str(number) for number in itertools.count())
    ended: dict[Path, subprocess.CompletedProcess[str]] = {}

    def measured() -> Path:
        folder = next(folders)
        ended[folder] = natxy("selftest", *medium, *short, "--json", "--output", str(folder / "run"), state=folder)
        return folder

    folder = undisturbed(measured, disturbed)
    done = ended[folder]
    assert done.returncode == 0, done.stderr
    found = SelfTest.model_validate(json.loads(done.stdout))
    assert (found.tester.ports, found.tester.driver) == (ports, driver)
    kinds = {
        (each.family, each.frame_size, each.variant, each.both_ways)
        for each in found.ceilings
        if each.work == Work.TRAFFIC
    }
    tried = [(84, "fixed"), (84, "ports"), (84, "addresses"), (1518, "addresses")]
    assert kinds == {("ipv6", *each, both_ways) for each, both_ways in product(tried, (True, False))}
    worked = [(each.work, each.both_ways, each.connections) for each in found.ceilings if each.connections]
    phases = [(Work.PHASE1, False), (Work.VALIDATED, False), (Work.PHASE2, False), (Work.PHASE2, True)]
    assert sorted(worked) == sorted((*each, 2000) for each in phases)
    [queries] = [each for each in found.ceilings if each.work == Work.QUERIES]
    assert (queries.frame_size, queries.connections) == (116, None)
    assert all(each.rate_fps > 1000 for each in found.ceilings)
    assert found.receive_fps > 10_000
    assert found.least_delay_ns is not None
    assert all(each.median_ns <= each.p99_ns <= each.p999_ns <= each.max_ns for each in found.pacing)
    for each in found.pacing:
        bounds = [bound_ns for bound_ns, _ in each.histogram]
        assert bounds == sorted(bounds)
        assert sum(frames for _, frames in each.histogram) == round(each.rate_fps)
    assert "Without a frame lost or late" in done.stderr
    assert "Over connections, without a frame lost or late" in done.stderr
    [file] = (folder / "natxy" / "selftest").iterdir()
    assert SelfTest.model_validate_json(file.read_text()) == found
    assert RunReader(folder / "run").run.name == "selftest"
    assert traces() == before


@pytest.mark.lab
def test_ports_that_nobody_joined_are_no_loop(tmp_path: Path) -> None:
    done = natxy("selftest", "--ports", "nowhere0,nowhere1", "--output", str(tmp_path / "run"), state=tmp_path)
    assert done.returncode == 2
    assert "this machine has no 'nowhere0'" in done.stderr
    assert not (tmp_path / "natxy").exists()


@pytest.mark.parametrize("ports", ["ens1f0", "ens1f0,ens1f0", "a,b,c", "a,b/c"])
def test_a_cable_has_two_ends(tmp_path: Path, ports: str) -> None:
    done = natxy("selftest", "--ports", ports, state=tmp_path)
    assert done.returncode == 2
    assert "--ports: expected two ports" in done.stderr
