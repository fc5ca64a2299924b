# SPDX-License-Identifier: Apache-2.0
"""Shows whether natxy tells a gateway that loses frames from a tester that pauses.

    python -m tools.told_apart [CASES] [SEED]

Each case is a step of a search at one rate: natxy measures until an attempt decides, as in a run, through the reference
gateway, whose truth is known. Meanwhile the tester is disturbed: it is stopped, or busy programs take its core. In half
of the cases the gateway loses a fixed part of the frames, however they are sent. In the other half it loses frames of
bursts alone, because its rate is limited above that of the traffic and its buffer is small. So it loses nothing that
would have been sent in time.

A case is told apart if natxy says that the first gateway failed, and does not say that of the second one. It is
undecided if natxy gives no result although the gateway lost frames of its own, and wrong in the other two cases. The
table, in Markdown, has a row for each gateway and disturbance. The exit code is 1 if a case was wrong, or if fewer than
99 of 100 were told apart.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from natxy.dut.drivers.reference import gateway_of
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortsOpen, PortSpec
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.engine.program import find_reference
from natxy.engine.reference import ReferenceClient
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.reference import ReferenceConfig
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import neighbors_request, traffic_request
from natxy.procedures.faults.pauses import PausedAttempts
from natxy.results.trials import TrialKind
from natxy.search.outcome import Attempt, Outcome, TesterLimitReached, try_rate
from natxy.testbeds.memif import MemifTestbed

RATE_FPS: Final = 20_000
TRIAL_S: Final = 1.0
ATTEMPTS: Final = 10
GOAL: Final = 0.99
# The rings between tester and gateway hold the frames of twice this time.
LONGEST_ABSENCE_S: Final = 0.1

LOSING: Final[dict[str, dict[str, Any]]] = {
    "1 of 1,000 lost": {"loss": {"every": 1000}},
    "0.1 % lost at random": {"loss_ratio": 0.001},
    "10 in a row of 5,000 lost": {"loss": {"every": 5000, "frames": 10}},
    "1 of 20,000 lost": {"loss": {"every": 20_000}},
}
OVERFLOWING: Final[dict[str, dict[str, Any]]] = {
    "1 % faster, buffer of 64": {"max_rate": 1.01 * RATE_FPS, "buffer_frames": 64},
    "10 % faster, buffer of 64": {"max_rate": 1.1 * RATE_FPS, "buffer_frames": 64},
    "50 % faster, buffer of 512": {"max_rate": 1.5 * RATE_FPS, "buffer_frames": 512},
}


class Disturbance(StrEnum):
    STOPPED = "stopped 1 to 3 times for 2 to 200 ms"
    ONE_HOG = "a busy program on its core"
    TWO_HOGS = "two busy programs on its core"


class Told(StrEnum):
    APART = "told apart"
    UNDECIDED = "undecided"
    WRONG = "wrong"


Found = Counter[tuple[str, Disturbance, Told]]
"""Counts the cases of each gateway and disturbance that were told apart, undecided and wrong."""


@dataclass(frozen=True)
class Case:
    gateway: str
    disturbance: Disturbance
    seed: int

    @property
    def loses(self) -> bool:
        """True if the gateway loses frames however they are sent."""
        return self.gateway in LOSING

    @property
    def experiment(self) -> Experiment:
        config = {"driver": "reference", "rate_scope": "direction"} | OVERFLOWING.get(self.gateway, {})
        faults = LOSING.get(self.gateway)
        one = {
            "name": "x",
            "procedure": "throughput",
            "gateway": config | ({"forward": faults, "reverse": faults} if faults else {}),
            "search": {"min_rate": RATE_FPS, "max_rate": RATE_FPS, "error": 1000},
        }
        timing = {"preset": "lab", "trial": f"{TRIAL_S}s"}
        head = {"name": "told-apart", "repeat": 1, "testbed": {"kind": "memif"}, "timing": timing}
        [experiment] = resolve(Plan.model_validate(head | {"experiments": [one]})).experiments
        return experiment


@dataclass
class Bed:
    """The tester and the reference gateway, joined by shared memory."""

    engine: EngineClient
    gateway: ReferenceClient
    tester_core: int
    results: list[TrialResult] = field(default_factory=list)

    def outcome(self, case: Case) -> Outcome | None:
        """Measures one step; returns its outcome, None for the tester's limit. `results` has its attempts."""
        experiment = case.experiment
        assert isinstance(experiment.gateway, ReferenceConfig)
        self.gateway.apply(gateway_of(experiment.gateway, experiment.address_plan))
        self.engine.resolve_neighbors(neighbors_request(experiment))
        dice = random.Random(case.seed)
        paused = PausedAttempts()
        self.results = []

        def measure(attempt: Attempt) -> Outcome:
            request = traffic_request(experiment, RATE_FPS, dice.getrandbits(64))
            self.gateway.take_exactness()
            with self._disturbed(case.disturbance, dice):
                measured = self.engine.run_trial(request)
            result = paused.weigh(attempt, TrialKind.TRAFFIC, measured)
            self.results.append(result)
            # The machine kept the gateway from its core for so long that the rings were full.
            if self.gateway.take_exactness().longest_pause_ns / 1e9 > LONGEST_ABSENCE_S:
                return Outcome.INVALID
            return Outcome(result.verdict.value)

        try:
            return try_rate(measure, Attempt(1, 1, RATE_FPS), ATTEMPTS)
        except TesterLimitReached:
            return None

    @contextmanager
    def _disturbed(self, disturbance: Disturbance, dice: random.Random) -> Iterator[None]:
        if disturbance == Disturbance.STOPPED:
            moments = sorted(dice.uniform(0, 0.9 * TRIAL_S) for _ in range(dice.randint(1, 3)))
            stops = [(moment, 0.002 * 100 ** dice.random()) for moment in moments]
            thread = threading.Thread(target=self._stop, args=(stops,))
            thread.start()
            try:
                yield
            finally:
                thread.join()
            return
        busy = [sys.executable, "-S", "-c", "while True: pass"]
        argv = ["taskset", "--cpu-list", str(self.tester_core), "nice", "-n", "-20", *busy]
        hogs = [subprocess.Popen(argv) for _ in range(1 if disturbance == Disturbance.ONE_HOG else 2)]
        try:
            yield
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()

    def _stop(self, stops: list[tuple[float, float]]) -> None:
        began = time.monotonic()
        for moment_s, length_s in stops:
            time.sleep(max(0.0, began + moment_s - time.monotonic()))
            os.kill(self.engine.pid, signal.SIGSTOP)
            try:
                time.sleep(length_s)
            finally:
                os.kill(self.engine.pid, signal.SIGCONT)


