# SPDX-License-Identifier: Apache-2.0
"""Names the variables that `natxy lab up` prints for siitperf's scripts: ports, cores, the gateway's MAC addresses."""

from natxy.standing.variables import CORES, DUT_MACS, FLOOR_MS, IO, LEFT, RIGHT

__all__ = ["CORES", "DUT_MACS", "FLOOR_MS", "IO", "LEFT", "RIGHT"]
