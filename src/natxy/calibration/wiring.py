# SPDX-License-Identifier: Apache-2.0
"""Names how a calibration joins tester and gateway."""

from __future__ import annotations

from enum import StrEnum


class Wiring(StrEnum):
    """Says how tester and gateway are joined.

    `memif` is shared memory, without the kernel; `veth` is a lab's veth pairs, whose frames the kernel carries.
    """

    MEMIF = "memif"
    VETH = "veth"
