# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from natxy.errors import TesterLimitError
from natxy.events.listener import RunListener
from natxy.plan.yaml.loading import plan_of
from natxy.results import RESULTS_FILE
from natxy.results.pcap import FOREIGN_FILE, PcapWriter
from natxy.results.reader import RunReader
from natxy.results.records import RepetitionRecord, RunState, State
from natxy.results.store import RunStore
from natxy.results.trials import TrialKind
from natxy.run.elsewhere import MeasuredTrial, add_repetition
from natxy.run.run import run_plan

_PLAN: Final = plan_of(
    "{name: p, testbed: {kind: simulated}, timing: lab, experiments: [{name: delays, procedure: latency, "
    "gateway: {driver: simulated, forward_delay_ns: 100000}, rate: 10k}]}",
    Path("plan.yaml"),
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> RepetitionRecord:
    """Returns the first repetition as natxy itself measures it."""
    folder = tmp_path_factory.mktemp("runs") / "own"
    run_plan(_PLAN, folder, RunListener())
    return RunReader(folder).run.experiments[0].repetitions[0]


def added(folder: Path, trials: Sequence[MeasuredTrial], end: BaseException | None = None) -> RepetitionRecord:
    with closing(RunStore(folder / RESULTS_FILE)) as store, closing(PcapWriter(folder / FOREIGN_FILE)) as foreign:
        store.start_run(name="p", plan_yaml="name: p\n", seed=0, natxy_version="1", machine={})
        experiment_id = store.add_experiment(_PLAN.experiments[0])
        repetition_id = store.start_repetition(experiment_id, 1)
        add_repetition(store, foreign, _PLAN.experiments[0], repetition_id, trials, rate=10_000, end=end)
        store.set_experiment_state(experiment_id, State.DONE)
        store.finish_run(RunState.DONE)
    return RunReader(folder).run.experiments[0].repetitions[0]


def given(measured: RepetitionRecord) -> list[MeasuredTrial]:
    began = "2026-03-01T02:00:00.000+00:00"
    return [MeasuredTrial(each.kind is TrialKind.PHASE1, began, each.result) for each in measured.trials]


def test_the_figures_are_those_of_natxys_procedure(measured: RepetitionRecord, tmp_path: Path) -> None:
    found = added(tmp_path, given(measured))
    assert found.state == measured.state == State.DONE
    assert found.figures == measured.figures
    assert {each.started_at for each in found.trials} == {"2026-03-01T02:00:00.000+00:00"}


def test_a_repetition_without_enough_trials_has_the_reason(tmp_path: Path) -> None:
    found = added(tmp_path, [])
    assert (found.state, found.figures) == (State.TESTER_LIMIT, {})
    assert found.reason == "the trials decide nothing, and no further one was measured"


def test_what_broke_the_trials_off_is_the_reason(measured: RepetitionRecord, tmp_path: Path) -> None:
    of_phase1 = [replace(each, phase1=True) for each in given(measured)]
    found = added(tmp_path, of_phase1, end=KeyboardInterrupt())
    assert (found.state, found.trials) == (State.INTERRUPTED, [])


def test_other_errors_are_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("natxy.run.elsewhere.measure_repetition", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        added(tmp_path, [], end=TesterLimitError("enough"))
