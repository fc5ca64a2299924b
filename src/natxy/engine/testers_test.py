# SPDX-License-Identifier: Apache-2.0
"""Tests an engine made of several, with simulated engines whose clocks differ."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from ipaddress import IPv4Address

import pytest

from natxy.engine.clocks import measured_offset, now_ns
from natxy.engine.interface import OnProgress
from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.ports import EngineClock, PortMedium, PortsOpen, PortsOpened, PortSpec
from natxy.engine.messages.requests import (
    FrameFormat,
    StreamSpec,
    TrialLimits,
    TrialRequest,
)
from natxy.engine.messages.results import Cause, Progress, SourceSpread, TrialResult, Verdict
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.engine.testers import Tester, Testers
from natxy.errors import EngineDiedError
from natxy.plan.gateways.simulated import SimulatedConfig
from tests.support.command import HANG_S
from tests.support.engine_trials import phase1_of, validation_of

HOUR_NS = 3600 * 10**9
# On a busy machine, to read a clock takes long.
PATIENT = TrialLimits(max_pause_s=5)


class Part(SimulatedEngine):
    """An engine whose clock is `ahead_ns` of this process's, and which `late_ns` after the asked moment begins."""

    def __init__(self, ahead_ns: int = 0, late_ns: int = 0, forwarding_fps: float = 1e6) -> None:
        super().__init__(SimulatedDut(SimulatedConfig(forwarding_fps=forwarding_fps)))
        self.ahead_ns = ahead_ns
        self.late_ns = late_ns
        self.reading_s = 0.0
        self.answer: dict[str, object] = {}
        self.sources: SourceSpread | None = None
        self.opened: list[PortsOpen] = []
        self.pairs: list[int] = []
        self.trials: list[TrialRequest] = []
        self.during: Callable[[], None] = lambda: None
        self.reading: Callable[[], None] = lambda: None
        self.closing: Callable[[], None] = lambda: None
        self.measured = threading.Event()
        self.aborted = threading.Event()
        self.closed = threading.Event()

    def read_clock(self) -> EngineClock:
        self.reading()
        time.sleep(self.reading_s)
        return EngineClock(clock_ns=now_ns() + self.ahead_ns, raw_ns=0, uncertainty_ns=0)

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        self.opened.append(request)
        return super().open_ports(request)

    def run_trial(self, request: TrialRequest, on_progress: OnProgress = None) -> TrialResult:
        if request.phase1 or request.streams[0].role == StreamRole.VALIDATION:
            self.pairs += [stream.pair for stream in request.streams]
            made = super().run_trial(request, on_progress)
            return self.begun(request, made.model_copy(update={"sources": self.sources} if request.phase1 else {}))
        self.trials.append(request)
        self.during()
        result = super().run_trial(request, on_progress)
        self.measured.set()
        return self.begun(request, result.model_copy(update=self.answer))

    def begun(self, request: TrialRequest, result: TrialResult) -> TrialResult:
        if request.begin_at_ns is None:
            return result
        return result.model_copy(update={"began_ns": request.begin_at_ns + self.late_ns})

    def wait_for(self, event: threading.Event) -> None:
        assert event.wait(HANG_S)

    def abort(self) -> None:
        self.aborted.set()

    def close(self) -> None:
        self.closed.set()
        self.closing()


def both(one: Part, other: Part) -> Testers:
    """Returns two testers: this machine with the pairs 0 and 2, and another one with the pair 1."""
    return Testers([Tester("this machine", one, (0, 2)), Tester("the tester b", other, (1,))])


def stream(pair: int, rate_fps: float = 1000) -> StreamSpec:
    name = f"forward {pair + 1}" if pair else "forward"
    frame = FrameFormat(size=64)
    return StreamSpec(name=name, source=Side.LEFT, pair=pair, frame=frame, rate_fps=rate_fps, frames=1000)


def trial(*streams: StreamSpec, limits: TrialLimits = PATIENT) -> TrialRequest:
    return TrialRequest(streams=[*streams], seed=1, drain_s=0, limits=limits)


def begin_ns(part: Part) -> int:
    """Returns the start of the engine's last trial on its own clock."""
    asked = part.trials[-1].begin_at_ns
    assert asked is not None
    return asked


