# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from unittest.mock import MagicMock

import pytest

from natxy.api.labs import DUT_MACS
from natxy.engine.interface import OnProgress
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Cause, PortResult, StreamResult, TrialResult, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from natxy_siitperf.trial.lines import remark, remark_on
from natxy_siitperf.trial.neighbors import with_dut_macs
from natxy_siitperf.trial.trial import STRICT, Test, run
from tests.support.siitperf_confs import conf_text

OTHER = "02:00:00:00:00:99"


@pytest.fixture
def result() -> TrialResult:
    """A trial in which nothing was lost."""
    test = call_with(None)
    (phase,) = run(test, SimulatedEngine(SimulatedDut(SimulatedConfig(driver="simulated"))))  # type: ignore[arg-type]
    return phase.result


def call_with(strict: str | None) -> Test:
    conf = parse_conf(conf_text("siit"))
    arguments = parse_arguments(Program.THROUGHPUT, ["84", "1000", "1", "500", "2", "2"], conf)
    return Test.of(conf, arguments, {} if strict is None else {STRICT: strict})


@dataclass
class Clock:
    """Stands for the module `time`; time passes where something sleeps, or where a phase takes it."""

    now_s: float = 100.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.slept.append(duration_s)
        self.now_s += duration_s


class TimedEngine(SimulatedEngine):
    """Notes when phase 2 begins, and takes some time for phase 1."""

    def __init__(self, clock: Clock, phase1_s: float) -> None:
        super().__init__(SimulatedDut(SimulatedConfig(driver="simulated")))
        self._clock, self._phase1_s = clock, phase1_s
        self.phase2_began_s = 0.0

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        if request.phase1:
            self._clock.now_s += self._phase1_s
        else:
            self.phase2_began_s = self._clock.now_s
        return super().run_trial(request, on_progress)


