# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import re
import signal
import sys
from pathlib import Path

import pytest
from rich.console import Console

from natxy.engine.messages.results import Verdict
from natxy.events.base import Event
from natxy.events.run import BlockStarted, RepetitionStarted, RunStarted
from natxy.events.trials import AttemptStarted, TrialFinished, TrialProgress, TrialStarted
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import Plan
from natxy.procedures.common.base import ProcedureResult
from natxy.results.records import State
from natxy.results.trials import Purpose, TrialKind
from natxy.run.estimate import estimate_s
from natxy.run.run import run_plan
from natxy.run.telling import experiment_finished, repetition_finished, run_started
from natxy.watch.live import LiveWatch
from natxy.watch.plain import PlainWatch
from natxy.watch.sparkline import Bar, Sparkline
from natxy.watch.time_left import TimeLeft


def started(plan: ResolvedPlan) -> RunStarted:
    return run_started(plan, Path("runs/p"), resumed=False)


def repetition(name: str, number: int) -> RepetitionStarted:
    return RepetitionStarted(experiment=name, repetition=number)


@pytest.fixture
def plan() -> ResolvedPlan:
    experiment = {
        "name": "x",
        "title": "x" * 100,
        "procedure": "throughput",
        "gateway": "simulated",
        "search": {"max_rate": "1M"},
    }
    return resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}))


class Interrupted(io.StringIO):
    """A terminal on which Ctrl-C is typed while the first view is drawn."""

    def write(self, text: str) -> int:
        if "setting up" in text and "setting up" not in self.getvalue():
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def test_a_view_is_drawn_whole_before_an_interrupt_is_heard(plan: ResolvedPlan) -> None:
    terminal = Interrupted()
    watch = LiveWatch(Console(file=terminal, force_terminal=True, width=80))
    watch.receive(started(plan))
    with watch, pytest.raises(KeyboardInterrupt):
        watch.receive(repetition("x", 1))
    drawn, _, cleared = terminal.getvalue().rpartition("setting up")
    assert "1 of 1:" in drawn
    # One line up and erased for each of the three that are drawn, after a last line feed.
    assert cleared.endswith("\r" + 3 * "\x1b[1A\x1b[2K")


def test_an_echoed_ctrl_c_finds_room_in_the_last_line(plan: ResolvedPlan) -> None:
    terminal = io.StringIO()
    with LiveWatch(Console(file=terminal, force_terminal=True, width=80)) as watch:
        watch.receive(started(plan))
        watch.receive(repetition("x", 1))
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) == 78


def test_tests_between_hosts_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["natxy.watch.live"], "REFRESH_S", 0.0)
    tests = {"name": "x", "procedure": "tcp-goodput", "gateway": "simulated", "directions": "forward", "repeat": 2}
    plan = resolve(Plan.model_validate({"name": "p", "testbed": {"kind": "simulated"}, "experiments": [tests]}))
    plain, live = io.StringIO(), io.StringIO()
    run_plan(plan, tmp_path / "plain", PlainWatch(Console(file=plain)))
    assert plain.getvalue().count("  test 3: forward 3.861 Gbit/s") == 2
    assert re.search(r"block 2 of 2, experiment 1 of 1: x; about \d+ (ms|s) left", plain.getvalue())
    watch = LiveWatch(Console(file=live, force_terminal=True, width=80))
    with watch:
        run_plan(plan, tmp_path / "live", watch)
    assert "6 between hosts" in live.getvalue()
    assert "invalid" not in live.getvalue()


class Lines:
    """Holds the two views of one plan, and returns what they show."""

    def __init__(self, plan: ResolvedPlan) -> None:
        self._files = io.StringIO(), io.StringIO()
        plain, live = (Console(file=file, force_terminal=True, width=120) for file in self._files)
        self.views = PlainWatch(plain), LiveWatch(live)

    def tell(self, event: Event) -> tuple[str, str]:
        """Returns what plain and live view write on an event."""
        for file in self._files:
            file.truncate(0)
        for view in self.views:
            view.receive(event)
        plain, live = (re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue()).strip("\0\r\n ") for file in self._files)
        return plain, " ".join(live.split())