def test_each_engine_has_its_own_pairs() -> None:
    one, other = Part(), Part()
    result = both(one, other).run_trial(trial(stream(0), stream(1), stream(2)))
    assert [[(each.name, each.pair) for each in part.trials[0].streams] for part in (one, other)] == [
        [("forward", 0), ("forward 3", 2)],
        [("forward 2", 1)],
    ]
    assert [each.name for each in result.streams] == ["forward", "forward 2", "forward 3"]
    assert sum(each.received for each in result.streams) == 3000
    assert (result.verdict, result.cause) == (Verdict.PASS, Cause.LOSSLESS)
    assert {port.pair for port in result.ports} <= {0, 1, 2}


def test_a_tester_that_has_the_trial_alone_waits_for_no_start() -> None:
    one, other = Part(), Part()
    one.reading_s = 0.005
    told: list[Progress] = []
    result = both(one, other).run_trial(trial(stream(2), limits=TrialLimits(max_pause_s=0.001)), told.append)
    assert (len(one.trials), len(other.trials)) == (1, 0)
    assert one.trials[0].begin_at_ns is None
    assert (result.verdict, [each.name for each in result.streams]) == (Verdict.PASS, ["forward 3"])
    assert {port.pair for port in result.ports} <= {0, 2}
    assert told


def test_each_engine_opens_the_ports_of_its_own_pairs() -> None:
    one, other = Part(), Part()
    ports = [
        PortSpec(side=side, pair=pair, device=f"net_null{pair}{side}", medium=PortMedium.LOOP)
        for pair in range(3)
        for side in Side
    ]
    both(one, other).open_ports(PortsOpen(ports=ports, dut_cores=[1]))
    opened = [part.opened[0] for part in (one, other)]
    assert [[port.pair for port in each.ports] for each in opened] == [[0, 0, 2, 2], [1, 1]]
    # The cores of the DUT are those of this machine.
    assert [each.dut_cores for each in opened] == [[1], []]


def test_phase_1_and_its_validation_are_those_of_the_pair() -> None:
    one, other = Part(), Part()
    testers = both(one, other)
    first = stream(1)
    made = testers.run_trial(phase1_of(first, drain_s=0))
    assert made.established == 1000
    testers.run_trial(validation_of(first, rate_fps=1000, drain_s=0))
    assert (one.pairs, other.pairs) == ([], [1, 1])


def test_phase_1_and_its_validation_may_be_those_of_all_pairs() -> None:
    one, other = Part(), Part()
    testers = both(one, other)
    initiators = [stream(pair) for pair in range(3)]
    made = testers.run_trial(phase1_of(*initiators, drain_s=0, limits=PATIENT))
    assert (made.verdict, made.established) == (Verdict.PASS, 3000)
    validated = testers.run_trial(validation_of(*initiators, rate_fps=1000, drain_s=0, limits=PATIENT))
    assert [(each.name, each.received) for each in validated.streams] == [
        ("validation", 1000), ("validation 2", 1000), ("validation 3", 1000),
    ]  # fmt: skip
    assert (one.pairs, other.pairs) == ([0, 2, 0, 2], [1, 1])


def test_public_addresses_of_all_testers_are_told_together() -> None:
    def spread(connections: int, addresses: int, counts: tuple[int, int], lowest: str, highest: str) -> SourceSpread:
        return SourceSpread(
            connections=connections, addresses=addresses, fewest=counts[0], most=counts[1],
            lowest=IPv4Address(lowest), highest=IPv4Address(highest), endpoints=connections // 2,
            lowest_port=counts[0], highest_port=counts[1],
        )  # fmt: skip

    one, other = Part(), Part()
    one.sources = spread(2000, 2, (900, 1100), "198.19.0.4", "198.19.0.5")
    other.sources = spread(1000, 3, (300, 400), "198.19.1.4", "198.19.1.6")
    request = phase1_of(stream(0), stream(1), drain_s=0, limits=PATIENT)
    found = both(one, other).run_trial(request).sources
    assert found == spread(3000, 5, (300, 1100), "198.19.0.4", "198.19.1.6")
    other.sources = other.sources.model_copy(update={"endpoints": None, "lowest_port": None, "highest_port": None})
    found = both(one, other).run_trial(request).sources
    assert found
    assert (found.endpoints, found.lowest_port, found.highest_port) == (None, 900, 1100)
    other.sources = None
    assert both(one, other).run_trial(request).sources is None


