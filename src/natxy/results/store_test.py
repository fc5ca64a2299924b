# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import FrameFormat, StreamSpec, TrialRequest
from natxy.engine.messages.results import ForeignSample, PortResult, TrialResult, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import PlanError
from natxy.plan.caveats import limitation
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.plan.model.terms import CellValue
from natxy.plan.model.units import Unit
from natxy.results import RESULTS_FILE
from natxy.results.curves import Axis, Curve
from natxy.results.database.schema import SCHEMA
from natxy.results.dut_counts import DutCounts
from natxy.results.planned import planned_experiment
from natxy.results.reader import RunReader
from natxy.results.records import DutRecord, RunState, State
from natxy.results.selftest import SelfTest, TesterIdentity
from natxy.results.store import RunStore, timestamp
from natxy.results.trials import Purpose, TransferRecord, TrialKind, TrialRecord
from natxy.search.outcome import Outcome
from natxy.system.core_watch import Absence
from natxy.system.process_owner import Owner
from tests.support.sample_runs import dut_load, settings

SAMPLE = ForeignSample(side=Side.LEFT, kind="arp", time_ns=1_700_000_000_123_456_789, data_base64="AAECAwQ=")
COUNTS: Final = DutCounts(rose={"conntrack -S": {"insert_failed": 500}}, connections=500, silent_rules=("nft drop",))


def trial_at(rate_fps: float) -> TrialResult:
    """Returns the result of a trial through a gateway that forwards 1000 fps."""
    stream = StreamSpec(name="forward", source=Side.LEFT, frame=FrameFormat(size=64), rate_fps=rate_fps, frames=1000)
    engine = SimulatedEngine(SimulatedDut(SimulatedConfig(forwarding_fps=1000)))
    result = engine.run_trial(TrialRequest(streams=[stream], seed=1))
    port = PortResult(side=Side.LEFT, missed=1, no_buffer=2, kernel_drops=4, foreign={"arp": 1})
    return result.model_copy(update={"ports": [port], "samples": [SAMPLE]})


def add_trial(
    store: RunStore, repetition: int, number: int, rate: float, *, attempt: int = 1, purpose: Purpose = Purpose.MEASURE
) -> TrialResult:
    result = trial_at(rate)
    trial = TrialRecord.of(
        result,
        number=number,
        attempt=attempt,
        kind=TrialKind.TRAFFIC,
        purpose=purpose,
        step_rate=rate,
        rate_fps=rate,
        started_at=timestamp(),
        absence=Absence(0.004, 0.003, 0.001) if number == 2 else None,
        disturbance="away" if number == 2 else None,
        dut_load=dut_load(rate) if number == 2 else None,
        dut_counts=COUNTS if number == 2 else None,
    )
    store.add_trial(repetition, trial)
    return result


def new_store(tmp_path: Path) -> RunStore:
    store = RunStore(tmp_path / RESULTS_FILE)
    store.start_run(name="r", plan_yaml="name: r", seed=2**64 - 1, natxy_version="0", machine={"host": "h"})
    return store


def add_experiment(
    store: RunStore, name: str, values: list[float], baseline: str | None = None, procedure: str = "throughput"
) -> int:
    given = settings(name=name, title=name, gateway={"driver": "simulated"}, procedure=procedure, baseline=baseline)
    experiment = store.add_experiment(planned_experiment(given))
    for number, value in enumerate(values, 1):
        repetition = store.start_repetition(experiment, number)
        store.finish_repetition(repetition, State.DONE, value=value, lower_bound=value, upper_bound=value + 1)
    return experiment


