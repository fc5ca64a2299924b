# SPDX-License-Identifier: Apache-2.0
"""Names siitperf's programs, and the one that measures a procedure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Program(StrEnum):
    THROUGHPUT = "siitperf-tp"
    LATENCY = "siitperf-lat"
    PDV = "siitperf-pdv"


PROCEDURES: Final[Mapping[str, Program]] = {
    "throughput": Program.THROUGHPUT,
    "frame-loss-rate": Program.THROUGHPUT,
    "latency": Program.LATENCY,
    "pdv": Program.PDV,
    "connection-rate": Program.THROUGHPUT,
    "validated-connection-rate": Program.THROUGHPUT,
    "tear-down-rate": Program.THROUGHPUT,
    "table-capacity": Program.THROUGHPUT,
}
"""Maps the procedures that siitperf's programs and scripts carry out to the program that each of them runs."""
