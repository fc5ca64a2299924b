# SPDX-License-Identifier: Apache-2.0
"""Names the variables by which `natxy lab up` tells the programs that stand in for siitperf's of a lab.

They belong to the lab, so that it can be described to these programs where they are not installed.
"""

from __future__ import annotations

from typing import Final

LEFT: Final = "NATXY_SIITPERF_LEFT"
RIGHT: Final = "NATXY_SIITPERF_RIGHT"
IO: Final = "NATXY_SIITPERF_IO"
CORES: Final = "NATXY_SIITPERF_CORES"
DUT_MACS: Final = "NATXY_SIITPERF_DUT_MACS"
FLOOR_MS: Final = "NATXY_SIITPERF_OVERRUN_FLOOR_MS"
