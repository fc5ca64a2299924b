# SPDX-License-Identifier: Apache-2.0
"""Tests `natxy run` from end to end: real frames through a real gateway, at rates that any machine reaches."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from natxy.engine.messages.results import Verdict
from natxy.errors import TesterLimitError
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord, RunState, State
from tests.support import needs
from tests.support.command import HANG_S, command, natxy
from tests.support.processes import engines_of, namespaces_of
from tests.support.timing import takes_at_most, wait_until
from tests.support.undisturbed import undisturbed

pytestmark = needs.LAB

PLAN = """
name: small
timing: {preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms, max_backlog: 50%}
repeat: 1
family: FAMILY
defaults:
  gateway: nftables
  connections: 500
  addresses: multiple
  search: {min_rate: 2k, max_rate: 5k, error: 2k}
  max_invalid: 20
experiments:
  - {name: forwarding, gateway: linux-forward, procedure: throughput, connections: null, addresses: single}
  - {name: rate, procedure: connection-rate}
  - {name: validated, procedure: validated-connection-rate}
  - name: phase2
    procedure: throughput
    phase1_rate: {experiment: rate, percent: 50}
    baseline: forwarding
"""

# Linux counts the time of a core in ticks of this length.
TICK_S = 0.01

LONG = """
name: long
timing: {preset: lab, trial: 60s}
experiments:
  - name: forwarding
    gateway: linux-forward
    procedure: throughput
    search: {min_rate: 1k, max_rate: 2k}
"""


def limit_reached(run: RunRecord) -> str:
    """Returns why the tester reached its limit, if it did so in an experiment."""
    return next((each.reason or "tester limit" for each in run.experiments if each.state == State.TESTER_LIMIT), "")


def disturbance(run: RunRecord) -> str:
    """Returns what natxy tells of a trial in which it saw the tester or the gateway's core disturbed, if any.

    Many absences that the gateway's queue covers may cost frames too, and natxy cannot tell these from a slow gateway.
    """
    for experiment in run.experiments:
        for _, _, trial in experiment.all_trials:
            away_s = trial.gateway_pause_s or 0.0
            if trial.verdict in (Verdict.INVALID, Verdict.DISTURBED) or away_s >= TICK_S:
                return f"{experiment.name}: {trial.verdict}, the gateway's core was away for {away_s} s: {trial.reason}"
    return ""


@pytest.mark.parametrize("family", ["ipv4", pytest.param("ipv6", marks=pytest.mark.more)])
def test_routers_and_nats_are_measured_and_nothing_stays(tmp_path: Path, family: str) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.replace("FAMILY", family))
    folders = (tmp_path / f"out{number}" for number in itertools.count())

    def measured() -> RunRecord:
        folder = next(folders)
        argv = command("run", plan, "--output", folder)
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            output, _ = process.communicate(timeout=HANG_S)
        assert namespaces_of(process.pid) == []
        run = RunReader(folder).run
        assert process.returncode == 0 or limit_reached(run), output
        return run

    def blames(run: RunRecord) -> str:
        if all(experiment.values == [5000.0] for experiment in run.experiments):
            return ""
        return limit_reached(run) or disturbance(run)

    run = undisturbed(measured, blames)
    assert run.state == RunState.DONE
    assert [experiment.state for experiment in run.experiments] == [State.DONE] * 4
    # The kernel forwards far more: the search's highest rate passes.
    assert [experiment.values for experiment in run.experiments] == [[5000.0]] * 4
    phase2 = run.experiments[3]
    # Neither limit was reached, so the ratio is unknown.
    assert phase2.baseline_ratio_percent is None
    phase1, traffic = phase2.repetitions[0].trials[-2:]
    # Trials that decide last a fifth of the timing's.
    assert (phase1.received, traffic.received) == (500, 400)
    assert "masquerade" in phase2.duts[0].configuration


# The kernel forwards 20k frames a second of both directions, and a burst of those that the tester was late with.
SEARCHED = """
name: default
timing: {preset: lab, max_pause: 20ms, overrun_floor: 20ms, max_backlog: 50%}
repeat: 1
experiments:
  - name: forwarding
    max_invalid: 20
    procedure: throughput
    search: {min_rate: 2k, max_rate: 40k, error: 10%}
    gateway:
      driver: command
      apply:
        - [sysctl, -qw, net.ipv4.ip_forward=1]
        - [nft, add table inet limited]
        - [nft, "add chain inet limited forwarded { type filter hook forward priority 0; }"]
        - [nft, "add rule inet limited forwarded meta l4proto udp limit rate over 20000/second burst 400 packets drop"]
      remove:
        - [nft, add table inet limited; delete table inet limited]
        - [sysctl, -qw, net.ipv4.ip_forward=0]
