# SPDX-License-Identifier: Apache-2.0
"""Describes the testbed `lab`: network namespaces on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.gateways.chain import MOST_HOPS
from natxy.plan.testbeds.base import SharedMachine
from natxy.plan.testbeds.ports import MOST_PAIRS, EnginePorts, Io

# XDP keeps the frame without its FCS, 256 bytes of headroom and 320 bytes of skb_shared_info in one page.
AF_XDP_LONGEST_FRAME: Final = 4096 - 256 - 320 + 4


class LabConfig(SharedMachine):
    """A temporary testbed on this machine, made of network namespaces and veth pairs."""

    kind: Literal["lab"] = "lab"
    io: Io = "af_xdp"
    """`af_xdp`, for frames of up to 3524 bytes, or `af_packet`."""
    queues: Annotated[int, Field(ge=1, le=64)] = 1
    """Queues of a port, of which several need `af_packet`."""

    counts_instructions: ClassVar[bool] = True
    nominal_line_rate: ClassVar[bool] = True
    stand_together: ClassVar[bool] = True
    runs_guests: ClassVar[bool] = True

    @property
    def engine_ports(self) -> EnginePorts:
        return EnginePorts("veth", self.io, self.queues, self.tester_cores)

    @property
    def most_pairs(self) -> int:
        return MOST_PAIRS

    @property
    def most_hops(self) -> int:
        return MOST_HOPS

    def dut_core_count(self, usable: Iterable[int], wanted: int) -> int:
        return len(self.assign_cores(usable, wanted).dut)

    def frame_problem(self, longest: int) -> str | None:
        if self.io != "af_xdp" or longest <= AF_XDP_LONGEST_FRAME:
            return None
        return (
            f"af_xdp carries frames of up to {AF_XDP_LONGEST_FRAME} bytes over a lab's veth pairs, and frames of "
            f"{longest} are wanted; give the testbed `io: af_packet`"
        )
