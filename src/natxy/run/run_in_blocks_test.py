# SPDX-License-Identifier: Apache-2.0
"""Whole plans in blocks: the order of repetitions, pairing by block, resuming, and repeating until precise."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.errors import EngineDiedError, TesterLimitError
from natxy.events.listener import RunListener
from natxy.events.run import BlockStarted, RepetitionStarted
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.connection_rate import ConnectionRate
from natxy.report.words import states
from natxy.results.analysis.ratios import precision
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.results.trials import TrialKind
from natxy.run.folder import PLAN_FILE
from natxy.run.run import resume_plan
from natxy.run.run_test import FORWARDING, PHASE2, RATE, EngineDies, lose_the_second_result, measure, medians


class Turns(RunListener):
    """Notes the repetitions in the order in which they are measured."""

    def __init__(self) -> None:
        self.measured: list[tuple[int, str]] = []
        self.blocks: list[tuple[int, int]] = []

    def block_started(self, event: BlockStarted) -> None:
        self.blocks.append((event.number, event.experiments))

    def repetition_started(self, event: RepetitionStarted) -> None:
        self.measured.append((event.repetition, event.experiment))


def test_every_block_has_a_repetition_of_every_experiment(tmp_path: Path) -> None:
    turns = Turns()
    measure(tmp_path / "run", FORWARDING, RATE, PHASE2, listener=turns, repeat=4)
    numbers = [number for number, _ in turns.measured]
    assert numbers == sorted(numbers)
    assert turns.blocks == [(number, 3) for number in range(1, 5)]
    orders = [[name for at, name in turns.measured if at == number] for number in range(1, 5)]
    assert all(sorted(order) == ["forwarding", "phase2", "rate"] for order in orders)
    assert len({*map(tuple, orders)}) > 1


def test_a_rate_is_a_share_of_the_result_in_the_same_block(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, RATE, PHASE2, testbed={"noise": 0.1}, repeat=5)
    _, rate, phase2 = run.experiments
    assert len({*rate.values}) > 1
    for source, repetition in zip(rate.repetitions, phase2.repetitions, strict=True):
        phase1 = {t.rate_fps for t in repetition.trials if t.kind == TrialKind.PHASE1}
        assert [*phase1] == [pytest.approx((source.value or 0) / 2)]


def test_fewer_repetitions_of_a_rate_supply_their_median(tmp_path: Path) -> None:
    _, run = measure(
        tmp_path / "run", RATE | {"repeat": 3}, PHASE2 | {"baseline": None}, repeat=5, testbed={"noise": 0.1}
    )
    rate, phase2 = run.experiments
    used = [next(t.rate_fps for t in r.trials if t.kind == TrialKind.PHASE1) * 2 for r in phase2.repetitions]
    assert used == pytest.approx([*rate.values, medians(run)["rate"], medians(run)["rate"]])


def test_what_needs_a_result_that_its_block_lacks_is_measured_when_the_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measure(tmp_path / "whole", RATE, PHASE2 | {"baseline": None}, repeat=3, testbed={"noise": 0.1})[1]
    lose_the_second_result(monkeypatch)
    folder = tmp_path / "run"
    code, run = measure(folder, RATE, PHASE2 | {"baseline": None}, repeat=3, testbed={"noise": 0.1})
    assert code == 4
    assert [states.state(experiment) for experiment in run.experiments] == ["1 of 3 repetitions without result"] * 2
    assert [r.state for r in run.experiments[1].repetitions] == [State.DONE, State.SKIPPED, State.DONE]
    assert run.experiments[1].reason == (
        "repetition 2: its phase1_rate is a share of 'rate', which has no result in the same block"
    )
    monkeypatch.undo()
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    assert [each.values for each in RunReader(folder).run.experiments] == [each.values for each in whole.experiments]


def limit_the_tester(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Lets the tester reach its limit in these repetitions of a connection rate."""
    sound = ConnectionRate.measure

    def limited(self: ConnectionRate, repetition: Repetition) -> ProcedureResult:
        if repetition.number in numbers:
            raise TesterLimitError("too slow")
        return sound(self, repetition)

    monkeypatch.setattr(ConnectionRate, "measure", limited)