def planned(order: str, **more: object) -> ResolvedPlan:
    own = {"procedure": "throughput", "gateway": "simulated", "search": {"max_rate": "1M"}}
    names = [own | {"name": name} for name in ("first", "second", "third")]
    head = {"name": "p", "testbed": {"kind": "simulated"}, "order": order, "repeat": 5, **more}
    return resolve(Plan.model_validate(head | {"experiments": names}))


RESULT = ProcedureResult(figures={"rate": 1e5}, lower_bound=1e5, upper_bound=1e5)


def test_what_a_block_measures_is_numbered_in_its_order() -> None:
    plan = planned("blocks")
    first, _, third = plan.experiments
    lines = Lines(plan)
    with lines.views[1]:
        lines.tell(started(plan))
        assert lines.tell(BlockStarted(number=2, experiments=3))[0] == "block 2 of 5: 3 experiments"
        plain, live = lines.tell(repetition("third", 2))
        assert plain.startswith("block 2 of 5, experiment 1 of 3: third; about ")
        assert re.fullmatch(r"plan ━+ 0 %, about .* left block 2 of 5 experiment 1 of 3: third setting up", live)
        lines.tell(repetition_finished(third, 2, RESULT))
        # Measured before the run was resumed.
        lines.tell(repetition_finished(first, 2, RESULT))
        assert lines.tell(repetition("second", 2))[0].startswith("block 2 of 5, experiment 3 of 3: second; ")
        plain, live = lines.tell(experiment_finished(third, State.FAILED, "no reply", []))
        assert plain == "finished 1 of 3: third: failed: no reply"
        assert "finished 1 of 3: third: failed: no reply" in live


def test_without_blocks_repetitions_are_numbered() -> None:
    plan = planned("experiments", repeat={"until": "3%", "at_most": 9})
    lines = Lines(plan)
    with lines.views[1]:
        lines.tell(started(plan))
        plain, live = lines.tell(repetition("second", 4))
    assert plain.startswith("experiment 2 of 3: second, repetition 4 of at most 9; at most ")
    assert live.endswith("experiment 2 of 3: second setting up")


@pytest.fixture
def sweep() -> ResolvedPlan:
    """Returns a plan of four equally long cells on a real testbed."""
    cell = {"procedure": "throughput", "gateway": "linux-forward", "search": {"max_rate": "1M"}}
    cells = [cell | {"name": f"x/{number}"} for number in range(4)]
    return resolve(Plan.model_validate({"name": "p", "experiments": cells}))


def test_time_left_is_that_of_all_cells_and_shrinks(sweep: ResolvedPlan) -> None:
    experiments = started(sweep).experiments
    left = TimeLeft(experiments, 0.0)
    shown, done = [], []
    for repetition in range(1, 21):
        for experiment in experiments:
            for step in range(1, experiment.steps + 1):
                shown.append(left.seconds(experiment, step))
                done.append(left.share_done(experiment, step))
                left.now_s += 2 * estimate_s(sweep) / (4 * 20 * experiment.steps)
                left.step_finished(experiment, repetition, step)
            left.repetition_finished(experiment)
    assert shown[0] == pytest.approx(estimate_s(sweep))
    assert shown[1] == pytest.approx(2 * estimate_s(sweep), rel=0.01)
    assert shown[1:] == sorted(shown[1:], reverse=True)
    assert 0 < shown[-1] < 0.01 * shown[0]
    assert done == pytest.approx([number / len(done) for number in range(len(done))])


def test_cells_measured_before_a_resume_say_nothing_of_the_pace(sweep: ResolvedPlan) -> None:
    experiments = started(sweep).experiments
    left = TimeLeft(experiments, 0.0)
    for experiment in experiments[:2]:
        left.experiment_finished(experiment)
    left.now_s += 1
    assert left.seconds(experiments[2], 1) == pytest.approx(estimate_s(sweep) / 2)


def drawn(plan: ResolvedPlan, width: int, *events: Event) -> list[list[str]]:
    """Returns the lines of each view that is drawn on a terminal of this width."""
    terminal = io.StringIO()
    with LiveWatch(Console(file=terminal, force_terminal=True, width=width)) as watch:
        for event in (started(plan), *events):
            watch.receive(event)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\f")
    views = [[line.rstrip() for line in view.splitlines()] for view in plain.split("\f")]
    # When the view ends, the last one is drawn once more, and cleared.
    return [lines for lines in views if any(line.lstrip().startswith("plan ") for line in lines)][:-1]