def test_all_begin_at_the_same_moment_of_clocks_that_differ() -> None:
    one, other = Part(), Part(ahead_ns=HOUR_NS)
    both(one, other).run_trial(trial(stream(0), stream(1)))
    here_ns, there_ns = (begin_ns(part) - part.ahead_ns for part in (one, other))
    # Whatever keeps this process from reading a clock is part of the error.
    assert abs(here_ns - there_ns) < 10**9


def test_an_offset_has_the_error_of_the_fastest_exchange() -> None:
    part = Part(ahead_ns=HOUR_NS)
    part.reading_s = 0.002
    offset = measured_offset(part)
    assert offset.error_ns >= 1_000_000
    assert abs(offset.offset_ns - HOUR_NS) <= offset.error_ns


def test_a_trial_fails_with_its_worst_part() -> None:
    one, other = Part(), Part(forwarding_fps=500)
    result = both(one, other).run_trial(trial(stream(0), stream(1)))
    assert result.verdict == Verdict.FAIL
    assert result.reason.startswith("the tester b: forward 2: ")
    assert [each.lost > 0 for each in result.streams] == [False, True]


def test_a_tester_that_was_not_ready_makes_the_trial_invalid_and_gets_more_time() -> None:
    one, other = Part(), Part(late_ns=6 * 10**9)
    testers = both(one, other)
    result = testers.run_trial(trial(stream(0), stream(1)))
    assert (result.verdict, result.cause) == (Verdict.INVALID, Cause.LATE)
    assert result.reason == "the tester b was ready 6000.0 ms after the start on which the testers had agreed"
    other.late_ns = 0
    before_ns = now_ns()
    assert testers.run_trial(trial(stream(0), stream(1))).verdict == Verdict.PASS
    # Not 1.5 times as much as was missing.
    assert 10**9 < begin_ns(one) - before_ns < 9 * 10**9


def test_a_late_start_hides_no_other_reason() -> None:
    one, other = Part(), Part(late_ns=6 * 10**9)
    one.answer = {"verdict": Verdict.INVALID, "cause": Cause.LINK_DOWN, "reason": "the left port is down"}
    result = both(one, other).run_trial(trial(stream(0), stream(1)))
    assert (result.verdict, result.cause) == (Verdict.INVALID, Cause.LINK_DOWN)
    assert result.reason == "this machine: the left port is down"


def test_a_clock_that_is_not_known_well_makes_the_trial_invalid() -> None:
    one, other = Part(), Part()
    other.reading_s = 0.005
    result = both(one, other).run_trial(trial(stream(0), stream(1), limits=TrialLimits(max_pause_s=0.001)))
    assert result.verdict == Verdict.INVALID
    assert "is known within" in result.reason


def test_a_tester_that_died_between_trials_is_named() -> None:
    one, other = Part(), Part()

    def die() -> None:
        raise EngineDiedError("natxy-engine ended during engine.clock")

    other.reading = die
    with pytest.raises(EngineDiedError, match=r"^the tester b: natxy-engine ended"):
        both(one, other).run_trial(trial(stream(0), stream(1)))


def test_engines_end_at_the_same_time() -> None:
    one, other = Part(), Part()
    one.closing = lambda: one.wait_for(other.closed)
    other.closing = lambda: other.wait_for(one.closed)
    both(one, other).close()


def test_progress_is_that_of_all() -> None:
    one, other, told = Part(), Part(), list[Progress]()
    one.during = lambda: one.wait_for(other.measured)
    both(one, other).run_trial(trial(stream(0), stream(1)), told.append)
    assert max(each.planned for each in told) == 2000


def test_the_others_end_when_one_dies() -> None:
    one, other = Part(), Part()

    def die() -> None:
        raise EngineDiedError("natxy-engine ended during trial.run")

    other.during = die
    one.during = lambda: one.wait_for(one.aborted)
    with pytest.raises(EngineDiedError, match=r"^the tester b: natxy-engine ended"):
        both(one, other).run_trial(trial(stream(0), stream(1)))
    assert not one.closed.is_set()


def test_an_engine_that_does_not_end_its_trial_is_ended() -> None:
    one, other = Part(), Part()

    def interrupt() -> None:
        raise KeyboardInterrupt

    other.during = interrupt
    one.during = lambda: one.wait_for(one.closed)
    with pytest.raises(KeyboardInterrupt):
        both(one, other).run_trial(trial(stream(0), stream(1)))
    assert one.closed.is_set()
