# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal

import pytest

from natxy.testbeds.built import BuiltTestbed


class Steps(BuiltTestbed):
    """Builds `steps`, and notes what is built and taken down; the step 0 fails."""

    def __init__(self, *steps: int) -> None:
        super().__init__()
        self.noted: list[str] = []
        self._steps = steps

    def _build(self) -> None:
        for step in self._steps:
            self._stack.callback(self._undo, step)
            if not step:
                raise ValueError("no such step")
            self.noted.append(f"+{step}")

    def _undo(self, step: int) -> None:
        signal.raise_signal(signal.SIGINT)
        self.noted.append(f"-{step}")


def test_what_was_built_is_taken_down_in_reverse_before_an_interrupt_is_heard() -> None:
    bed = Steps(1, 2)
    with pytest.raises(KeyboardInterrupt), bed:
        assert bed.noted == ["+1", "+2"]
    assert bed.noted == ["+1", "+2", "-2", "-1"]


def test_what_was_built_by_half_is_taken_down_too() -> None:
    bed = Steps(1, 0, 2)
    with pytest.raises(KeyboardInterrupt) as raised, bed:
        pytest.fail("it was never whole")
    assert isinstance(raised.value.__context__, ValueError)
    assert bed.noted == ["+1", "-0", "-1"]


def test_it_can_be_built_again() -> None:
    bed = Steps(1)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), bed:
            pass
    assert bed.noted == ["+1", "-1"] * 2
