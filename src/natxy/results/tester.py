# SPDX-License-Identifier: Apache-2.0
"""Which tester a result is of: the machine, its ports and the driver that they are opened by."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from natxy.plan.testbeds import TestbedConfig
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
    """Returns None for a testbed without an engine of this machine."""
    ports = testbed.engine_ports
    if ports is None:
        return None
    machine = describe_machine()
    return Tester(
        host=machine["host"],
        processor=machine["processor"],
        ports=ports.name,
        driver=ports.driver,
        queues=ports.queues,
        workers=len(ports.tester_cores or (0,)),
    )
