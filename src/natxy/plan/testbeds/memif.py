# SPDX-License-Identifier: Apache-2.0
"""A testbed of two programs joined by shared memory."""

from __future__ import annotations

from typing import Literal

from natxy.plan.testbeds.ports import SharedMachine


class MemifConfig(SharedMachine):
    """Tester and reference gateway, two programs on this machine, joined by shared memory (DPDK's memif)."""

    kind: Literal["memif"] = "memif"
