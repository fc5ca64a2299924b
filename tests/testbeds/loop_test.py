# SPDX-License-Identifier: Apache-2.0
"""Tests the tester's ports connected to each other: a complete run, and a port that goes down during a trial."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from natxy.dut.transport.local import run_program
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve, PortsOpen
from natxy.engine.messages.requests import StreamSpec
from natxy.engine.messages.results import Cause, Verdict
from natxy.errors import EngineDiedError, NatxyError, TesterLimitError
from natxy.events.listener import RunListener
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.yaml.loading import load_plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord, State
from natxy.run.run import run_plan
from natxy.testbeds.loop import LoopTestbed
from tests.support import needs
from tests.support.engine_trials import ADDRESSES, first_progress, stream_from, trial
from tests.support.lab_frames import namespace_of_tester, traces
from tests.support.nat_bed import all_arrived
from tests.support.timing import takes_at_most
from tests.support.undisturbed import repeated, undisturbed

pytestmark = needs.LAB

PLAN = """
name: loop
testbed: {{kind: loop, medium: {medium}, io: {io}}}
timing: {{preset: lab, trial: 50ms, drain: 50ms, settle: 10ms}}
repeat: 1
defaults: {{gateway: wire}}
experiments:
  - {{name: rate, procedure: throughput, search: {{min_rate: 1k, max_rate: {max_rate}, error: 30%}}, max_invalid: 4}}
  - {{name: delays, procedure: pdv, family: ipv6, addresses: multiple, rate: 1k, max_invalid: 20}}
"""
REOPENED = 10
LEAST_FPS = 10_000


@contextmanager
def loop(tmp_path: Path, medium: str = "veth", silence_s: float = 5) -> Iterator[EngineClient]:
    with LoopTestbed(LoopConfig.model_validate({"kind": "loop", "medium": medium})) as testbed:
        engine = EngineClient(testbed.engine_argv(), tmp_path / "engine.log", silence_s)
        try:
            engine.open_ports(PortsOpen(ports=testbed.port_specs()))
            yield engine
        finally:
            engine.close()


def assert_all_arrive(engine: EngineClient, stream: StreamSpec) -> None:
    """Asserts that one of several trials passes: a machine that takes a core away for long loses frames."""
    undisturbed(
        lambda: engine.run_trial(trial(stream)),
        lambda result: "" if result.verdict == Verdict.PASS else result.reason,
    )


def blames(run: RunRecord) -> str:
    """Returns why a run of PLAN proves nothing about the tester, or an empty text."""
    rate = run.experiments[0]
    if limited := [each.reason for each in run.experiments if each.state == State.TESTER_LIMIT]:
        return ", ".join(limited)
    return "" if (rate.repetitions[0].value or 0) > LEAST_FPS else f"at most {rate.repetitions[0].value} frames/s"


@pytest.mark.parametrize(
    ("medium", "io", "max_rate"), [("veth", "af_xdp", "8M"), ("veth", "af_packet", "4M"), ("memif", "af_xdp", "60M")]
)
@pytest.mark.machine
def test_a_plan_measures_the_tester_itself(tmp_path: Path, medium: str, io: str, max_rate: str) -> None:
    before = traces()
    plan = tmp_path / "loop.yaml"
    plan.write_text(PLAN.format(medium=medium, io=io, max_rate=max_rate))
    folders = (tmp_path / f"run{number}" for number in count())

    def measured() -> RunRecord:
        folder = next(folders)
        assert run_plan(load_plan(plan), folder, RunListener()) in (0, TesterLimitError.exit_code)
        return RunReader(folder).run

    run = undisturbed(measured, blames)
    rate, delays = run.experiments
    # A rate that the tester cannot send in time is an upper bound, and does not end the search.
    assert rate.repetitions[0].upper_bound is not None
    assert (rate.repetitions[0].value or 0) > LEAST_FPS
    assert {trial.verdict for trial in rate.repetitions[0].trials} >= {Verdict.PASS, Verdict.INVALID}
    assert delays.repetitions[0].figures["min_delay_forward"] is not None
    assert "no DUT" in run.testbed["testbed"]
    assert traces() == before


def cores_of_workers(pid: int) -> Iterator[str]:
    """Yields the list of cores that Linux gives to each of an engine's workers."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        if (thread / "comm").read_text().startswith("rte-worker"):
            yield (thread / "status").read_text().partition("Cpus_allowed_list:")[2].split()[0]