@contextmanager
def bed() -> Iterator[Bed]:
    """Yields tester and gateway with open ports."""
    with MemifTestbed(MemifConfig()) as testbed, tempfile.TemporaryDirectory() as folder:
        cores = testbed.cores
        gateway = ReferenceClient(
            [str(find_reference()), "--worker-cores", str(cores.dut[0]), "--main-core", str(cores.main)]
        )
        engine = EngineClient(testbed.engine_argv(), Path(folder) / "engine.log")
        devices = {Side.LEFT: testbed.interfaces.left, Side.RIGHT: testbed.interfaces.right}
        try:
            gateway.open_ports(
                PortsOpen(
                    ports=[PortSpec(side=side, device=each, medium=PortMedium.MEMIF) for side, each in devices.items()]
                )
            )
            engine.open_ports(PortsOpen(ports=testbed.port_specs()))
            yield Bed(engine, gateway, cores.tester[0])
        finally:
            engine.close()
            gateway.close()


def told(case: Case, outcome: Outcome | None) -> Told:
    if case.loses:
        return {None: Told.UNDECIDED, Outcome.FAIL: Told.APART}.get(outcome, Told.WRONG)
    return Told.WRONG if outcome == Outcome.FAIL else Told.APART


def cases(count: int, seed: int) -> list[Case]:
    """Returns so many cases, in which every gateway meets every disturbance about as often as any other."""
    dice = random.Random(seed)
    halves = [(gateways, disturbance) for disturbance in Disturbance for gateways in ([*LOSING], [*OVERFLOWING])]
    chosen = []
    for number in range(count):
        gateways, disturbance = halves[number % len(halves)]
        gateway = gateways[number // len(halves) % len(gateways)]
        chosen.append(Case(gateway, disturbance, dice.getrandbits(64)))
    return chosen


def counted(found: Found, how: Told) -> int:
    return sum(times for (*_, each), times in found.items() if each == how)


def table(found: Found) -> Iterator[str]:
    yield "| the gateway | the tester is disturbed by | told apart | undecided | wrong |"
    yield "|---|---|---:|---:|---:|"
    for gateway in (*LOSING, *OVERFLOWING):
        for disturbance in Disturbance:
            counts = [found[gateway, disturbance, each] for each in Told]
            if any(counts):
                yield f"| {gateway} | {disturbance} | {' | '.join(map(str, counts))} |"
    yield f"| **all** | | {' | '.join(str(counted(found, each)) for each in Told)} |"


def main(arguments: list[str]) -> int:
    count, seed = (int(given) for given in (*arguments, "100", "1")[: max(2, len(arguments))][:2])
    found: Found = Counter()
    with bed() as measured:
        for case in cases(count, seed):
            how = told(case, measured.outcome(case))
            found[case.gateway, case.disturbance, how] += 1
            attempts = Counter(
                f"{result.verdict}{'' if result.verdict == Verdict.PASS else f' ({result.cause})'}"
                for result in measured.results
            )
            said = ", ".join(f"{times} {verdict}" for verdict, times in attempts.items())
            print(f"{how}: {case.gateway}; {case.disturbance}: {said}", file=sys.stderr, flush=True)
            if how != Told.APART:
                print(f"    {measured.results[-1].reason}", file=sys.stderr, flush=True)
    print(*table(found), sep="\n")
    return int(counted(found, Told.WRONG) > 0 or counted(found, Told.APART) < GOAL * count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