@pytest.mark.parametrize(("given", "strict"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_a_variable_makes_invalid_trials_fail(given: str | None, strict: bool) -> None:
    assert call_with(given).strict is strict


def test_frames_of_which_none_arrives_are_told_with_the_mac_address_that_they_were_sent_to(
    result: TrialResult, capsys: pytest.CaptureFixture[str]
) -> None:
    forward, reverse = result.streams
    nothing = forward.model_copy(update={"received": 0, "lost": forward.planned})
    lost = result.model_copy(update={"streams": [nothing, reverse], "verdict": Verdict.FAIL})
    capsys.readouterr()
    engine = MagicMock()
    engine.run_trial.return_value = lost
    assert len([*run(call_with(None), engine)]) == 1
    printed = capsys.readouterr()
    assert "Forward frames received: 0\n" in printed.out
    assert "Reverse frames received: 1000\n" in printed.out
    assert printed.err.startswith(
        "natxy: none of the 1000 frames of Forward arrived; they were sent to 02:00:00:00:00:11 (MAC-L-DUT): compare"
    )
    assert printed.err.count("\n") == 1
    test = replace(call_with(None), conf=with_dut_macs(call_with(None).conf, {DUT_MACS: ",".join(2 * [OTHER])}))
    assert len([*run(test, engine)]) == 1
    assert f"; they were sent to {OTHER} ({DUT_MACS}): compare" in capsys.readouterr().err


def test_the_lines_of_a_test_with_both_phases(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated(Program.PDV, monkeypatch, phase1_s=0.2)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert [re.sub(r"[\d.]+ seconds|: \d+\.\d+", "", line) for line in printed.out.splitlines()] == [
        "Info: Preliminary frame sending started.",
        "Info: Preliminary sender's sending took .",
        "Preliminary frames sent: 100",
        "Preliminary frames received: 100",
        "Info: Preliminary phase finished.",
        "Info: Testing started.",
        "Info: Forward sender's sending took .",
        "Forward frames sent: 1000",
        "Forward frames received: 1000",
        "Info: Test finished.",
        "Info: Forward D99_9th_perc",
        "Info: Forward Dmin",
        "Info: Forward Dmax",
        "Forward PDV",
        "Info: Test finished.",
    ]


@pytest.mark.parametrize(("phase1_s", "rest_s"), [(0.2, 0.9), (1.1, 0.0), (7.0, 0.0)])
def test_phase_2_begins_d_after_phase_1_began_or_at_once_if_that_took_longer(
    monkeypatch: pytest.MonkeyPatch, phase1_s: float, rest_s: float
) -> None:
    clock, began_s = simulated(Program.THROUGHPUT, monkeypatch, phase1_s)
    assert clock.slept == [pytest.approx(rest_s)]
    assert began_s == pytest.approx(100 + phase1_s + rest_s)


def simulated(program: Program, monkeypatch: pytest.MonkeyPatch, phase1_s: float) -> tuple[Clock, float]:
    """Carries out both phases by a clock that began at 100 s, with a D of 1.1 s; returns it, and when phase 2 began."""
    conf = parse_conf(conf_text("nat44", Reverse="0"))
    traffic, phase1 = ["84", "1000", "1", "500", "2", "2"], ["100", "100", "1000", "500", "1100"]
    arguments = parse_arguments(program, [*traffic, *phase1, *(["0"] if program is Program.PDV else [])], conf)
    clock = Clock()
    engine = TimedEngine(clock, phase1_s)
    monkeypatch.setattr("natxy_siitperf.trial.trial.time", clock)
    assert len([*run(Test.of(conf, arguments, {}), engine)]) == 2  # type: ignore[arg-type]
    return clock, engine.phase2_began_s


def test_frames_that_come_late_are_neither_received_nor_missing(capsys: pytest.CaptureFixture[str]) -> None:
    conf = parse_conf(conf_text("siit"))
    arguments = parse_arguments(Program.PDV, ["84", "1000", "1", "500", "2", "2", "2"], conf)
    slow = SimulatedConfig(driver="simulated", reverse_delay_ns=3_000_000, reverse_loss_ratio=0.1)
    run_all = [*run(Test.of(conf, arguments, {}), SimulatedEngine(SimulatedDut(slow)))]  # type: ignore[arg-type]
    assert len(run_all) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines()[-6:] == [
        "Info: Test finished.",
        "Forward frames received: 1000",
        "Info: Forward frames completely missing: 0",
        "Reverse frames received: 0",
        "Info: Reverse frames completely missing: 100",
        "Info: Test finished.",
    ]


@pytest.mark.parametrize("said_invalid", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_a_trial_that_the_tester_spoiled(
    result: TrialResult, capsys: pytest.CaptureFixture[str], strict: bool, said_invalid: bool
) -> None:
    """Scripts end at `Error:` alone: `invalid` is a failed step, which would count against the gateway."""
    capsys.readouterr()
    spoiled = result.model_copy(
        update={"verdict": Verdict.INVALID, "cause": Cause.PAUSED, "reason": "the tester paused"}
    )
    remark_on(spoiled, said_invalid, strict=strict)
    captured = capsys.readouterr()
    assert captured.out == ""
    if strict:
        assert captured.err == "Error: the trial is invalid, by the tester's fault: the tester paused\n"
    elif said_invalid:
        assert captured.err == ""
    else:
        assert captured.err.startswith("natxy: by the tester's fault")
        assert "Error:" not in captured.err
        assert "invalid" not in captured.err


@pytest.mark.parametrize("strict", [False, True])
def test_lost_frames_are_not_the_testers_fault(
    result: TrialResult, capsys: pytest.CaptureFixture[str], strict: bool
) -> None:
    capsys.readouterr()
    for verdict in (Verdict.PASS, Verdict.FAIL):
        remark_on(result.model_copy(update={"verdict": verdict}), False, strict=strict)
    assert capsys.readouterr().err == ""


def test_what_siitperf_would_count_as_received_is_told(result: TrialResult, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    forward, reverse = result.streams
    port = PortResult(side=Side.LEFT, missed=1, no_buffer=2, kernel_drops=3, foreign={"arp": 9, "icmp": 4})
    told = result.model_copy(
        update={
            "streams": [
                forward.model_copy(update={"duplicate": 5, "beyond_window": 2}),
                reverse.model_copy(update={"corrupt": 6}),
            ],
            "ports": [port, port.model_copy(update={"side": Side.RIGHT})],
            "stale": 7,
        }
    )
    remark_on(told, False, strict=True)
    assert capsys.readouterr().err == (
        "natxy: not counted as received: 5 duplicate, 6 corrupt, 2 too far behind to be told from duplicates, 7 of "
        "earlier trials, 12 dropped by the tester, 8 foreign (icmp)\n"
    )


def late(stream: StreamResult, max_ns: int, p999_ns: int = 0, overrun_ns: int = 0, lost: int = 0) -> StreamResult:
    pacing = {"max_ns": max_ns, "p999_ns": p999_ns, "overrun_ns": overrun_ns}
    return stream.model_copy(update={"pacing": stream.pacing.model_copy(update=pacing), "lost": lost})


def test_a_sender_that_was_late_is_told_by_direction(result: TrialResult, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    forward, reverse = result.streams
    background = forward.model_copy(update={"name": "Forward background"})
    streams = [
        late(forward, 4_000_000, 12_300),
        late(background, 2_000_000, 700_000, 1500, lost=1),
        late(reverse, 1_000_000, lost=1),
    ]
    remark_on(result.model_copy(update={"streams": streams}), False, strict=True)
    assert capsys.readouterr().err == (
        "natxy: Forward frames left late: by up to 4.000 ms, 99.9 % by up to 0.700 ms, the last one by 0.002 ms\n"
    )


@pytest.mark.parametrize(("lost", "p999_ns", "told"), [(0, 1_000_000, False), (1, 0, True), (0, 1_000_001, True)])
def test_lateness_is_told_where_it_may_have_cost_frames_or_was_one_of_many(
    result: TrialResult, capsys: pytest.CaptureFixture[str], lost: int, p999_ns: int, told: bool
) -> None:
    capsys.readouterr()
    forward, reverse = result.streams
    streams = [late(forward, 4_000_000, p999_ns, lost=lost), reverse]
    remark_on(result.model_copy(update={"streams": streams}), False, strict=False)
    assert capsys.readouterr().err.count("\n") == told


@pytest.mark.parametrize(("received", "told"), [(3000, True), (3001, False)])
def test_frames_out_of_order_are_told_if_they_are_one_in_a_thousand(
    result: TrialResult, capsys: pytest.CaptureFixture[str], received: int, told: bool
) -> None:
    """They count as received."""
    capsys.readouterr()
    forward, reverse = result.streams
    streams = [forward, reverse.model_copy(update={"received": received, "reordered": 3})]
    remark_on(result.model_copy(update={"streams": streams}), False, strict=False)
    assert capsys.readouterr().err == ("natxy: 3 frames of Reverse arrived out of order\n" if told else "")


def test_remarks_have_no_word_that_scripts_look_for(capsys: pytest.CaptureFixture[str]) -> None:
    remark("Error: an invalid\nvalue")
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "Error:" not in err
    assert "invalid" not in err
