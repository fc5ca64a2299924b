# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `memif`: tester and reference gateway, joined by shared memory."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.testbeds.base import SharedMachine
from natxy.plan.testbeds.ports import EnginePorts


class MemifConfig(SharedMachine):
    """Tester and reference gateway: two programs on this machine, joined by shared memory (DPDK's memif)."""

    kind: Literal["memif"] = "memif"

    only_driver: ClassVar[str | None] = "reference"

    @property
    def engine_ports(self) -> EnginePorts:
        return EnginePorts("memif", tester_cores=self.tester_cores)
