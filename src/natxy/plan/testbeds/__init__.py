# SPDX-License-Identifier: Apache-2.0
"""Defines the testbeds that a plan can name, one file for each kind."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.hosts import HostsConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.testbeds.simulated import SimulatedTestbedConfig
from natxy.plan.testbeds.vm import VmConfig

TestbedConfig = Annotated[
    HardwareConfig | HostsConfig | LabConfig | LoopConfig | MemifConfig | SimulatedTestbedConfig | VmConfig,
    Field(discriminator="kind"),
]
