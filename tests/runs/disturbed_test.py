# SPDX-License-Identifier: Apache-2.0
"""Takes the gateway's core away during trials with real frames: by a busy program, and by stopping the gateway."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from natxy.engine.messages.results import Verdict
from natxy.engine.program import REFERENCE
from natxy.errors import TesterLimitError
from natxy.events.listener import RunListener
from natxy.events.trials import AttemptStarted, TrialFinished, TrialProgress, TrialStarted
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.cores import CoreAssignment
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.results.trials import TrialRecord
from natxy.run.run import run_plan
from tests.support import needs
from tests.support.undisturbed import undisturbed

pytestmark = [*needs.LAB, needs.cores(2)]

AWAY_S: Final = 0.7
# Longer than the trial may wait for the core that natxy shares with the gateway.
TRIAL_S: Final = 2
RATE: Final = "10k"
# Nobody disturbs such a trial on purpose.
ALONE_S: Final = 0.5
# So low that the gateway's rings last for longer than other programs take its core or the tester's.
LOW_RATE: Final = "4k"


def plan_of(gateway: dict[str, Any], rate: str = RATE, trial_s: float = TRIAL_S, **experiment: Any) -> ResolvedPlan:
    timing = {"preset": "lab", "trial": f"{trial_s}s", "max_pause": "20ms", "overrun_floor": "50ms"}
    # One rate, far below the limit of any machine; on a busy one, attempts are disturbed by others too.
    search = {"min_rate": rate, "max_rate": rate, "error": "1k"}
    # The tolerance is for single frames that Tayga damages.
    one: dict[str, Any] = {"name": "x", "procedure": "throughput", "gateway": gateway, "search": search}
    one |= {"loss_tolerance": "1%", "max_invalid": 20}
    head = {"name": "p", "repeat": 1, "timing": timing, "testbed": {"kind": "lab"}}
    return resolve(Plan.model_validate(head | {"experiments": [one | experiment]}))


def cores_of(plan: ResolvedPlan) -> CoreAssignment:
    cores = plan.testbed.assign_cores(os.sched_getaffinity(0))
    assert cores is not None
    return cores


class Once(RunListener):
    """Disturbs a trial soon after its traffic began, and the next one if other programs made that one invalid.

    `late`: other programs kept this one from its core, so that the traffic may have ended before the disturbance did.
    """

    def __init__(self) -> None:
        self.disturbing = False
        self.done = False
        self.late = False
        self._started_s = 0.0

    def trial_started(self, event: TrialStarted) -> None:
        self._started_s = time.monotonic()

    def trial_progress(self, event: TrialProgress) -> None:
        if not self.done and not self.disturbing and 0 < event.sent < event.planned / 2:
            self.disturbing = True
            self.disturb()
            # The traffic begins a little after the trial.
            self.late = self.late or time.monotonic() - self._started_s > TRIAL_S

    def trial_finished(self, event: TrialFinished) -> None:
        self.done = self.done or (self.disturbing and event.verdict != Verdict.INVALID)
        self.disturbing = False

    def disturb(self) -> None: ...


class Burning(Once):
    """Runs a busy program of real-time priority on a core."""

    def __init__(self, core: int, programs: list[subprocess.Popen[str]]) -> None:
        super().__init__()
        self._core = core
        self.programs = programs

    def attempt_started(self, event: AttemptStarted) -> None:
        """Starts the program, which waits: to start it takes longer than a trial where other programs keep the core."""
        if self.done:
            return
        burn = f"import time\ninput()\nend = time.monotonic() + {AWAY_S}\nwhile time.monotonic() < end: pass"
        pinned = ["taskset", "--cpu-list", str(self._core), "chrt", "--fifo", "50"]
        self.programs.append(
            subprocess.Popen([*pinned, sys.executable, "-S", "-c", burn], stdin=subprocess.PIPE, text=True)
        )

    def disturb(self) -> None:
        self.programs[-1].communicate("\n")


class Stopping(Once):
    """Stops the reference gateway."""

    def disturb(self) -> None:
        tasks = Path("/proc/self/task").glob("*/children")
        children = [int(pid) for task in tasks for pid in task.read_text().split()]
        (gateway,) = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text().strip() == REFERENCE]
        os.kill(gateway, signal.SIGSTOP)
        try:
            time.sleep(AWAY_S)
        finally:
            os.kill(gateway, signal.SIGCONT)


Measured = tuple[ExperimentRecord, list[TrialRecord]]


def measure(plan: ResolvedPlan, folder: Path, listener: RunListener) -> Measured:
    assert run_plan(plan, folder, listener) in (0, TesterLimitError.exit_code)
    (experiment,) = RunReader(folder).run.experiments
    return experiment, [trial for _, _, trial in experiment.all_trials]


def limit_reached(measured: Measured) -> str:
    """Returns why the tester reached its limit, if it did."""
    experiment, _ = measured
    return (experiment.reason or "tester limit") if experiment.state == State.TESTER_LIMIT else ""


def disturbed_in_time(plan: ResolvedPlan, folder: Path, make: Callable[[], Once]) -> Measured:
    """Measures until a trial was disturbed as a whole, before other programs let its traffic end."""
    runs = itertools.count()

    def once() -> tuple[Measured, Once]:
        listener = make()
        return measure(plan, folder / str(next(runs)), listener), listener

    def blames(found: tuple[Measured, Once]) -> str:
        measured, listener = found
        in_time = listener.done and not listener.late
        return limit_reached(measured) or ("" if in_time else "no trial was disturbed in time")

    measured, _ = undisturbed(once, blames)
    return measured


def check_repeated(trials: list[TrialRecord]) -> TrialRecord:
    """Returns the first valid trial; checks that it was disturbed for a time that natxy noticed, and repeated."""
    first, second, *_ = itertools.dropwhile(lambda trial: trial.verdict == Verdict.INVALID, trials)
    assert first.verdict == Verdict.DISTURBED, first.reason
    assert first.gateway_pause_s is not None
    assert first.gateway_pause_s > 0.1 * AWAY_S
    assert "the gateway's core was taken away for" in first.reason
    assert "no frame arrived for" in first.reason
    assert (second.number, second.attempt) == (1, first.attempt + 1)
    return first


@needs.programs("tayga", "chrt", "taskset")
@needs.TUN
def test_a_busy_program_on_the_gateways_core_disturbs(tmp_path: Path) -> None:
    plan = plan_of({"driver": "tayga"}, translation="siit")
    programs: list[subprocess.Popen[str]] = []

    def burning() -> Burning:
        return Burning(cores_of(plan).dut[0], programs)

    try:
        _, trials = disturbed_in_time(plan, tmp_path, burning)
    finally:
        for program in programs:
            # One whose trial was not disturbed waits for its input.
            program.communicate()
    # Whether a later attempt passes depends on what else runs here: Tayga needs most of a core.
    disturbed = check_repeated(trials)
    # On a busy host the busy program waits for its core too.
    assert (disturbed.gateway_delayed_s or 0.0) > 0.1 * AWAY_S
    assert (disturbed.gateway_pause_s or 0.0) > 0.5 * AWAY_S


@needs.REFERENCE
def test_a_gateway_that_was_stopped_was_disturbed(tmp_path: Path) -> None:
    plan = plan_of({"driver": "reference"}, LOW_RATE)
    experiment, trials = disturbed_in_time(plan, tmp_path, Stopping)
    check_repeated(trials)
    assert experiment.values == [4000]


@needs.REFERENCE
def test_an_overload_is_a_failure_of_the_gateway(tmp_path: Path) -> None:
    plan = plan_of({"driver": "reference", "max_rate": "1k"}, trial_s=ALONE_S)
    runs = itertools.count()
    _, trials = undisturbed(lambda: measure(plan, tmp_path / str(next(runs)), RunListener()), limit_reached)
    verdicts = {trial.verdict for trial in trials}
    assert Verdict.FAIL in verdicts
    assert Verdict.PASS not in verdicts
    # Only a host that takes the core for most of a trial can be blamed for losing nine frames of ten.
    assert all(
        (trial.gateway_pause_s or 0.0) > 0.75 * ALONE_S for trial in trials if trial.verdict == Verdict.DISTURBED
    )
