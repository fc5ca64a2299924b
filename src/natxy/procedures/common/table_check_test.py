# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.base import Gateway
from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import TrialResult
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import establish_request
from natxy.procedures.common.table_check import (
    CONNECTIONS,
    MOST_TRIES,
    TableCheck,
    TableError,
    drops_unknown_replies,
    is_count_of,
)
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.run.run import run_plan

MASQUERADING = {"driver": "command", "stateful": True, "masquerades": True, "clear": [["true"]]}


def plan_of(gateway: dict[str, Any], own: dict[str, Any] | None = None) -> Plan:
    experiment: dict[str, Any] = {
        "name": "x",
        "procedure": "connection-rate",
        "connections": 10_000,
        "search": {"min_rate": "5k", "max_rate": "60k", "error": "20%"},
        "repeat": 2,
        "gateway": {"driver": "simulated"} | gateway,
    }
    testbed = {"testbed": {"kind": "simulated"}} if experiment["gateway"]["driver"] == "simulated" else {}
    given = {name: value for name, value in (experiment | (own or {})).items() if value is not None}
    return Plan.model_validate({"name": "p", "timing": "lab", "experiments": [given]} | testbed)


def experiment_of(gateway: dict[str, Any], own: dict[str, Any] | None = None) -> Experiment:
    [experiment] = resolve(plan_of(gateway, own)).experiments
    return experiment


def ended(folder: Path, gateway: dict[str, Any], own: dict[str, Any] | None = None, code: int = 4) -> ExperimentRecord:
    assert run_plan(resolve(plan_of(gateway, own)), folder, RunListener()) == code
    return RunReader(folder).run.experiments[0]


class Bed:
    """Has a simulated gateway whose count may lie, and notes its clearings."""

    def __init__(self, gateway: dict[str, Any], counted: int | None = None) -> None:
        self.experiment = experiment_of(gateway)
        assert isinstance(self.experiment.gateway, SimulatedConfig)
        dut = SimulatedDut(self.experiment.gateway)
        self.engine, self.cleared, self.ignores_clear = SimulatedEngine(dut), 0, False
        self.when_cleared: Callable[[], object] = lambda: None
        bed = self

        class Noting(SimulatedGateway):
            def clear(self) -> None:
                bed.cleared += 1
                if not bed.ignores_clear:
                    super().clear()
                bed.when_cleared()

            def count(self) -> int:
                return super().count() if counted is None else counted

        self.own, self.plan_seed = Noting(dut), 1

    def gateway(self) -> AbstractContextManager[Gateway[Any]]:
        return nullcontext(self.own)

    def try_clear(self, check: TableCheck) -> None:
        check.try_clear(self)

    def try_again(self, check: TableCheck) -> None:
        check.try_again(self)

    def compare(self, check: TableCheck, rate_fps: float = 10_000) -> None:
        check.compare(self, self.engine.run_trial(establish_request(self.experiment, rate_fps, 1)))


def test_a_table_that_is_emptied_is_tried_once_and_left_empty() -> None:
    bed, check = Bed({}), TableCheck()
    for _ in range(3):
        bed.try_clear(check)
    assert bed.cleared == 2
    assert bed.own.count() == 0


def test_a_clear_that_leaves_connections_is_named_with_the_count() -> None:
    bed, check = Bed({"ignores_clear": True}, counted=0), TableCheck()
    for _ in range(2):
        with pytest.raises(DutError) as error:
            bed.try_clear(check)
        assert str(error.value) == (
            "`clear` does not empty the gateway's table: after it, replies of 16 of 16 connections made before it "
            "still came through, instead of none, although `count` said 0; let `clear` delete all connections, and end "
            "only then"
        )


def test_a_clear_that_fails_later_is_named_before_the_next_attempt() -> None:
    bed, check = Bed({}), TableCheck()
    bed.try_clear(check)
    bed.compare(check)
    bed.try_again(check)
    assert (bed.cleared, bed.own.count()) == (3, 0)
    # Without a phase 1 in between, there is nothing to ask.
    bed.try_again(check)
    assert bed.cleared == 3
    check = TableCheck()
    bed.compare(check)
    bed.ignores_clear = True
    with pytest.raises(TableError, match="after it, replies of 16 of 16 connections made before it still came through"):
        bed.try_again(check)


def test_frames_that_were_still_in_the_gateway_are_cleared_again() -> None:
    bed, check = Bed({}), TableCheck()
    bed.compare(check)
    bed.ignores_clear = True
    bed.when_cleared = lambda: setattr(bed, "ignores_clear", False)
    bed.try_again(check)
    assert (bed.cleared, bed.own.count()) == (2, 0)


def test_connections_that_another_experiment_made_since_are_not_asked_for() -> None:
    one, other, check = Bed({}), Bed({"table_capacity": 9_999}), TableCheck()
    one.compare(check)
    # Both have the same engine, and a check each.
    other.compare(TableCheck())
    other.try_again(check)
    assert other.cleared == 0


def test_the_check_takes_a_twentieth_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    bed, check = Bed({}), TableCheck()
    bed.when_cleared = lambda: now_s.__setitem__(0, now_s[0] + 3.0)
    for after_s, cleared in ((0.0, 1), (59.0, 1), (1.5, 2)):
        now_s[0] += after_s
        bed.compare(check)
        bed.try_again(check)
        assert bed.cleared == cleared