def test_a_link_is_no_file_of_a_run(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.close()
    (tmp_path / "link").symlink_to(tmp_path / RESULTS_FILE)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    for name in ("link", "nowhere"):
        with pytest.raises(PlanError, match="is a link; resume the run in the folder that it leads to"):
            RunStore(tmp_path / name, resume=True)


@pytest.mark.parametrize("tested", [True, False])
def test_a_run_has_its_tester_and_what_a_self_test_found(tmp_path: Path, *, tested: bool) -> None:
    tester = TesterIdentity(host="h", processor="p", ports="veth", driver="net_af_xdp", queues=1, workers=2)
    found = SelfTest(
        tester=tester, measured_at="now", natxy_version="0", kernel="6.1", ceilings=[], receive_fps=1e6,
        receive_limited=True, least_delay_ns=None, pacing=[],
    ) if tested else None  # fmt: skip
    store = new_store(tmp_path)
    store.set_self_test(tester, found)
    store.close()
    run = RunReader(tmp_path).run
    assert (run.tester, run.self_test) == (tester, found)


def test_an_owner_that_is_no_process_is_a_fault_of_the_file(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.close()
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE)) as db:
        db.execute("UPDATE run SET owner = 'nobody'")
        db.commit()
    with pytest.raises(PlanError, match=r"run\.owner: expected the process that measured"):
        _ = RunReader(tmp_path).run


def test_what_is_stored_is_read(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    store.describe_tester(engine={"name": "e"}, testbed={"kind": "lab"}, caveats=[limitation("short")])
    experiment = add_experiment(store, "forwarding", [])
    store.set_duts(experiment, [{"name": "linux", "version": "6.1", "settings": {"a": "b"}, "configuration": ""}])
    repetition = store.start_repetition(experiment, 1)
    passed, failed = add_trial(store, repetition, 1, 800), add_trial(store, repetition, 2, 2000)
    store.finish_repetition(repetition, State.DONE, value=800, lower_bound=800, upper_bound=2000)
    store.set_experiment_state(experiment, State.DONE)
    store.finish_run(RunState.DONE)
    store.close()

    run = RunReader(tmp_path).run
    assert (run.seed, run.state, run.caveats, run.testbed) == (
        2**64 - 1,
        RunState.DONE,
        [limitation("short")],
        {"kind": "lab"},
    )
    read = run.experiments[0]
    assert (read.state, read.duts, read.values) == (State.DONE, (DutRecord("linux", "6.1", {"a": "b"}, ""),), [800])
    first, second = read.repetitions[0].trials
    assert first.result == passed.model_copy(update={"samples": []})
    assert (first.verdict, second.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert (second.sent, second.received, second.lost) == (1000, 500, failed.streams[0].lost)
    assert second.tester_drops == 7
    assert (first.gateway_pause_s, first.gateway_stolen_s, first.disturbance) == (None, None, None)
    assert (second.gateway_pause_s, second.gateway_stolen_s, second.gateway_delayed_s) == (0.004, 0.003, 0.001)
    assert second.disturbance == "away"
    assert (first.dut_load, second.dut_load) == (None, dut_load(2000))
    assert (first.dut_counts, second.dut_counts) == (None, COUNTS)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ('{"elapsed_s": 1, "cores": "none"}', r"trial 1\.dut_load_json\.cores: "),
        ('{"elapsed_s": 1e300, "cores": []}', r"trial 1\.dut_load_json\.elapsed_s: "),
        ("{", r"trial 1\.dut_load_json: "),
    ],
)
def test_a_load_that_no_run_stores_is_refused(tmp_path: Path, stored: str, expected: str) -> None:
    store = new_store(tmp_path)
    add_trial(store, store.start_repetition(add_experiment(store, "forwarding", []), 1), 1, 500)
    store.close()
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE, isolation_level=None)) as db:
        db.execute("UPDATE trial SET dut_load_json = ?", (stored,))
    with pytest.raises(PlanError, match=expected):
        RunReader(tmp_path)


