# SPDX-License-Identifier: Apache-2.0
"""Checks and carries out the plan of each configuration that siitperf documents, with a simulated gateway."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.results.reader import RunReader
from tests.support.siitperf_confs import CONFS, conf_text

_STATEFUL: Final = "84 100000 60 2000 2 2 4000000 4000000 200000 500 21000"
# The procedure of each, and the arguments that siitperf's documentation and scripts have for it.
_GIVEN: Final = {
    "siit": ("latency", "84 426576 120 2000 2 2 60 50000"),
    "nat64": ("throughput", _STATEFUL),
    "nat44": ("validated-connection-rate", "84 1 1 2000 2 2 4000000 4000000 8000000 500 1500"),
    "router-many": ("throughput", "84 426576 60 2000 2 2"),
    "nat64-many": ("throughput", _STATEFUL),
    "pdv": ("pdv", "84 426576 60 2000 2 2 0"),
}
# Who runs `natxy check` on a plan for a DUT behind ssh needs no gateway on this machine.
_BEHIND_SSH: Final = """
testbed:
  kind: hardware
  left: {interface: t-left}
  right: {interface: t-right}
  dut: {ssh: root@dut, left: d-left, right: d-right}
"""
_SIMULATED: Final = "gateway: {driver: simulated, table_capacity: 5M, connection_rate_fps: 250k}"


def test_no_documented_configuration_is_left_out() -> None:
    assert {*_GIVEN} == {*CONFS}


@pytest.mark.parametrize("name", _GIVEN)
def test_a_documented_configuration_is_checked_and_carried_out(tmp_path: Path, name: str) -> None:
    procedure, arguments = _GIVEN[name]
    conf, plan = tmp_path / "siitperf.conf", tmp_path / "plan.yaml"
    conf.write_text(conf_text(name), encoding="utf-8")
    command = ["import", str(conf), "--procedure", procedure, "--arguments", arguments]
    text = called(*command)
    plan.write_text(f"{_BEHIND_SSH}{text}", encoding="utf-8")
    assert procedure in called("check", str(plan))
    simulated, gateways = re.subn(r"(?m)^    gateway: .*", f"    {_SIMULATED}", text)
    assert gateways == 1
    plan.write_text(f"testbed: {{kind: simulated}}\nrepeat: 1\n{simulated}", encoding="utf-8")
    called("run", str(plan), "--output", str(tmp_path / "run"))
    (experiment,) = RunReader(tmp_path / "run").run.experiments
    (repetition,) = experiment.repetitions
    assert repetition.value


def called(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output
    return done.stdout