"""


def test_the_default_search_finds_the_rate_of_forwarding(tmp_path: Path) -> None:
    # Rates that a machine which others use cannot send would cost many attempts each: all are far below its limit.
    plan = tmp_path / "plan.yaml"
    plan.write_text(SEARCHED)
    folders = (tmp_path / f"out{number}" for number in itertools.count())

    def measured() -> RunRecord:
        folder = next(folders)
        done = natxy("run", plan, "--output", folder)
        assert done.returncode in (0, TesterLimitError.exit_code), done.stdout + done.stderr
        return RunReader(folder).run

    repetition = undisturbed(measured, limit_reached).experiments[0].repetitions[0]
    assert repetition.lower_bound == repetition.value
    assert repetition.value is not None
    assert repetition.value < 40_000
    at_bound = [trial for trial in repetition.trials if trial.step_rate == repetition.lower_bound]
    # Frames say how long a trial was to be: a disturbed tester may need longer for them.
    assert all(trial.planned / trial.rate_fps == pytest.approx(2 * 0.1, rel=0.01) for trial in at_bound)
    # A lab whose gateway has a core of its own knows what the gateway spent.
    watched = repetition.trials if len(os.sched_getaffinity(0)) > 1 else []
    for trial in watched:
        assert trial.dut_load is not None
        interfaces = {each.name: each.received for each in trial.dut_load.interfaces}
        assert interfaces.keys() == {"dut-left", "dut-right"}
        assert sum(interfaces.values()) >= trial.received
        (core,) = trial.dut_load.cores
        # The receive path sees each frame once or, where one core steers it to the other, twice.
        assert core.frames is not None
        assert core.frames >= trial.received
        assert core.busy_s <= trial.dut_load.elapsed_s
    # One short trial may be less than Linux's ticks tell.
    assert not watched or sum(trial.dut_load.busy_s for trial in watched if trial.dut_load) > 0
    # More than three if the search began there and had to go on above.
    assert [trial.verdict for trial in at_bound].count(Verdict.PASS) >= 3


@contextmanager
def trial_under_way(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Yields a run that is in the first of its trials, which takes a minute."""
    folder.mkdir(exist_ok=True)
    plan = folder / "plan.yaml"
    plan.write_text(LONG)
    argv = command("run", plan, "--output", folder / "out")
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:

        def offers_or_ended() -> bool:
            return frames_offered(process.pid) >= 500 or process.poll() is not None

        try:
            wait_until(offers_or_ended, every_s=0.1)
            assert process.poll() is None, process.communicate()
            yield process
        finally:
            process.kill()


def frames_offered(pid: int) -> int:
    """Returns how many frames the DUT's left interface has received, 0 before there is a DUT."""
    for namespace in namespaces_of(pid):
        argv = ["ip", "-n", namespace, "-json", "-statistics", "link", "show", "dev", "dut-left"]
        shown = subprocess.run(argv, capture_output=True, text=True, check=False)
        if shown.returncode == 0:
            return int(json.loads(shown.stdout)[0]["stats64"]["rx"]["packets"])
    return 0