def test_a_cell_keeps_its_sweep_and_the_order_of_its_coordinates(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    cell: dict[str, CellValue] = {"frame_size": 64, "connections": 400_000, "alpha": 0.5, "addresses": "multiple"}
    store.add_experiment(planned_experiment(settings(name="nat/64", sweep="nat", cell=cell)))
    add_experiment(store, "plain", [])
    store.close()
    swept, plain = RunReader(tmp_path).run.experiments
    assert (swept.sweep, [*swept.cell.items()]) == ("nat", [*cell.items()])
    assert (plain.sweep, plain.cell) == (None, {})


def test_every_trial_is_on_the_disk_before_the_next(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    repetition = store.start_repetition(add_experiment(store, "forwarding", []), 1)
    for number in (1, 2, 3):
        add_trial(store, repetition, number, 100)
        assert len(RunReader(tmp_path).run.experiments[0].repetitions[0].trials) == number
    store.close()


def test_a_run_whose_process_is_gone_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = Owner.current()
    monkeypatch.setattr(Owner, "current", lambda: Owner(me.pid, me.start_ticks + 1))
    store = new_store(tmp_path)
    under_way = add_experiment(store, "under-way", [100])
    add_experiment(store, "planned", [])
    store.set_experiment_state(under_way, State.RUNNING)
    store.start_repetition(under_way, 2)
    run = RunReader(tmp_path).run
    assert run.state == RunState.DIED
    assert [experiment.state for experiment in run.experiments] == [State.INTERRUPTED, State.PENDING]
    assert [r.state for r in run.experiments[0].repetitions] == [State.DONE, State.INTERRUPTED]
    assert run.experiments[0].values == [100]
    store.finish_run(RunState.DONE)
    store.close()
    assert RunReader(tmp_path).run.state == RunState.DONE


def test_a_run_under_way_is_running(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    assert RunReader(tmp_path).run.state == RunState.RUNNING
    store.close()


def test_reading_a_finished_run_makes_no_file(tmp_path: Path) -> None:
    new_store(tmp_path).close()
    before = sorted(tmp_path.iterdir())
    tmp_path.chmod(0o555)
    try:
        assert RunReader(tmp_path).run.name == "r"
    finally:
        tmp_path.chmod(0o755)
    assert sorted(tmp_path.iterdir()) == before


def test_a_step_is_decided_by_its_first_trial_that_did_not_pass(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    repetition = store.start_repetition(add_experiment(store, "forwarding", []), 1)
    for rate in (100, 2000):
        add_trial(store, repetition, 1, rate)
    add_trial(store, repetition, 1, 100, attempt=2)
    add_trial(store, repetition, 2, 100, purpose=Purpose.PREPARE)
    add_trial(store, repetition, 2, 2000, attempt=2, purpose=Purpose.PREPARE)
    store.close()
    steps = RunReader(tmp_path / RESULTS_FILE).run.experiments[0].repetitions[0].steps
    assert [(step.number, step.attempt, step.outcome, len(step.trials)) for step in steps] == [
        (1, 1, Outcome.FAIL, 2),
        (1, 2, Outcome.PASS, 1),
        (2, 1, Outcome.PASS, 1),
        (2, 2, Outcome.UNPREPARED, 1),
    ]


def test_ratios_compare_medians(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    add_experiment(store, "forwarding", [90, 100, 300])
    add_experiment(store, "nat", [60, 80], baseline="forwarding")
    add_experiment(store, "unmeasured", [], baseline="forwarding")
    store.close()
    reader = RunReader(tmp_path)
    assert reader.experiment("forwarding").baseline_ratio_percent is None
    assert reader.experiment("nat").baseline_ratio_percent == pytest.approx(70)
    assert reader.experiment("unmeasured").baseline_ratio_percent is None


@pytest.mark.parametrize(
    ("passed_maximum", "is_bound"), [((), False), ((3,), False), ((2, 3), True), ((1, 2, 3), True)]
)
def test_a_median_is_a_bound_only_where_it_is_of_a_search_that_ended_at_its_maximum(
    tmp_path: Path, passed_maximum: tuple[int, ...], is_bound: bool
) -> None:
    store = new_store(tmp_path)
    experiment = add_experiment(store, "forwarding", [])
    for number in (1, 2, 3):
        repetition = store.start_repetition(experiment, number)
        reached = number in passed_maximum
        value = 800 if reached else 500 + number
        upper = None if reached else value + 1
        store.finish_repetition(repetition, State.DONE, value=value, lower_bound=value, upper_bound=upper)
    store.close()
    assert RunReader(tmp_path).experiment("forwarding").is_only_a_lower_bound == is_bound


def test_figures_and_curves_are_read_as_they_were_stored(tmp_path: Path) -> None:
    curve = Curve(
        "loss", "Frame loss", Axis("offered", Unit.FPS), Axis("lost", Unit.PERCENT), ((1e5, 0.0), (2e5, 50.5))
    )
    store = new_store(tmp_path)
    experiment = add_experiment(store, "forwarding", [])
    stored: list[dict[str, float | None]] = [{"rate": 3.0}, {"rate": 5.0, "unknown": 1.0}, {"rate": None}]
    for number, figures in enumerate(stored, 1):
        repetition = store.start_repetition(experiment, number)
        store.finish_repetition(repetition, State.DONE, value=figures["rate"], figures=figures, curves=(curve,))
    store.finish_repetition(store.start_repetition(experiment, 4), State.FAILED, figures={"rate": 100.0})
    store.close()
    read = RunReader(tmp_path).experiment("forwarding")
    assert read.repetitions[0].curves == (curve,)
    assert [repetition.figures for repetition in read.repetitions[:3]] == stored
    assert read.figure_statistics == {"rate": read.statistics}
    assert read.values == [3, 5]


def test_what_was_not_searched_is_no_bound(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    experiment = add_experiment(store, "forwarding", [])
    store.finish_repetition(store.start_repetition(experiment, 1), State.DONE, value=7)
    store.close()
    assert not RunReader(tmp_path).experiment("forwarding").is_only_a_lower_bound


def test_a_procedure_of_another_version_is_a_plan_error(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    add_experiment(store, "forwarding", [])
    store.close()
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE, isolation_level=None)) as db:
        db.execute("UPDATE experiment SET settings_json = json_set(settings_json, '$.procedure', 'forgotten')")
    with pytest.raises(PlanError, match=r"no run of this version .*'forgotten'"):
        RunReader(tmp_path)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("ALTER TABLE trial DROP COLUMN tester_drops", "trial.tester_drops"),
        ("ALTER TABLE trial ADD COLUMN forgotten TEXT", "trial.forgotten"),
        ("DROP TABLE transfer", "transfer.direction"),
    ],
)
def test_a_run_with_other_columns_is_a_plan_error_that_says_what_to_do(
    tmp_path: Path, change: str, difference: str
) -> None:
    store = new_store(tmp_path)
    add_trial(store, store.start_repetition(add_experiment(store, "forwarding", []), 1), 1, 500)
    store.close()
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE)) as db:
        db.execute(change)
    with pytest.raises(PlanError, match=rf"measure again .* natxy 0 wrote it .*{difference}"):
        RunReader(tmp_path)


@pytest.mark.parametrize("cut", [0, 1, 9])
def test_a_start_that_was_cut_short_is_told_as_one(tmp_path: Path, cut: int) -> None:
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE)) as db:
        for statement in SCHEMA.split(";")[:cut]:
            db.execute(statement)
        db.commit()
    with pytest.raises(PlanError, match=rf"holds no run yet: .* remove {tmp_path} and run the plan again"):
        RunReader(tmp_path)