def trial_events(step: int, rate: float, verdict: Verdict, attempt: int = 1) -> list[Event]:
    of = {"experiment": "x", "repetition": 1, "step": step, "attempt": attempt}
    trial = of | {"kind": TrialKind.TRAFFIC, "purpose": Purpose.MEASURE, "rate_fps": rate}
    seconds: list[Event] = [
        TrialProgress(
            kind=TrialKind.TRAFFIC, elapsed_s=second + 0.01, planned=4000, sent=second * 1000, received=received
        )
        for second, received in enumerate((0, 1000, 1500, 2500))
    ]
    finished = TrialFinished.model_validate(
        trial
        | {"verdict": verdict, "cause": "loss", "reason": "why " * 50, "duration_s": 4, "planned": 4000, "sent": 4000}
        | {"received": 3500, "lost": 500, "sent_per_second": [1000] * 4, "received_per_second": [1000, 500, 1000, 1000]}
        | {"late_ns": 1, "tester_pause_s": 0, "gateway_pause_s": None, "dut_load": None}
    )
    begun = AttemptStarted.model_validate(of | {"rate": rate, "lower": 1e4, "upper": 1e6})
    return [begun, TrialStarted.model_validate(trial), *seconds, finished]


@pytest.mark.parametrize("width", [60, 140])
def test_the_view_fits_its_terminal_and_keeps_its_height(
    plan: ResolvedPlan, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(sys.modules["natxy.watch.live"], "REFRESH_S", 0.0)
    events = [*trial_events(1, 5e5, Verdict.FAIL), *trial_events(2, 2e5, Verdict.PASS)]
    # A step has one bar, however often it was tried.
    events += trial_events(2, 2e5, Verdict.PASS, attempt=2)
    views = drawn(plan, width, repetition("x", 1), *events)
    assert len(views) == 1 + len(events) - 3, "one for each event but the starts of the trials"
    assert {len(view) for view in views[1:]} == {len(views[1])}
    assert max(len(line) for view in views for line in view) <= width - 2
    text = "\n".join(views[-1])
    assert re.search(r"^ +search  █▁  between 10 kfps and 1 Mfps$", text, re.MULTILINE)
    assert re.search(r"^ +missing  ▁█▁  500$", "\n".join(views[-2]), re.MULTILINE)
    assert re.search(r"^repetition  [━╸╺]+  1 of ", text, re.MULTILINE)
    assert "pass, traffic at 200 kfps per direction: why" in text
    assert "3, 0 of them invalid" in text


class Writes(io.StringIO):
    """A terminal that keeps what it is sent at once."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def write(self, text: str) -> int:
        self.sent.append(text)
        return len(text)


def test_a_terminal_shows_a_view_when_it_has_all_of_it(plan: ResolvedPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["natxy.watch.live"], "REFRESH_S", 0.0)
    terminal = Writes()
    with LiveWatch(Console(file=terminal, force_terminal=True, width=80)) as watch:
        for event in (started(plan), repetition("x", 1), *trial_events(1, 5e5, Verdict.FAIL)):
            terminal.sent.clear()
            watch.receive(event)
            if not isinstance(event, RunStarted | TrialStarted):
                (view,) = terminal.sent
                assert view.startswith("\x1b[?2026h")
                assert view.endswith("\x1b[?2026l")


def test_bars_are_as_high_as_their_values_and_the_last_ones_fit() -> None:
    def shown(values: list[float], most: int, encoding: str = "utf-8", **more: bool) -> str:
        output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        Console(file=output, width=40).print(Sparkline([Bar(value, "red") for value in values], "end", most, **more))
        output.seek(0)
        return output.read().rstrip()

    assert shown([1, 2, 8], 8) == "▁▂█  end"
    assert shown([4, 8], 8, from_zero=True) == "▅█  end"
    assert shown([9, 9, 1, 2], 2) == "▁█  end"
    assert shown([5, 5], 8) == "▁▁  end"
    assert shown([], 8) == "end"
    assert shown([1, 8], 8, encoding="ascii") == "_@  end"
