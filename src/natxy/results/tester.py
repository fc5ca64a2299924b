# SPDX-License-Identifier: Apache-2.0
"""Which tester a result is of: the machine, its ports and the driver that they are opened by."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.memif import MemifConfig
from natxy.plan.testbeds.ports import TesterPort
from natxy.system.machine import describe_machine


class Tester(BaseModel):
    """`ports`: the two ports' names, or what stands for them where they are made anew for each run. `workers`: cores
    that send and receive."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str
    processor: str
    ports: str
    driver: str
    queues: int
    workers: int

    @property
    def file_name(self) -> str:
        words = (self.host, self.ports, self.driver, f"{self.queues}q", f"{self.workers}w")
        return re.sub(r"[^A-Za-z0-9.+-]+", "_", "_".join(words)) + ".json"

    def __str__(self) -> str:
        cores = f"{self.workers} core{'s' if self.workers > 1 else ''}"
        queues = f", {self.queues} queues a port" if self.queues > 1 else ""
        return f"{self.ports} by {self.driver}{queues}, {cores} of {self.host}"


def which_tester(testbed: TestbedConfig) -> Tester | None:
    """None where nothing real sends."""
    match testbed:
        case LabConfig() | LoopConfig(medium="veth"):
            ports, driver = "veth", f"net_{testbed.io}"
        case LoopConfig(left=TesterPort() as left, right=TesterPort() as right):
            ports, driver = _cabled(left, right, testbed.io)
        case HardwareConfig():
            ports, driver = _cabled(testbed.left, testbed.right, testbed.io)
        case MemifConfig() | LoopConfig():
            ports, driver = "memif", "net_memif"
        case _:
            return None
    machine = describe_machine()
    return Tester(
        host=machine["host"],
        processor=machine["processor"],
        ports=ports,
        driver=driver,
        queues=1 if isinstance(testbed, MemifConfig) else testbed.queues,
        workers=len(testbed.tester_cores or (0,)),
    )


def _cabled(left: TesterPort, right: TesterPort, io: str) -> tuple[str, str]:
    names = [port.pci or port.interface or "" for port in (left, right)]
    return "+".join(names), "a driver of DPDK's own" if left.pci else f"net_{io}"
