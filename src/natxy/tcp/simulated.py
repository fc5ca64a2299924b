# SPDX-License-Identifier: Apache-2.0
"""Models two hosts in virtual time, whose TCP uses exactly what the simulated gateway forwards."""

from __future__ import annotations

from typing import Final

from natxy.engine.simulation.dut import SimulatedDut
from natxy.plan.model.traffic import Directions
from natxy.tcp.hosts import TcpHosts, TcpTest, Transfer

# Payload of a full segment in an IPv4 frame of 1518 bytes, with TCP's time stamps.
SEGMENT_BYTES: Final = 1448
# A receiver acknowledges every second segment (RFC 1122 §4.2.3.2).
FRAMES_PER_SEGMENT: Final = 1.5


class SimulatedHosts(TcpHosts):
    def __init__(self, dut: SimulatedDut) -> None:
        self._dut = dut

    def transfer(self, test: TcpTest) -> dict[str, Transfer]:
        """Divides the frames that the gateway forwards evenly between the directions."""
        limit_fps = self._dut.most_forwarded(test.flows)
        both = test.directions == Directions.BIDIRECTIONAL
        names = ["forward", "reverse"] if both else [test.directions.value]
        goodput_bps = 8 * SEGMENT_BYTES * limit_fps / FRAMES_PER_SEGMENT / len(names)
        return {name: Transfer(goodput_bps, retransmits=0) for name in names}

    def describe(self) -> dict[str, str]:
        """Returns nothing: the simulated testbed's own description says that its hosts are models."""
        return {}