@repeated
def test_each_port_has_the_cores_that_the_plan_gives_its_tasks(tmp_path: Path) -> None:
    one, *_, other = sorted(os.sched_getaffinity(0))
    tasks = {"left": {"send": one, "receive": other}, "right": {"send": other, "receive": [one, other]}}
    written = {"kind": "loop", "io": "af_packet", "queues": 2, "tester_cores": tasks}
    # The engine tells of a trial under way five times in a second.
    both_ways = [stream_from(side, 1.0, rate_fps=1000) for side in Side]
    pinned: list[str] = []
    with LoopTestbed(LoopConfig.model_validate(written)) as testbed, testbed.engine(tmp_path / "engine.log") as engine:
        assert isinstance(engine, EngineClient)
        found = engine.run_trial(trial(*both_ways), first_progress(lambda: pinned.extend(cores_of_workers(engine.pid))))
        # Linux's own word: each worker may run on its core only.
        assert sorted(pinned) == sorted({str(one), str(other)})
        all_arrived(found)
        assert found.verdict == Verdict.PASS, found.reason
        assert [stream.received for stream in found.streams] == [stream.frames for stream in both_ways]
        pairs = both_ways[0].model_copy(update={"ipdv": True})
        with pytest.raises(NatxyError, match="2 cores share"):
            engine.run_trial(trial(pairs))
    assert testbed.description()["tester cores"].endswith(f"right send {other}, right receive {one}+{other}")


@pytest.mark.parametrize("ending", [["set", "left", "down"], ["del", "left"]], ids=lambda argv: argv[0])
def test_an_interface_that_goes_away_in_mid_trial(tmp_path: Path, ending: list[str]) -> None:
    argv = ["ip", "-n", namespace_of_tester(), "link", *ending]

    def ended() -> float:
        with loop(tmp_path) as engine:
            assert_all_arrive(engine, stream_from(Side.LEFT, 0.1))
            started = time.monotonic()
            # A short drain: after the interface went away, no frame ends it.
            sending = trial(stream_from(Side.LEFT, 2.0)).model_copy(update={"drain_s": 0.1})
            result = engine.run_trial(sending, first_progress(lambda: run_program(argv)))
            took_s = time.monotonic() - started
        assert (result.verdict, result.cause) == (Verdict.INVALID, Cause.LINK_DOWN)
        return took_s

    # The traffic, the time that its last frames have to leave, and the drain.
    takes_at_most(2.0 + 2.0 + 0.1 + 2.0, ended)


def test_an_engine_that_is_stopped_in_mid_trial(tmp_path: Path) -> None:
    # Longer than the machine pauses while the engine opens its ports.
    silence_s = 4.0

    def died() -> float:
        with loop(tmp_path, "memif", silence_s) as engine:
            started = time.monotonic()
            with pytest.raises(EngineDiedError, match="was silent for"):
                engine.run_trial(
                    trial(stream_from(Side.LEFT, 5.0)), first_progress(lambda: os.kill(engine.pid, signal.SIGSTOP))
                )
            return time.monotonic() - started

    # The engine may be silent for as long as it waits for stragglers, and for the time above.
    takes_at_most(0.3 + 2 + silence_s + 2, died)


def resident_mib(pid: int) -> float:
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


@pytest.mark.parametrize(("medium", "io"), [("veth", "af_xdp"), ("veth", "af_packet"), ("memif", "af_xdp")])
def test_ports_are_opened_anew_and_take_no_more_memory(tmp_path: Path, medium: str, io: str) -> None:
    # Each port resolves the other one, which takes until the link is up.
    each_other = NeighborsResolve(
        neighbors=[NeighborSide(side=side, address=ADDRESSES[side], gateway=ADDRESSES[side.opposite]) for side in Side]
    )
    found_mib = []
    with LoopTestbed(LoopConfig.model_validate({"kind": "loop", "medium": medium, "io": io})) as testbed:
        engine = EngineClient(testbed.engine_argv(), tmp_path / "engine.log")
        try:
            for _ in range(REOPENED):
                engine.open_ports(PortsOpen(ports=testbed.port_specs()))
                engine.resolve_neighbors(each_other)
                assert_all_arrive(engine, stream_from(Side.LEFT, 0.05))
                found_mib.append(resident_mib(engine.pid))
        finally:
            engine.close()
    # The buffers of one port alone take 37 MiB.
    assert found_mib[-1] - found_mib[0] < 8


def test_the_engines_clock_keeps_pace_with_the_kernels(tmp_path: Path) -> None:
    with loop(tmp_path, "memif") as engine:
        first = engine.read_clock()
        engine.run_trial(trial(stream_from(Side.LEFT, 0.5)))
        last = engine.read_clock()
    kernel_ns = last.raw_ns - first.raw_ns
    apart_ns = abs(last.clock_ns - first.clock_ns - kernel_ns)
    assert kernel_ns > 0.5e9
    assert apart_ns <= first.uncertainty_ns + last.uncertainty_ns + 20e-6 * kernel_ns
