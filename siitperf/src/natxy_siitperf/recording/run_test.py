# SPDX-License-Identifier: Apache-2.0
"""Tests siitperf's scripts against a simulated gateway whose limits are known, and the runs that they leave."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from natxy.cli.bodies.report import show
from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import EngineDiedError, PlanError
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.report.tables.dut.public_addresses import public_addresses
from natxy.results import RESULTS_FILE
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunState, State
from natxy.results.store import RunStore
from natxy.results.trials import TrialKind
from natxy.system.machine import MachineLoad
from natxy.terminal.console import LastingConsole
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from natxy_siitperf.recording.experiment import Part
from natxy_siitperf.recording.run import append, check_folder
from natxy_siitperf.trial.phases import Phase
from natxy_siitperf.trial.trial import Test, run
from tests.support.command import HANG_S
from tests.support.siitperf_confs import conf_text
from tests.support.siitperf_scripts import (
    Bed,
    Phase1,
    binary_connection_rate,
    binary_rate,
    binary_rate_in_time,
    binary_rate_stateful,
    frame_loss,
    latency,
    table_capacity,
    variation,
)

TESTER = {"testbed": "simulated"}
PROGRAMS = {"tp": Program.THROUGHPUT, "lat": Program.LATENCY, "pdv": Program.PDV}
NAT = {"Fwd_sport_min": "1000", "Fwd_sport_max": "1999", "Fwd_dport_min": "1", "Fwd_dport_max": "100"}


@dataclass
class Simulated:
    """Calls the programs for a simulated gateway, and appends each trial to the run in `folder`."""

    conf: str
    dut: SimulatedDut
    folder: Path
    printed: Callable[[], str]
    procedure: str | None = None
    series: str | None = None

    def __call__(self, program: str, arguments: str) -> str:
        self.printed()
        part, phases = self.measured(program, arguments)
        append(self.folder, part, phases, TESTER)
        return self.printed()

    def measured(self, program: str, arguments: str) -> tuple[Part, list[Phase]]:
        conf = parse_conf(self.conf)
        parsed = parse_arguments(PROGRAMS[program], arguments.split(), conf)
        self.dut.table.clear()
        phases = [*run(Test.of(conf, parsed, {}), SimulatedEngine(self.dut))]  # type: ignore[arg-type]
        return Part.of(conf, parsed, self.procedure, self.series), phases

    def experiment(self) -> ExperimentRecord:
        (found,) = RunReader(self.folder).run.experiments
        return found


@pytest.fixture
def simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Simulated]:
    monkeypatch.setattr("natxy_siitperf.trial.trial.time.sleep", lambda _: None)

    def printed() -> str:
        captured = capsys.readouterr()
        return captured.out + captured.err

    def made(conf: str, **limits: object) -> Simulated:
        folder = tmp_path / "run"
        check_folder(folder)
        dut = SimulatedDut(SimulatedConfig.model_validate({"driver": "simulated", **limits}))
        return Simulated(conf, dut, folder, printed)

    return made


def test_a_search_finds_the_limit_and_each_is_a_repetition(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forwarding_fps=3000)
    found = [binary_rate(Bed(call), 4000, 10) for _ in range(2)]
    assert all(1490 <= each.best <= 1500 for each in found)
    experiment = call.experiment()
    assert (experiment.procedure, experiment.state, experiment.gateway) == ("throughput", State.DONE, "unknown")
    assert experiment.title == "siitperf-tp 84 r 1 500 2 2"
    assert [each.value for each in experiment.repetitions] == [each.best for each in found]
    for search, repetition in zip(found, experiment.repetitions, strict=True):
        assert [step.rate for step in repetition.steps] == [rate for rate, _ in search.tried]
        assert [step.outcome == "pass" for step in repetition.steps] == [passed for _, passed in search.tried]
        assert repetition.lower_bound == search.best
        assert repetition.upper_bound == min(rate for rate, passed in search.tried if not passed)
    names = {stream.name for placed in experiment.all_trials for stream in placed.trial.result.streams}
    assert names == {"forward", "reverse"}


def test_a_search_in_time_and_one_over_connections(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forwarding_fps=3000)
    assert 1490 <= binary_rate_in_time(Bed(call), 4000, 10, 100).best <= 1500
    call = simulated(conf_text("nat44", **NAT), forwarding_fps=3000)
    assert 1490 <= binary_rate_stateful(Bed(call), 4000, 10, Phase1(100, 1000)).best <= 1500
    in_time, stateful = RunReader(call.folder).run.experiments
    assert (in_time.name, stateful.name) == ("throughput", "throughput-2")
    assert in_time.title == "siitperf-pdv 84 r 1 500 2 2 100"
    assert in_time.planned.procedure.frame_timeout_s == 0.1
    assert stateful.title == "siitperf-tp 84 r 1 500 2 2 100 100 1000 500 1100"
    assert stateful.planned.connections == 100
    assert {len(step.trials) for each in stateful.repetitions for step in each.steps} == {2}


@pytest.mark.parametrize("name", ["nat44", "nat64"])
def test_connections_of_more_ports_than_a_public_address_has_are_recorded(
    simulated: Callable[..., Simulated], name: str
) -> None:
    two_hosts = {"IP_L_var": "3", "IP_L_min": "2", "IP_L_max": "3", "IPv4_L_offset": "2", "IPv6_L_offset": "14"}
    both = {"IP_R_var": "3", "IP_R_min": "2", "IP_R_max": "2", "IPv4_R_offset": "2", "IPv6_R_offset": "14"}
    every_port = {"Fwd_sport_min": "1", "Fwd_sport_max": "65535", "Fwd_dport_min": "80", "Fwd_dport_max": "80"}
    call = simulated(conf_text(name, Enumerate_ips="3", **two_hosts, **both, **every_port), table_capacity="200k")
    call("tp", "84 1000 1 500 2 2 131070 131070 100000 500 2000")
    experiment = call.experiment()
    assert (experiment.planned.connections, experiment.repetitions[0].value) == (131_070, 1000)
    # An import would guess them.
    assert experiment.pool is None
    assert public_addresses(RunReader(call.folder).run) is None


def test_forward_is_from_the_initiator_which_may_be_on_the_right(simulated: Callable[..., Simulated]) -> None:
    sides = {"Stateful": "2", "IPv4_L_Real": "198.19.0.2", "IPv4_R_Real": "198.18.0.2", "Reverse": "0"}
    ports = {key.replace("Fwd", "Rev"): value for key, value in NAT.items()}
    call = simulated(conf_text("nat44", **sides, **ports))
    # The responder alone sends in phase 2.
    call("tp", "84 1000 1 500 2 2 100 100 1000 500 700")
    streams = [stream for placed in call.experiment().all_trials for stream in placed.trial.result.streams]
    assert [(stream.name, stream.source) for stream in streams] == [("phase 1", Side.LEFT), ("reverse", Side.RIGHT)]


def test_connection_rates_and_the_capacity_of_a_table(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("nat44", **NAT), connection_rate_fps=3000)
    assert 2990 <= binary_connection_rate(Bed(call), 8000, 10, Phase1(2000, 1)).best <= 3000
    experiment = call.experiment()
    assert experiment.procedure == "connection-rate"
    assert experiment.repetitions[0].value == pytest.approx(3000, abs=10)


def test_the_capacity_of_a_table(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("nat44", **NAT), table_capacity=150)
    bed = Bed(call)
    found = table_capacity(bed, initial=50, maximum=3000, error=500, clear=call.dut.table.clear)
    assert (found.capacity, found.safe, found.failed) == (150, 100, 200)
    experiments = RunReader(call.folder).run.experiments
    # R, the duration and D change with the rate, so that each call has arguments of its own.
    assert [[len(repetition.steps) for repetition in each.repetitions] for each in experiments] == [[1]] * 22
    assert experiments[0].title == "siitperf-tp 84 r 1 500 2 2 50 50 1500 500 1033"
    assert experiments[1].title == "siitperf-tp 84 r 1 500 2 2 50 50 2250 500 1022"
    assert {each.planned.connections for each in experiments} == {50, 100, 200, 150, 175, 162, 156, 153, 151}


def test_a_scan_without_its_procedure_is_a_search(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forwarding_fps=3000)
    received = frame_loss(Bed(call), range(1000, 2001, 250))
    (repetition,) = call.experiment().repetitions
    assert (repetition.value, repetition.upper_bound, repetition.curves) == (1500, 1750, ())
    assert [step.trials[-1].received for step in repetition.steps] == [*received.values()]


@pytest.mark.parametrize("rates", [range(1000, 2001, 250), range(2000, 999, -250)])
def test_a_scan_has_the_loss_at_each_rate(simulated: Callable[..., Simulated], rates: range) -> None:
    call = simulated(conf_text("siit"), forwarding_fps=3000)
    call.procedure = "frame-loss-rate"
    scans = [frame_loss(Bed(call), rates) for _ in range(2)]
    assert scans[0][1000] == 2000
    assert scans[0][1500] == 3000
    assert scans[0][2000] == pytest.approx(3000, abs=10)
    experiment = call.experiment()
    assert (experiment.procedure, experiment.title) == ("frame-loss-rate", "siitperf-tp 84 r 1 500 2 2")
    assert len(experiment.repetitions) == 2
    for received, repetition in zip(scans, experiment.repetitions, strict=True):
        assert (repetition.state, repetition.value, repetition.upper_bound) == (State.DONE, 1500, 1750)
        forward, reverse = repetition.curves
        assert (forward.name, reverse.title) == ("loss_forward", "Frame loss, reverse")
        assert [rate for rate, _ in forward.points] == sorted(rates)
        both = [there + back for (_, there), (_, back) in zip(forward.points, reverse.points, strict=True)]
        assert both == pytest.approx([100 * (2 - received[rate] / rate) for rate in sorted(rates)])
        at_maximum = repetition.figures["loss_at_maximum_forward"], repetition.figures["loss_at_maximum_reverse"]
        assert at_maximum == (forward.points[-1][1], reverse.points[-1][1])


def test_a_scan_whose_every_rate_loses_and_one_beside_a_search(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forward_loss_ratio=0.1)
    call.procedure = "frame-loss-rate"
    frame_loss(Bed(call), [1000, 2000])
    call.procedure = None
    call("tp", "84 1000 1 500 2 2")
    losses, search = RunReader(call.folder).run.experiments
    (scan,) = losses.repetitions
    assert (scan.state, scan.value, scan.reason) == (State.DONE, 0, "every rate lost frames")
    assert scan.figures["loss_at_maximum_forward"] == pytest.approx(10, abs=2)
    assert scan.figures["loss_at_maximum_reverse"] == 0
    assert search.procedure == "throughput"
    assert search.repetitions[0].reason == "no rate passed"


def test_a_rate_at_which_the_tester_failed_has_no_loss(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forward_loss_ratio=0.1)
    call.procedure = "frame-loss-rate"
    for rate, verdict in ((1000, Verdict.FAIL), (2000, Verdict.INVALID)):
        part, (phase,) = call.measured("tp", f"84 {rate} 1 500 2 2")
        result = phase.result.model_copy(update={"verdict": verdict})
        append(call.folder, part, [replace(phase, result=result)], TESTER)
    (repetition,) = call.experiment().repetitions
    assert [rate for rate, _ in repetition.curves[0].points] == [1000]
    assert repetition.figures["loss_at_maximum_forward"] is None
    assert [step.rate for step in repetition.steps] == [1000, 2000]


@pytest.mark.parametrize(
    ("program", "arguments", "asked", "error"),
    [
        ("pdv", "84 1000 1 500 2 2 0", "frame-loss-rate", "this call of siitperf-pdv is one of pdv; unset it"),
        ("pdv", "84 1000 1 500 2 2 9", "frame-loss-rate", "this call of siitperf-pdv is one of throughput; unset it"),
    ],
)
def test_a_procedure_that_a_call_cannot_be_of(
    simulated: Callable[..., Simulated], program: str, arguments: str, asked: str, error: str
) -> None:
    call = simulated(conf_text("siit"))
    call.procedure = asked
    with pytest.raises(PlanError) as caught:
        call(program, arguments)
    assert error in str(caught.value)


def test_series_of_other_names_are_apart(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forwarding_fps=3000)
    for series, maximum in (("nft", 4000), (None, 4000), ("jool", 2000), ("nft", 4000)):
        call.series = series
        binary_rate(Bed(call), maximum, 100)
    call("tp", "128 1000 1 500 2 2")
    found = RunReader(call.folder).run.experiments
    assert [(each.name, each.title, len(each.repetitions)) for each in found] == [
        ("nft-throughput", "nft: siitperf-tp 84 r 1 500 2 2", 2),
        ("throughput", "siitperf-tp 84 r 1 500 2 2", 1),
        ("jool-throughput", "jool: siitperf-tp 84 r 1 500 2 2", 1),
        ("nft-throughput-2", "nft: siitperf-tp 128 r 1 500 2 2", 1),
    ]
    call.printed()
    show(call.folder, LastingConsole())
    text = call.printed()
    assert "nft: siitperf-tp 84 r 1 500 2 2" in text
    assert "jool: siitperf-tp 84 r 1 500 2 2" in (call.folder / "report.html").read_text()


def test_delays_are_natxys_figures(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forward_delay_ns=200_000, delay_spread_ns=100_000)
    found = [latency(Bed(call), 1000, 2, 1, 500) for _ in range(3)]
    assert found[0]["Forward TL"] == pytest.approx(0.25, rel=0.05)
    variations = variation(Bed(call), 1000, 1)
    assert variations["Forward"] == pytest.approx(0.1, rel=0.05)
    delays, pdv = RunReader(call.folder).run.experiments
    assert (delays.procedure, pdv.procedure, len(delays.repetitions)) == ("latency", "pdv", 3)
    for each, repetition in zip(found, delays.repetitions, strict=True):
        assert repetition.figures["tl_forward"] == pytest.approx(each["Forward TL"] * 1e6, rel=0.01)
        assert repetition.figures["wcl_reverse"] == pytest.approx(each["Reverse WCL"] * 1e6, rel=0.01)
    assert pdv.repetitions[0].figures["pdv_forward"] == pytest.approx(variations["Forward"] * 1e6, rel=0.01)
    trial = next(delays.all_trials).trial
    assert trial.started_at < delays.repetitions[0].started_at


@pytest.mark.parametrize(
    ("directions", "table", "arrive", "size"),
    [
        # Replies need every connection.
        ({}, 80, 90, 100),
        ({"Forward": "0"}, 80, 90, 100),
        # Without replies, the table is what has to be filled.
        ({"Reverse": "0"}, 80, 90, None),
        ({"Reverse": "0"}, 80, 79, 80),
        # Phase 1 alone.
        ({"Forward": "0", "Reverse": "0"}, 80, 90, None),
    ],
)
def test_connections_that_are_missing_end_the_test_only_if_phase_2_needs_them(
    simulated: Callable[..., Simulated], directions: dict[str, str], table: int, arrive: int, size: int | None
) -> None:
    call = simulated(conf_text("nat44", **NAT, **directions), table_capacity=arrive)
    output = call("tp", f"84 1000 1 500 2 2 100 {table} 1000 500 1100")
    failed = f"Error: Failed to fill state table, valid entries: {arrive}, table size: {size}"
    assert (failed in output, "Preliminary phase finished." in output) == (size is not None, size is None)
    traffic = size is None and directions.get("Forward") != "0"
    assert ("Forward frames received: " in output) is traffic
    assert len([*call.experiment().all_trials]) == 1 + traffic
    assert output.count("Info: Test finished.") == 1
    assert ("natxy's responder needs all 100 connections" in output) is (size == 100)


def test_what_cannot_be_measured_is_stored_with_its_reason(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("nat44", **NAT), table_capacity=10)
    bed = Bed(call)
    assert binary_connection_rate(bed, 100, 50, Phase1(20, 1)).best == 0
    output = call("pdv", "84 1000 1 100 2 2 20 20 1000 10 100 0")
    assert "Failed to fill state table" in output
    rates, pdv = RunReader(call.folder).run.experiments
    assert (rates.repetitions[0].state, rates.repetitions[0].reason) == (State.NO_RESULT, "no rate passed")
    assert pdv.repetitions[0].state == State.TESTER_LIMIT
    assert "did not repeat it" in pdv.repetitions[0].reason
    assert len([*pdv.all_trials]) == 1


@pytest.mark.parametrize(("program", "last"), [("lat", "0 500"), ("pdv", "0")])
def test_traffic_after_a_phase_1_with_loss_is_not_stored_as_another_phase_1(
    simulated: Callable[..., Simulated], program: str, last: str
) -> None:
    call = simulated(conf_text("nat44", **NAT, Reverse="0"), table_capacity=90)
    assert "Forward frames received: 1000" in call(program, f"84 1000 1 100 2 2 100 80 1000 10 200 {last}")
    (repetition,) = call.experiment().repetitions
    assert repetition.state == State.TESTER_LIMIT
    assert [trial.kind for trial in repetition.trials] == [TrialKind.PHASE1]


@pytest.mark.parametrize(
    ("end", "state", "reason"),
    [
        (EngineDiedError("natxy-engine was killed"), State.FAILED, "natxy-engine was killed"),
        (KeyboardInterrupt(), State.INTERRUPTED, "interrupted"),
    ],
)
def test_the_reason_of_a_test_that_was_broken_off(
    simulated: Callable[..., Simulated], end: BaseException, state: State, reason: str
) -> None:
    call = simulated(conf_text("nat44", **NAT))
    part, phases = call.measured("pdv", "84 1000 1 100 2 2 20 20 1000 10 100 0")
    append(call.folder, part, phases[:1], TESTER, end)
    experiment = call.experiment()
    (repetition,) = experiment.repetitions
    assert (repetition.state, repetition.reason) == (state, reason)
    assert len([*experiment.all_trials]) == 1


def test_the_run_took_as_long_as_the_calls_and_not_only_their_recording(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"))
    part, phases = call.measured("tp", "84 1000 1 100 2 2")
    for _ in range(2):
        now = MachineLoad.now()
        assert now.monotonic_s is not None
        began = now.model_copy(update={"monotonic_s": now.monotonic_s - 40})
        append(call.folder, part, phases, TESTER, began=began)
    assert 80 <= RunReader(call.folder).run.active_s < 80 + HANG_S


def test_the_run_has_a_report(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"), forwarding_fps=3000)
    for _ in range(2):
        binary_rate(Bed(call), 4000, 100)
    latency(Bed(call), 1000, 2, 1, 500)
    call.procedure = "frame-loss-rate"
    frame_loss(Bed(call), [1000, 2000])
    call.printed()
    assert show(call.folder, LastingConsole()).state == RunState.DONE
    text = call.printed()
    # All repetitions that there are.
    assert re.search(r"siitperf-tp 84 r 1 500 2 2 .* 2 *\n", text), text
    page = (call.folder / "report.html").read_text()
    assert "stand in for siitperf" in page
    assert "Frame loss, forward" in page
    # Plans have these, and the scripts chose the rates.
    for name in ("Rates searched", "Error of the search", "Maximum rate", "Step percent", "plan.yaml", "seed 0"):
        assert name not in page


def test_the_report_does_not_say_that_natxy_repeated_what_scripts_asked_for(
    simulated: Callable[..., Simulated],
) -> None:
    call = simulated(conf_text("siit"))
    for frame_size, verdict in ((84, Verdict.INVALID), (128, Verdict.PASS)):
        part, (phase,) = call.measured("tp", f"{frame_size} 1000 1 500 2 2")
        result = phase.result.model_copy(update={"verdict": verdict})
        append(call.folder, part, [replace(phase, result=result)], TESTER)
    show(call.folder, LastingConsole())
    page = (call.folder / "report.html").read_text()
    assert "They decided nothing." in page
    assert "no result: no trial decided anything" in page
    assert "are repeated" not in page


def test_programs_that_end_at_the_same_time_lose_no_trial(simulated: Callable[..., Simulated]) -> None:
    call = simulated(conf_text("siit"))
    measured = [call.measured("tp", f"84 {rate} 1 500 2 2") for rate in range(1000, 1008)]
    with ThreadPoolExecutor() as threads:
        [*threads.map(lambda each: append(call.folder, each[0], each[1], TESTER), measured)]
    (repetition,) = call.experiment().repetitions
    assert sorted(step.rate for step in repetition.steps) == [*range(1000, 1008)]
    assert [step.number for step in repetition.steps] == [*range(1, 9)]


def _half_made(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE run (id INTEGER)")


@pytest.mark.parametrize("begin", [Path.touch, _half_made, lambda file: RunStore(file).close()])
def test_a_file_without_a_run_is_begun_anew(simulated: Callable[..., Simulated], begin: Callable[[Path], None]) -> None:
    call = simulated(conf_text("siit"))
    begin(call.folder / RESULTS_FILE)
    call("tp", "84 1000 1 500 2 2")
    assert len(call.experiment().repetitions) == 1


def test_a_failure_leaves_nothing_of_a_trial(
    simulated: Callable[..., Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = simulated(conf_text("siit"))
    call("tp", "84 1000 1 500 2 2")

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(RunStore, "finish_run", full)
    with pytest.raises(PlanError, match=r"NATXY_SIITPERF_RUN is '.*': database or disk is full"):
        call("tp", "84 2000 1 500 2 2")
    assert [step.rate for step in call.experiment().repetitions[0].steps] == [1000]
    assert RunReader(call.folder).run.state == RunState.DONE


def test_other_runs_are_not_appended_to(simulated: Callable[..., Simulated], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    store = RunStore(other / RESULTS_FILE)
    store.start_run(name="mine", plan_yaml="name: mine\n", seed=1, natxy_version="0", machine={})
    store.close()
    with pytest.raises(PlanError, match="has a run of natxy's own, mine"):
        check_folder(other)
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match="NATXY_SIITPERF_RUN"):
        check_folder(tmp_path / "file")