def test_ctrl_c_in_a_trial_ends_within_two_seconds(tmp_path: Path) -> None:
    folders = (tmp_path / str(attempt) for attempt in itertools.count())

    def interrupted() -> float:
        folder = next(folders)
        with trial_under_way(folder) as process:
            process.send_signal(signal.SIGINT)
            started = time.monotonic()
            process.communicate(timeout=HANG_S)
            took_s = time.monotonic() - started
        assert process.returncode == 130
        assert namespaces_of(process.pid) == []
        assert RunReader(folder / "out").run.state == RunState.INTERRUPTED
        return took_s

    takes_at_most(2, interrupted)


def test_an_engine_that_dies_in_a_trial_is_reported(tmp_path: Path) -> None:
    with trial_under_way(tmp_path) as process:
        (engine,) = engines_of(process.pid)
        os.kill(engine, signal.SIGKILL)
        output, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 5
    died = "natxy-engine ended during trial.run (signal 9)"
    assert died in output
    assert namespaces_of(process.pid) == []
    experiment = RunReader(tmp_path / "out").run.experiments[0]
    assert (experiment.state, died in (experiment.reason or "")) == (State.FAILED, True)


RESETS = """
name: resets
timing: {preset: lab, trial: 500ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
defaults:
  max_invalid: 20
  rate: 5k
experiments:
  - {name: router, gateway: linux-forward, procedure: {name: reset, recovery: 2s}}
  - name: nat
    gateway: nftables
    procedure: {name: reset, recovery: 2s}
    directions: forward
    connections: 1k
    phase1_rate: 5k
  - name: command
    gateway: linux-forward
    procedure:
      name: reset
      kind: operating-system
      command: [sh, -c, "sysctl -qw net.ipv4.ip_forward=0 && sleep 0.3 && sysctl -qw net.ipv4.ip_forward=1"]
      recovery: 2s
"""


RESET = ("router", "nat", "command")


def no_reset_measured(run: RunRecord) -> str:
    """Returns why a reset was not measured, if one was not: the tester came too late to it, or it was disturbed."""
    without = (each.repetitions[0].reason or "no time" for each in run.experiments if not was_measured(each))
    return limit_reached(run) or next(without, "")


def was_measured(experiment: ExperimentRecord) -> bool:
    return experiment.state == State.DONE and experiment.repetitions[0].figures.get("loss") is not None


def test_resets_interrupt_forwarding_for_as_long_as_they_take(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(RESETS)
    folders = (tmp_path / f"out{number}" for number in itertools.count())
    done: dict[str, ExperimentRecord] = {}

    def measured() -> RunRecord:
        """Measures the resets that no run before has measured."""
        folder = next(folders)
        left = [word for name in RESET if name not in done for word in ("--only", name)]
        ended = natxy("run", plan, *left, "--output", folder)
        assert ended.returncode in (0, TesterLimitError.exit_code), ended.stdout + ended.stderr
        run = RunReader(folder).run
        done.update({each.name: each for each in run.experiments if was_measured(each)})
        return run

    undisturbed(measured, no_reset_measured)
    for experiment in (done[name] for name in RESET):
        figures = experiment.repetitions[0].figures
        lost_s, stamped_s = figures["loss"], figures["timestamps"]
        assert lost_s is not None
        assert stamped_s is not None
        # A reset runs a few programs, each for some milliseconds.
        assert 0.002 < lost_s < 2, experiment.name
        # The timestamps cover the interruption alone; frames may be lost at other times too. A gateway that waits for a
        # core keeps its frames and loses none meanwhile: that is not hidden.
        remark = experiment.repetitions[0].reason or ""
        assert stamped_s <= lost_s + 0.05 or "the methods differ" in remark
    by_command = done["command"].repetitions[0].figures["timestamps"]
    assert by_command is not None
    assert by_command > 0.3