@pytest.mark.parametrize("translation", [None, "nat64"])
def test_a_capacity_is_found_with_a_check_of_its_table(tmp_path: Path, translation: str | None) -> None:
    own: dict[str, Any] = {
        "procedure": {"name": "table-capacity", "initial_connections": 1000, "error": 100, "max_connections": "20k"},
        "connections": None, "search": {"min_rate": "5k", "max_rate": "10k", "error": "50%"},
    }  # fmt: skip
    own |= {"translation": translation} if translation else {}
    found = ended(tmp_path / "run", {"table_capacity": 4000}, own, code=0)
    assert [repetition.value for repetition in found.repetitions] == pytest.approx([4000] * 2, rel=0.05)
    stale = ended(tmp_path / "stale", {"table_capacity": 4000, "ignores_clear": True}, own)
    assert stale.reason.startswith("`clear` does not empty the gateway's table")


def test_a_phase_1_that_lost_connections_is_not_asked_for() -> None:
    bed, check = Bed({"table_capacity": 9_999}), TableCheck()
    bed.compare(check)
    bed.try_again(check)
    assert bed.cleared == 0


def test_where_the_few_connections_cannot_be_made_nothing_is_known() -> None:
    bed, check = Bed({"ignores_clear": True, "table_capacity": CONNECTIONS - 1}), TableCheck()
    for _ in range(MOST_TRIES + 2):
        bed.try_clear(check)
    assert bed.cleared == 2 * MOST_TRIES


@pytest.mark.parametrize("counted", [10_000, 20_000, 10_150, 20_990, 5_000])
def test_counts_of_the_connections_are_believed(counted: int) -> None:
    Bed({}, counted).compare(TableCheck())


@pytest.mark.parametrize("counted", [0, 10, 4_999, 21_001, 1_000_000])
def test_other_counts_are_not(counted: int) -> None:
    with pytest.raises(DutError, match=rf"`count` said {counted:,} after phase 1 had made 10,000 connections"):
        Bed({}, counted).compare(TableCheck())


def test_a_count_of_those_that_have_not_expired_names_the_lifetime() -> None:
    with pytest.raises(DutError) as error:
        Bed({"lifetime": "4s"}).compare(TableCheck(), rate_fps=1000)
    found = "`count` said 4,000 after phase 1 had made 10,000 connections: the connections expired after about "
    assert str(error.value).startswith(found)


def test_a_count_is_compared_once_and_only_after_a_phase_1_that_passed() -> None:
    check = TableCheck()
    Bed({"table_capacity": 9_999}, counted=0).compare(check)
    Bed({}, counted=10_000).compare(check)
    Bed({}, counted=0).compare(check)


@given(connections=st.integers(1, 10**9), both=st.booleans(), own=st.integers(0, 1000))
def test_no_count_of_one_or_both_directions_is_doubted(connections: int, both: bool, own: int) -> None:
    assert is_count_of((2 if both else 1) * connections + own, connections)


@given(connections=st.integers(1, 10**9))
def test_a_count_of_nothing_is_never_believed(connections: int) -> None:
    assert not is_count_of(0, connections)


def test_an_experiment_on_a_table_that_keeps_old_connections_ends_without_a_figure(tmp_path: Path) -> None:
    # At the highest rate, old connections would pass that new ones could not.
    slow = {"connection_rate_fps": 8_200}
    truth = ended(tmp_path / "right", slow, code=0)
    assert [repetition.value for repetition in truth.repetitions] == pytest.approx([7_500] * 2, rel=0.2)
    stale = ended(tmp_path / "stale", slow | {"ignores_clear": True})
    assert stale.state is State.FAILED
    assert stale.reason.startswith("`clear` does not empty the gateway's table")
    assert [repetition.trials for repetition in stale.repetitions] == [[]]


def test_a_table_that_keeps_few_of_the_connections_ends_an_experiment(tmp_path: Path) -> None:
    few = ended(tmp_path / "run", {"table_capacity": 1000, "table_policy": "lru"})
    assert few.state is State.FAILED
    assert "`count` said 1,000 after phase 1 had made 10,000 connections" in few.reason


@pytest.mark.parametrize(
    ("gateway", "own", "drops"),
    [
        ({}, {}, True),
        (MASQUERADING, {}, True),
        (MASQUERADING | {"masquerades": False}, {}, False),
        ({"driver": "nftables"}, {}, True),
        ({"driver": "jool"}, {"translation": {"kind": "nat64"}}, True),
        ({}, {"translation": {"kind": "nat46"}}, False),
    ],
)
def test_only_a_gateway_that_drops_unknown_replies_is_tried(
    gateway: dict[str, Any], own: dict[str, Any], drops: bool
) -> None:
    assert drops_unknown_replies(experiment_of(gateway, own)) is drops


def test_a_connection_that_was_lost_by_accident_is_made_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search may have one attempt alone, and would measure old connections without a word."""
    bed, check = Bed({"ignores_clear": True}), TableCheck()
    run_trial, trials = bed.engine.run_trial, 0

    def loses_the_first(request: TrialRequest) -> TrialResult:
        nonlocal trials
        trials += 1
        result = run_trial(request)
        one = result.streams[0].model_copy(update={"lost": 1})
        return result if trials > 1 else result.model_copy(update={"streams": [one]})

    monkeypatch.setattr(bed.engine, "run_trial", loses_the_first)
    with pytest.raises(TableError, match="after it, replies of 16 of 16 connections"):
        bed.try_clear(check)
    assert trials == 3
