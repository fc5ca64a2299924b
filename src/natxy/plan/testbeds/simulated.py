# SPDX-License-Identifier: Apache-2.0
"""A testbed in virtual time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from natxy.plan.model.base import PlanModel
from natxy.plan.model.units import AbsoluteRate


class SimulatedTestbedConfig(PlanModel):
    """No machine at all: an engine and a gateway in virtual time, to try a plan."""

    kind: Literal["simulated"] = "simulated"
    tester_limit: AbsoluteRate | None = Field(
        default=None, description="most frames per second that the simulated tester sends on one stream"
    )
    dut_cores: Annotated[int, Field(ge=1, le=4096)] = Field(
        default=1, description="of the gateway, whose limits are those of one core"
    )
    noise: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.0, description="relative spread of the gateway's limits from trial to trial"
    )
