# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from natxy.engine.messages.results import Verdict
from natxy.plan.procedures.ageing import AgeingConfig
from natxy.results.analysis.dut_cost import cost, decisive_trials, ns_per_frame, shares
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.trials import Purpose
from tests.support.sample_runs import SampleRun, Sought, replanned


@pytest.fixture
def measured(tmp_path: Path) -> ExperimentRecord:
    sample = SampleRun(tmp_path, loads=True)
    sample.experiment("forward", Sought(231e3), title="Forwarding")
    return RunReader(sample.end()).experiment("forward")


def test_the_cost_is_that_of_the_highest_rate_that_passed(measured: ExperimentRecord) -> None:
    for repetition in measured.repetitions:
        (decisive,) = decisive_trials(repetition)
        assert (decisive.verdict, decisive.rate_fps) == (Verdict.PASS, repetition.value)
    found = cost(measured)
    assert found is not None
    assert found.count == 3
    # The sample's core takes 2 µs a frame, and the other one a little for itself.
    assert found.median == pytest.approx(2000, rel=0.01)
    assert found.minimum <= found.median <= found.maximum


def test_trials_that_prepare_or_have_no_load_tell_no_cost(measured: ExperimentRecord) -> None:
    repetition = measured.repetitions[0]
    (decisive,) = decisive_trials(repetition)
    for changed in (replace(decisive, purpose=Purpose.PREPARE), replace(decisive, dut_load=None)):
        assert decisive not in decisive_trials(replace(repetition, trials=[changed]))
        assert cost(replace(measured, repetitions=[replace(repetition, trials=[changed])])) is None
    assert decisive_trials(replace(repetition, trials=[])) == []


def test_a_load_that_ticks_cannot_tell_has_no_cost(measured: ExperimentRecord) -> None:
    (decisive,) = decisive_trials(measured.repetitions[0])
    assert decisive.dut_load is not None
    core = decisive.dut_load.cores[1]
    short = decisive.dut_load.model_copy(update={"cores": (core.model_copy(update={"busy_s": 0.15}),)})
    trial = replace(decisive, dut_load=short)
    assert ns_per_frame([trial]) is None
    # The ticks of each further trial and core may be wrong too.
    assert ns_per_frame([trial, trial]) is None
    enough = replace(decisive, dut_load=short.model_copy(update={"cores": (core.model_copy(update={"busy_s": 0.2}),)}))
    assert ns_per_frame([enough, enough]) == pytest.approx(0.2e9 / trial.received)
    two = core.model_copy(update={"busy_s": 0.19})
    assert ns_per_frame([replace(decisive, dut_load=short.model_copy(update={"cores": (two, two)}))]) is None
    assert ns_per_frame([replace(decisive, received=0)]) is None
    assert ns_per_frame([]) is None


def test_shares_are_those_of_the_traffic(measured: ExperimentRecord) -> None:
    load = decisive_trials(measured.repetitions[0])[0].dut_load
    assert load is not None
    core = load.cores[1].model_copy(update={"busy_s": 3.0, "softirq_s": 1.5, "user_s": 0.3, "steal_s": 0.5})
    found = shares([core], 5.0)
    assert (found["busy"], found["softirq"], found["steal"]) == pytest.approx((0.6, 0.3, 0.1))
    # The core worked for longer than the traffic lasted, before it or after it.
    found = shares([core], 2.0)
    assert (found["busy"], found["softirq"], found["user"], found["steal"]) == pytest.approx((1, 0.5, 0.1, 0.25))
    idle = core.model_copy(update={"busy_s": 0.0, "softirq_s": 0.0, "user_s": 0.0})
    assert shares([core, idle], 5.0)["busy"] == pytest.approx(0.3)
    assert shares([idle.model_copy(update={"busy_s": -0.01})], 5.0)["busy"] == 0


def test_a_gateway_that_polls_has_no_cost(measured: ExperimentRecord) -> None:
    assert cost(replanned(measured, gateway={"driver": "reference"})) is None


def test_a_procedure_that_mostly_waits_has_no_cost(measured: ExperimentRecord) -> None:
    assert cost(measured)
    planned = measured.planned.model_copy(update={"procedure": AgeingConfig()})
    assert cost(replace(measured, planned=planned)) is None
