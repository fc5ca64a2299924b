# SPDX-License-Identifier: Apache-2.0
"""Tests what is left of a run of scripts when calls are left out, with results of trials that are made up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.store import RunStore
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from natxy_siitperf.recording.experiment import Part
from natxy_siitperf.recording.run import append, check_folder
from natxy_siitperf.trial.phases import LOSSES
from natxy_siitperf.trial.trial import Test, run
from tests.support.siitperf_confs import conf_text

CONF = parse_conf(conf_text("siit"))


@dataclass
class Recorded:
    """Records calls at a simulated gateway, and leaves some out."""

    folder: Path
    asked: str | None = None

    def call(self, *rates: int, limit: int = 1500, program: Program = Program.THROUGHPUT) -> None:
        for rate in rates:
            last = {Program.PDV: ["0"]}.get(program, [])
            arguments = parse_arguments(program, ["84", str(rate), "1", "500", "2", "2", *last], CONF)
            dut = SimulatedDut(SimulatedConfig(driver="simulated", forwarding_fps=2 * limit))
            phases = [*run(Test.of(CONF, arguments, {}), SimulatedEngine(dut))]  # type: ignore[arg-type]
            append(self.folder, Part.of(CONF, arguments, self.asked), phases, {"testbed": "simulated"})

    def leave_out(self, *options: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["leave-out", str(self.folder), *options])
        assert done.exit_code == code, done.output
        return done.stderr if code else done.stdout

    def found(self) -> dict[str, list[tuple[int, float | None, list[float]]]]:
        """Returns for each experiment the number, the result and the rates of its repetitions."""
        return {
            each.name: [(one.number, one.value, [step.rate for step in one.steps]) for one in each.repetitions]
            for each in RunReader(self.folder).run.experiments
        }


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    check_folder(tmp_path / "run")
    return Recorded(tmp_path / "run")


def test_a_mistaken_call_before_a_search_no_longer_decides_it(recorded: Recorded) -> None:
    recorded.call(800, limit=100)
    recorded.call(2000, 1000, 1500)
    assert recorded.found() == {"throughput": [(1, None, [800, 2000, 1000, 1500])]}
    said = recorded.leave_out("--experiment", "throughput", "--repetition", "1", "--step", "1")
    assert said.startswith("Left out: throughput, repetition 1, step 1. ")
    assert recorded.found() == {
        "throughput": [(1, 1500, [2000, 1000, 1500])], "left-out-throughput": [(1, None, [800])]
    }  # fmt: skip
    # The search goes on where it was.
    recorded.call(1400)
    assert recorded.found()["throughput"] == [(1, 1500, [2000, 1000, 1500, 1400])]


def test_the_last_call_is_left_out_and_then_the_one_before(recorded: Recorded) -> None:
    recorded.call(1000, 1400, 1200)
    assert recorded.leave_out().startswith("Left out: throughput, repetition 1, step 3. ")
    assert recorded.leave_out().startswith("Left out: throughput, repetition 1, step 2. ")
    assert recorded.found() == {
        "throughput": [(1, 1000, [1000])], "left-out-throughput": [(1, 1200, [1200]), (2, 1400, [1400])]
    }  # fmt: skip
    recorded.leave_out()
    assert [*recorded.found()] == ["left-out-throughput"]
    assert "the run has no calls that could be left out" in recorded.leave_out(code=2)


def test_a_script_that_was_broken_off(recorded: Recorded) -> None:
    recorded.call(2000, 1000)
    recorded.call(2000, 1000, 1500)
    recorded.leave_out("--experiment", "throughput", "--repetition", "1")
    recorded.call(2000)
    assert recorded.found() == {
        "throughput": [(2, 1500, [2000, 1000, 1500]), (3, None, [2000])],
        "left-out-throughput": [(1, 1000, [2000, 1000])],
    }
    page = CliRunner().invoke(app, ["report", str(recorded.folder)])
    assert page.exit_code == 0, page.output
    assert "left-out: siitperf-tp 84 r 1 500 2 2" in page.output


def test_the_losses_of_a_scan_are_those_of_its_rates(recorded: Recorded) -> None:
    recorded.asked = LOSSES
    recorded.call(1000, 2000, 3000)
    recorded.leave_out()
    scan, apart = RunReader(recorded.folder).run.experiments
    assert [[rate for rate, _ in curve.points] for curve in scan.repetitions[0].curves] == [[1000, 2000]] * 2
    assert [[rate for rate, _ in curve.points] for curve in apart.repetitions[0].curves] == [[3000]] * 2


def test_each_call_of_the_pdv_is_a_repetition(recorded: Recorded) -> None:
    recorded.call(1000, 1000, program=Program.PDV)
    assert "give --repetition alone" in recorded.leave_out(
        "--experiment", "pdv", "--repetition", "1", "--step", "1", code=2
    )
    assert recorded.leave_out().startswith("Left out: pdv, repetition 2. ")
    assert [len(each) for each in recorded.found().values()] == [1, 1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--step", "1"], "--repetition and --step are those of an experiment; name it by --experiment"),
        (["--experiment", "pdv"], "--experiment is 'pdv', expected one of throughput"),
        (["--experiment", "throughput"], "--repetition is missing, expected one of throughput: 1"),
        (["--experiment", "throughput", "--repetition", "2"], "--repetition is 2, expected one of throughput: 1"),
        (["--experiment", "throughput", "--repetition", "1", "--step", "9"], "--step is 9, expected one of repetition"),
    ],
)
def test_what_is_not_there_is_an_error(recorded: Recorded, options: list[str], error: str) -> None:
    recorded.call(1000)
    assert error in recorded.leave_out(*options, code=2)
    assert recorded.found() == {"throughput": [(1, 1000, [1000])]}


def test_what_is_left_out_stays_so(recorded: Recorded) -> None:
    recorded.call(1000, 1400)
    recorded.leave_out()
    found = recorded.found()
    error = recorded.leave_out("--experiment", "left-out-throughput", "--repetition", "1", code=2)
    assert "--experiment is 'left-out-throughput', whose calls are left out already" in error
    other = recorded.leave_out("--experiment", "none", "--repetition", "1", code=2)
    assert "--experiment is 'none', expected one of throughput\n" in other
    assert recorded.found() == found
    recorded.leave_out()
    none_is_left = recorded.leave_out("--experiment", "throughput", "--repetition", "1", code=2)
    assert "the run has no calls that could be left out" in none_is_left


def test_only_calls_of_scripts_are_left_out(recorded: Recorded) -> None:
    store = RunStore(recorded.folder / RESULTS_FILE)
    store.start_run(name="mine", plan_yaml="name: mine\n", seed=1, natxy_version="0", machine={})
    store.close()
    assert "has a run of natxy's own, mine; only calls of scripts" in recorded.leave_out(code=2)
    assert "does not exist" in replace(recorded, folder=recorded.folder / "none").leave_out(code=2)
