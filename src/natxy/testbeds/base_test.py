# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
from typing import Any

import pytest

from natxy.dut.base import Gateway
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.testbeds.base import Testbed


class Steps(Testbed):
    """Builds `steps` and notes each one that is built or removed; step 0 fails."""

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

    def create_gateway(self, config: GatewayConfig, addresses: AddressPlan) -> Gateway[Any]:
        raise AssertionError("these tests set no gateway up")

    def description(self) -> dict[str, str]:
        return {}

    def _undo(self, step: int) -> None:
        signal.raise_signal(signal.SIGINT)
        self.noted.append(f"-{step}")


def test_steps_are_removed_in_reverse_before_an_interrupt() -> None:
    steps = Steps(1, 2)
    with pytest.raises(KeyboardInterrupt), steps:
        assert steps.noted == ["+1", "+2"]
    assert steps.noted == ["+1", "+2", "-2", "-1"]


def test_a_half_built_testbed_is_removed() -> None:
    steps = Steps(1, 0, 2)
    with pytest.raises(KeyboardInterrupt) as raised, steps:
        pytest.fail("it was never whole")
    assert isinstance(raised.value.__context__, ValueError)
    assert steps.noted == ["+1", "-0", "-1"]


def test_it_can_be_built_again() -> None:
    steps = Steps(1)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), steps:
            pass
    assert steps.noted == ["+1", "-1"] * 2