def test_a_result_of_another_form_is_a_plan_error(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    add_trial(store, store.start_repetition(add_experiment(store, "forwarding", []), 1), 1, 500)
    store.close()
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE, isolation_level=None)) as db:
        db.execute("UPDATE trial SET result_json = '{}'")
    with pytest.raises(PlanError, match="no run of this version of natxy"):
        RunReader(tmp_path)


def test_transfers_are_read_as_they_were_stored(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    repetition = store.start_repetition(add_experiment(store, "goodput", [], procedure="tcp-goodput"), 1)
    transfers = [TransferRecord(1, side, timestamp(), 2.5, 1e9, 3) for side in ("left", "right")]
    for transfer in transfers:
        store.add_transfer(repetition, transfer)
    store.close()
    assert RunReader(tmp_path).run.experiments[0].repetitions[0].transfers == transfers


def test_only_finished_repetitions_count(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    experiment = add_experiment(store, "forwarding", [100])
    store.finish_repetition(store.start_repetition(experiment, 2), State.TESTER_LIMIT, reason="limit")
    store.start_repetition(experiment, 3)
    store.close()
    assert RunReader(tmp_path).experiment("forwarding").values == [100]


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    new_store(tmp_path).close()
    with pytest.raises(FileExistsError):
        new_store(tmp_path)


def test_what_is_no_run_is_a_plan_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="is not a run folder"):
        RunReader(tmp_path)
    (tmp_path / RESULTS_FILE).write_text("no database, but long enough to be taken for one " * 100)
    with pytest.raises(PlanError, match="it is no run of this version"):
        RunReader(tmp_path)
    (tmp_path / RESULTS_FILE).unlink()
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE)) as db:
        db.execute("CREATE TABLE something_else (id INTEGER)")
    with pytest.raises(PlanError, match="it is no run of this version"):
        RunReader(tmp_path)


