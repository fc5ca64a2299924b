# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `simulated`: tester and gateway in virtual time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from natxy.plan.model.units import AbsoluteRate
from natxy.plan.testbeds.base import TestbedModel
from natxy.plan.testbeds.ports import MOST_PAIRS


class SimulatedTestbedConfig(TestbedModel):
    """No machine: models of an engine and a gateway in virtual time, to try a plan."""

    kind: Literal["simulated"] = "simulated"
    tester_limit: AbsoluteRate | None = None
    """Most frames per second on a stream; default: no limit."""
    dut_cores: Annotated[int, Field(ge=1, le=4096)] = 1
    """Cores of the gateway, whose limits are those of one core."""
    noise: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Share by which the gateway's limits vary from trial to trial, uniformly, at most."""

    counts_instructions: ClassVar[bool] = True
    in_virtual_time: ClassVar[bool] = True

    @property
    def most_pairs(self) -> int:
        return MOST_PAIRS

    def dut_core_count(self, usable: Iterable[int], wanted: int) -> int:
        del usable, wanted
        return self.dut_cores
