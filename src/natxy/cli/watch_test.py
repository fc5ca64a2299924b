# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import re
import signal

import pytest
from rich.console import Console

from natxy.cli.watch import LiveWatch
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.models import Plan
from natxy.plan.resolve import resolve


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
    """A terminal at which Ctrl-C is typed while the first view is drawn."""

    def write(self, text: str) -> int:
        if "setting up" in text and "setting up" not in self.getvalue():
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def test_a_view_is_drawn_whole_before_an_interrupt_is_heard(plan: ResolvedPlan) -> None:
    terminal = Interrupted()
    watch = LiveWatch(plan, Console(file=terminal, force_terminal=True, width=80))
    with watch, pytest.raises(KeyboardInterrupt):
        watch.experiment_started(plan.experiments[0])
    drawn, _, cleared = terminal.getvalue().rpartition("setting up")
    assert "1/1" in drawn
    # One line up and erased for each of the three that are drawn, after a last line feed.
    assert cleared.endswith("\r" + 3 * "\x1b[1A\x1b[2K")


def test_an_echoed_ctrl_c_finds_room_in_the_last_line(plan: ResolvedPlan) -> None:
    terminal = io.StringIO()
    with LiveWatch(plan, Console(file=terminal, force_terminal=True, width=80)) as watch:
        watch.experiment_started(plan.experiments[0])
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) == 78