def test_the_testers_limit_ends_a_repetition_and_resume_measures_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_the_tester(monkeypatch, 2)
    folder = tmp_path / "run"
    code, run = measure(folder, FORWARDING, RATE, PHASE2, repeat=4, testbed={"noise": 0.1})
    assert code == 3
    assert [experiment.state for experiment in run.experiments] == [State.DONE, State.TESTER_LIMIT, State.NO_RESULT]
    assert run.experiments[1].reason == "repetition 2: too slow"
    assert [len(experiment.values) for experiment in run.experiments] == [4, 3, 3]
    monkeypatch.undo()
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    whole = measure(tmp_path / "whole", FORWARDING, RATE, PHASE2, repeat=4, testbed={"noise": 0.1})[1]
    assert [each.values for each in RunReader(folder).run.experiments] == [each.values for each in whole.experiments]


def test_the_testers_limit_in_two_blocks_in_a_row_ends_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_the_tester(monkeypatch, 2, 3)
    turns = Turns()
    code, run = measure(tmp_path / "run", FORWARDING, RATE, PHASE2, repeat=5, listener=turns)
    assert code == 3
    assert [experiment.state for experiment in run.experiments] == [State.DONE, State.TESTER_LIMIT, State.NO_RESULT]
    assert run.experiments[1].reason == "repetitions 2, 3: too slow"
    assert [len(experiment.values) for experiment in run.experiments] == [5, 1, 1]
    assert turns.blocks == [(1, 3), (2, 3), (3, 3), (4, 1), (5, 1)]
    ratio = run.experiments[2].baseline_ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(run.experiments[2].values[0] / run.experiments[0].values[0])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    """A run that nothing has cut short."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return measure(folder, FORWARDING, RATE, PHASE2, testbed={"noise": 0.1}, repeat=3)[1]


@pytest.mark.parametrize("kill", range(1, 120, 17))
def test_a_run_in_blocks_resumes_to_the_same_result(whole: RunRecord, tmp_path: Path, kill: int) -> None:
    folder = tmp_path / "cut"
    # The second death in a row ends the run.
    listener = EngineDies(kill, kill + 1)
    with pytest.raises(EngineDiedError):
        measure(folder, FORWARDING, RATE, PHASE2, testbed={"noise": 0.1}, repeat=3, listener=listener)
    assert resume_plan(load_plan(folder / PLAN_FILE), folder, RunListener()) == 0
    found = RunReader(folder).run
    assert [each.values for each in found.experiments] == [each.values for each in whole.experiments]
    assert found.experiments[2].baseline_ratio == whole.experiments[2].baseline_ratio


def test_repetitions_go_on_until_the_ratio_is_precise(tmp_path: Path) -> None:
    until = {"until": "3%", "at_most": 40}
    turns = Turns()
    # The baseline's own number of repetitions is exceeded, because ratios are paired.
    base, compared = FORWARDING | {"repeat": 3}, FORWARDING | {"name": "compared", "baseline": "forwarding"}
    exact = FORWARDING | {"name": "exact", "gateway": {"driver": "simulated"}, "repeat": 2}
    _, run = measure(tmp_path / "run", base, compared, exact, testbed={"noise": 0.1}, repeat=until, listener=turns)
    first, second, third = run.experiments
    assert 6 < len(second.values) < 40
    assert len(first.values) == len(second.values)
    assert len(third.values) == 2
    assert second.precision is not None
    assert second.precision <= 0.03
    assert states.precision(second) == f"±{100 * second.precision:.1f} %, ±3 % reached"
    before = precision(
        *({n: h for n, h in each.headlines.items() if n < len(second.values)} for each in (second, first))
    )
    assert before is not None
    assert before > 0.03


def test_six_repetitions_are_measured_however_close_they_are(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, testbed={"noise": 0.0}, repeat={"until": "3%", "at_most": 40})
    assert len(run.experiments[0].values) == 6


def test_repetitions_end_at_the_most_that_the_plan_allows(tmp_path: Path) -> None:
    _, run = measure(tmp_path / "run", FORWARDING, testbed={"noise": 0.3}, repeat={"until": "0.5%", "at_most": 5})
    (experiment,) = run.experiments
    assert len(experiment.values) == 5
    assert states.precision(experiment).endswith("% after 5, the most allowed; ±0.5 % not reached")