class Clocks:
    """Sets the wall clock, and the monotonic clock if it has one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self.monotonic_s = "12:00:00", 1000.0
        monkeypatch.setattr("natxy.results.store.timestamp", lambda: f"2026-01-01T{self.wall}.500+00:00")
        monkeypatch.setattr("time.monotonic", lambda: self.monotonic_s)

    def set(self, wall: str, monotonic_s: float) -> None:
        self.wall, self.monotonic_s = wall, monotonic_s


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


def measure_in_two_sessions(tmp_path: Path, clocks: Clocks) -> None:
    store = new_store(tmp_path)
    repetition = store.start_repetition(add_experiment(store, "forwarding", []), 1)
    clocks.set("12:00:10", 1010)
    add_trial(store, repetition, 1, 500)
    clocks.set("12:00:30", 1030)
    store.close()  # killed, in a trial
    clocks.set("17:00:00", 50)  # after a reboot
    store = RunStore(tmp_path / RESULTS_FILE, resume=True)
    store.resume_run()
    clocks.set("17:00:05", 55)
    add_trial(store, repetition, 2, 700)
    clocks.set("17:00:07", 57)
    store.finish_run(RunState.DONE)
    store.close()


def test_the_time_between_two_sessions_is_none_of_the_runs(tmp_path: Path, clocks: Clocks) -> None:
    measure_in_two_sessions(tmp_path, clocks)
    assert RunReader(tmp_path).run.active_s == 17


def test_a_run_without_moments_of_the_monotonic_clock_has_its_timestamps(tmp_path: Path, clocks: Clocks) -> None:
    measure_in_two_sessions(tmp_path, clocks)
    with closing(sqlite3.connect(tmp_path / RESULTS_FILE)) as db, db:
        for moment in ("load_before_json", "load_after_json"):
            db.execute(f"UPDATE session SET {moment} = json_remove({moment}, '$.monotonic_s')")
        db.execute("UPDATE session SET started_at = '2026-01-01T12:00:01.500+00:00' WHERE id = 1")
    assert RunReader(tmp_path).run.active_s == 16


@pytest.mark.parametrize("set_to", ["10:44:30", "12:00:00", "23:59:59"])
def test_a_clock_that_is_set_changes_no_duration(tmp_path: Path, clocks: Clocks, set_to: str) -> None:
    store = new_store(tmp_path)
    repetition = store.start_repetition(add_experiment(store, "forwarding", []), 1)
    clocks.set(set_to, 1010)
    add_trial(store, repetition, 1, 500)
    clocks.set(set_to, 1025)
    store.finish_run(RunState.DONE)
    store.close()
    run = RunReader(tmp_path).run
    assert run.active_s == 25
    assert run.finished_at == f"2026-01-01T{set_to}.500+00:00"
