# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.dut.drivers.simulated import SimulatedGateway
from natxy.engine.interface import OnProgress
from natxy.engine.messages.results import Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError, NatxyError, PlanError
from natxy.events.listener import RunListener
from natxy.plan.gateways.base import TableNeed
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.model.problems import PlanProblems
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.caveats import caveats_of_plan
from natxy.procedures.common.base import ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.searches import binary_search
from natxy.procedures.connection_rate import validated_s
from natxy.procedures.registry import procedure_of
from natxy.report.tables import results as results_tables
from natxy.results.reader import RunReader
from natxy.results.trials import TrialKind, TrialRecord
from natxy.run.run import run_plan
from natxy.search.outcome import Attempt, NeverPrepared, TesterLimitReached


class Notes:
    """Keeps the trials that it observes."""

    def __init__(self) -> None:
        self.trials: list[TrialRecord] = []

    def attempt_started(self, attempt: Attempt) -> None: ...

    def trial_started(self, *_: Any) -> OnProgress:
        return None

    def finished(self, trial: TrialRecord) -> None:
        self.trials.append(trial)

    def transferred(self, *_: Any, **__: Any) -> None: ...

    def replayed(self, trial: TrialRecord) -> None: ...


def plan_of(own: dict[str, Any], gateway: dict[str, Any], timing: str = "lab") -> Plan:
    experiment = {
        "name": "capacity",
        "procedure": {"name": "table-capacity", "initial_connections": 1000, "max_connections": 4_000_000} | own,
        "gateway": {"driver": "simulated"} | gateway,
        "search": {"min_rate": 100, "max_rate": "400k", "error": "5%"},
        "repeat": 1,
    }
    return Plan.model_validate(
        {"name": "p", "timing": timing, "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    )


def measure(
    own: dict[str, Any],
    gateway: dict[str, Any],
    noise: float = 0.0,
    tester_limit: float | None = None,
    timing: str = "lab",
) -> tuple[ProcedureResult, Notes]:
    experiment = resolve(plan_of(own, gateway, timing)).experiments[0]
    assert isinstance(experiment.gateway, SimulatedConfig)
    dut = SimulatedDut(experiment.gateway, noise, seed=1)
    notes = Notes()
    repetition = Repetition(
        experiment=experiment,
        tester=SimulatedEngine(dut, tester_limit),
        gateway=lambda: nullcontext(SimulatedGateway(dut)),
        observer=notes,
        sleep=lambda _: None,
        plan_seed=1,
        number=1,
    )
    return procedure_of(experiment).measure(repetition), notes


@pytest.mark.parametrize("policy", TablePolicy)
@settings(max_examples=150, deadline=None)
@given(
    capacity=st.integers(min_value=1000, max_value=3_999_999),
    error=st.integers(min_value=1, max_value=5000),
    noise=st.sampled_from([0.0, 0.0, 0.05]),
)
def test_finds_the_capacity_whatever_a_full_table_does(
    policy: TablePolicy, capacity: int, error: int, noise: float
) -> None:
    result, _ = measure({"error": error}, {"table_capacity": capacity, "table_policy": policy}, noise)
    found, upper = result.figures["capacity"], result.upper_bound
    assert found is not None
    assert upper is not None
    assert result.lower_bound == found <= capacity < upper <= found + error
    cs, ct = result.figures["cs"], result.figures["ct"]
    assert cs is not None
    assert ct == min(2 * cs, 4_000_000)
    assert cs <= capacity < ct


@pytest.mark.parametrize("policy", TablePolicy)
@settings(max_examples=100)
@given(capacity=st.integers(min_value=1000, max_value=3_999_999))
def test_counting_answers_finds_it_too(policy: TablePolicy, capacity: int) -> None:
    gateway = {"table_capacity": capacity, "table_policy": policy}
    result, notes = measure({"shortcut": "validation-answers"}, gateway)
    assert (result.lower_bound, result.upper_bound) == (capacity, capacity + 1)
    too_many = result.figures["ct"]
    counted = max(t.number for t in notes.trials if t.result.streams[0].planned == too_many)
    # Two that pass at what was counted, unless doubling ended there, and one that fails above.
    assert notes.trials[-1].number <= counted + 3


@settings(max_examples=60)
@given(capacity=st.integers(min_value=1000, max_value=60_000))
def test_a_gateway_that_pauses_keeps_its_capacity(capacity: int) -> None:
    # A trial of a quarter of a second has a pause in one of twenty cases, in which some thousand frames are lost.
    stalls = {"every": "5s", "duration": "20ms", "watched": False}
    result, _ = measure({}, {"table_capacity": capacity, "stalls": stalls})
    assert (result.lower_bound, result.upper_bound) == (capacity, capacity + 1)


def test_a_slow_gateway_is_told_from_a_full_table(monkeypatch: pytest.MonkeyPatch) -> None:
    full, _ = measure({}, {"table_capacity": 100_000})
    assert full.remark == ""
    draw = random.Random(1)

    def connect(_: SimulatedDut, connections: int, rate_fps: float, __: int = 1) -> tuple[int, int]:
        passed = rate_fps < (200_000 if connections <= 5000 else 30_000)
        kept = connections if passed else draw.randrange(connections)
        return kept, kept

    monkeypatch.setattr(SimulatedDut, "connect", connect)
    slow, _ = measure({}, {})
    assert slow.figures["capacity"] == 5000
    assert slow.remark.startswith("the table is not full: 5,001 connections are kept at 19.")


def test_a_slower_attempt_whose_connections_would_expire_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    longest_s: list[float] = []

    def connect(_: SimulatedDut, connections: int, rate_fps: float, __: int = 1) -> tuple[int, int]:
        passed = rate_fps < (200_000 if connections <= 5000 else 30_000)
        kept = connections if passed else draw.randrange(connections)
        return kept, kept

    def check(_: SimulatedGateway, need: TableNeed) -> None:
        longest_s.append(need.longest_trial_s)
        if need.longest_trial_s > 0.9:
            raise PlanError("connections expire after 0.9 s")

    monkeypatch.setattr(SimulatedDut, "connect", connect)
    monkeypatch.setattr(SimulatedGateway, "check", check)
    found, _ = measure({}, {})
    assert (found.figures["capacity"], found.remark) == (5000, "")
    assert [duration_s > 0.9 for duration_s in longest_s] == [False] * (len(longest_s) - 1) + [True]


@pytest.mark.parametrize(
    ("dut_cps", "said"),
    [
        (1e6, r"^R0 is at least this: the tester could not send 6\d\.\d+ kcps$"),
        (1e4, r"^R0: the tester could not send 100\.1 kcps, and the search continued at lower rates$"),
    ],
)
def test_a_rate_that_the_tester_cannot_send_is_remarked(dut_cps: float, said: str) -> None:
    found, _ = measure({}, {"table_capacity": 70_000, "connection_rate_fps": dut_cps}, tester_limit=66_000)
    assert found.figures["capacity"] == 70_000
    assert found.figures["r0"] == pytest.approx(min(dut_cps, 66_000), rel=0.06)
    assert re.search(said, found.remark), found.remark


@pytest.mark.parametrize("error", [TesterLimitReached(1e4, 3, 3), NeverPrepared(1e4, 3, 3), DutError("no answer")])
def test_a_failed_attempt_at_a_remark_leaves_the_capacity(monkeypatch: pytest.MonkeyPatch, error: NatxyError) -> None:
    draw = random.Random(1)

    def connect(_: SimulatedDut, connections: int, rate_fps: float, __: int = 1) -> tuple[int, int]:
        if connections > 5000 and rate_fps < 30_000:
            raise error
        kept = connections if connections <= 5000 and rate_fps < 200_000 else draw.randrange(connections)
        return kept, kept

    monkeypatch.setattr(SimulatedDut, "connect", connect)
    found, _ = measure({}, {})
    assert (found.figures["capacity"], found.remark) == (5000, "")


def test_the_report_says_that_the_shortcut_is_none_of_the_rfcs() -> None:
    assert any(
        "RFC 9693 §4.9 bisects" in caveat.text
        for caveat in caveats_of_plan(resolve(plan_of({"shortcut": "validation-answers"}, {})))
    )
    assert not any("bisects" in caveat.text for caveat in caveats_of_plan(resolve(plan_of({}, {}))))


def test_no_attempt_is_repeated_with_the_timing_of_the_rfcs() -> None:
    # With the timing of a lab one is repeated, which the plan names as a departure.
    gateway = {"table_capacity": 70_000, "connection_rate_fps": 100_000}
    result, notes = measure({}, gateway, timing="rfc")
    assert (result.figures["capacity"], result.upper_bound) == (70_000, 70_001)
    phase1 = [(t.rate_fps, t.result.streams[0].planned) for t in notes.trials if t.kind == TrialKind.PHASE1]
    assert len(phase1) == len({*phase1})
    repeated = "RFC 9693 §4.9 repeats no attempt"
    assert not any(repeated in caveat.text for caveat in caveats_of_plan(resolve(plan_of({}, gateway, "rfc"))))
    assert any(repeated in caveat.text for caveat in caveats_of_plan(resolve(plan_of({}, gateway))))


def test_all_figures() -> None:
    result, notes = measure({}, {"table_capacity": 70_000, "connection_rate_fps": 100_000})
    figures = result.figures
    assert (figures["capacity"], figures["c0"], figures["cs"], figures["ct"]) == (70_000, 1000, 64_000, 128_000)
    assert [figures["r0"], figures["rs"]] == pytest.approx([100_000, 100_000], rel=0.05)
    points = result.curves[0].points
    assert [points[0][0], points[-1][0]] == [1000, 70_000]
    assert points[0][1] == figures["r0"]
    numbers = [trial.number for trial in notes.trials]
    steps = [*dict.fromkeys(numbers)]
    assert steps == [*range(1, len(steps) + 1)]
    assert numbers == sorted(numbers)
    assert len({(t.number, t.attempt, t.kind) for t in notes.trials}) == len(notes.trials)


@pytest.mark.parametrize("policy", ["lru", "early-drop"])
def test_only_validation_shows_what_was_replaced(policy: str) -> None:
    _, notes = measure({}, {"table_capacity": 5000, "table_policy": policy})
    full = [trial for trial in notes.trials if trial.result.streams[0].planned > 5000]
    assert {trial.kind for trial in full if trial.result.verdict == Verdict.FAIL} == {TrialKind.VALIDATE}


def test_validation_is_slower_by_alpha() -> None:
    _, notes = measure({}, {"table_capacity": 5000})
    for trial in notes.trials:
        assert trial.rate_fps == pytest.approx(trial.step_rate * (0.5 if trial.kind == TrialKind.VALIDATE else 1))


def test_a_table_that_holds_all_is_at_least_that(tmp_path: Path) -> None:
    result, _ = measure({"max_connections": 10_000}, {"table_capacity": 1_000_000})
    assert (result.figures["capacity"], result.figures["ct"]) == (10_000, None)
    assert (result.lower_bound, result.upper_bound) == (10_000, None)


def test_too_many_to_begin_with() -> None:
    result, _ = measure({}, {"table_capacity": 999})
    assert result.figures == {"capacity": None, "c0": 1000, "r0": None, "cs": None, "rs": None, "ct": None}
    assert result.remark == "at no rate were all 1,000 initial connections kept"


@pytest.mark.parametrize("broken", [1, 2])
def test_a_gateway_that_a_step_broke_is_restarted_once(monkeypatch: pytest.MonkeyPatch, broken: int) -> None:
    calls, restarts = 0, 0
    clear = SimulatedGateway.clear

    def clears(gateway: SimulatedGateway) -> None:
        nonlocal calls
        calls += 1
        if 3 <= calls < 3 + broken:
            raise DutError("the table cannot be emptied")
        clear(gateway)

    def restart(_: SimulatedGateway) -> None:
        nonlocal restarts
        restarts += 1

    monkeypatch.setattr(SimulatedGateway, "clear", clears)
    monkeypatch.setattr(SimulatedGateway, "restart", restart)
    if broken == 1:
        result, _ = measure({}, {"table_capacity": 5000})
        assert result.figures["capacity"] == 5000
    else:
        with pytest.raises(DutError, match="cannot be emptied"):
            measure({}, {"table_capacity": 5000})
    assert restarts == 1


@pytest.mark.parametrize(
    ("own", "further"),
    [
        # Half of the four doublings that max_connections allows, then halving from the middle of the range to E, each
        # in two steps; four more for what accidents may have rejected.
        ({"max_connections": 16_000}, 2 * (2 + 12) + 4),
        ({"max_connections": 16_000, "error": 500}, 2 * (2 + 4) + 4),
        ({"max_connections": 16_000, "shortcut": "validation-answers"}, 2 * (2 + 2) + 4),
    ],
)
def test_the_expected_steps_are_those_of_doubling_and_bisection(own: dict[str, Any], further: int) -> None:
    experiment = resolve(plan_of(own, {})).experiments[0]
    first = binary_search(experiment).expected_steps()
    assert procedure_of(experiment).expected_steps(experiment) == first + further


def test_a_step_is_expected_to_take_as_long_as_connections_in_the_middle_of_the_range() -> None:
    experiment = resolve(plan_of({"max_connections": 16_000}, {})).experiments[0]
    assert experiment.search is not None
    middle = experiment.model_copy(update={"connections": 4000})
    assert procedure_of(experiment).expected_step_s(experiment, None) == validated_s(middle)


@pytest.mark.parametrize("capacity", [999, 5000])
def test_the_last_thing_is_to_leave_the_gateway_empty(monkeypatch: pytest.MonkeyPatch, capacity: int) -> None:
    done: list[str] = []
    for noted in (SimulatedGateway.clear, SimulatedEngine.run_trial):

        def note(*given: Any, noted: Any = noted) -> Any:
            done.append(noted.__name__)
            return noted(*given)

        monkeypatch.setattr(f"{noted.__module__}.{noted.__qualname__}", note)
    measure({}, {"table_capacity": capacity})
    assert done[-1] == "clear"


@pytest.mark.parametrize(("initial", "found"), [(1000, [30_000]), (50_000, [])])
def test_a_collapsed_gateway_is_set_up_for_what_follows(tmp_path: Path, initial: int, found: list[float]) -> None:
    plan = plan_of({"initial_connections": initial}, {"table_capacity": 30_000, "table_policy": "collapse"})
    first = plan.experiments[0].model_dump(exclude_unset=True)
    after = {key: first[key] for key in ("gateway", "search", "repeat")} | {
        "name": "after",
        "procedure": "connection-rate",
        "connections": 20_000,
    }
    both = Plan.model_validate(plan.model_dump(exclude_unset=True) | {"experiments": [first, after]})
    assert run_plan(resolve(both), tmp_path / "run", RunListener()) == (0 if found else 4)
    capacity, rate = RunReader(tmp_path / "run").run.experiments
    assert (capacity.unit, capacity.values) == ("connections", found)
    assert isinstance(capacity.declaration, TableCapacityConfig)
    assert capacity.declaration.max_connections == 4_000_000
    assert rate.values == [pytest.approx(200_000, rel=0.05)]


def test_a_capacity_is_printed_to_the_last_connection(tmp_path: Path) -> None:
    assert run_plan(resolve(plan_of({}, {"table_capacity": 30_017})), tmp_path / "run", RunListener()) == 0
    run = RunReader(tmp_path / "run").run
    assert results_tables.overview(run)[0].rows[0][1] == "30,017"
    rows = {row[0]: row[1] for row in results_tables.rfc_form(run)[0].rows}
    assert (rows["Median"], rows["Initial connections, C0, connections, median"]) == ("30,017", "1,000")
    assert rows["Four-tuples"] == "each once, pseudorandom"


def test_connections_that_time_out_first_are_not_taken_for_a_full_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_: SimulatedGateway, need: TableNeed) -> None:
        if need.longest_trial_s > 30:
            raise PlanError("connections expire after 30 s")

    monkeypatch.setattr(SimulatedGateway, "check", check)
    with pytest.raises(DutError, match=r"connections cannot be tried: connections expire after 30 s"):
        measure({}, {"connection_rate_fps": 2000, "table_capacity": 1_000_000})


def test_the_flow_space_holds_them_all() -> None:
    plan = plan_of({}, {})
    ports = {"source": "1000-1999", "destination": 7}
    experiment = plan.experiments[0].model_dump() | {"ports": ports}
    narrow = Plan.model_validate(plan.model_dump() | {"experiments": [experiment]})
    with pytest.raises(PlanProblems, match="1000 four-tuples, fewer than the 4000000"):
        resolve(narrow)
    assert resolve(plan).experiments[0].flow_space_size >= 4_000_000


@pytest.mark.parametrize(
    ("own", "wrong"),
    [({"initial_connections": "5M"}, "must not be above max_connections"), ({"beta": 1}, "less than 1")],
)
def test_impossible_plans_are_refused(own: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        plan_of(own, {})
