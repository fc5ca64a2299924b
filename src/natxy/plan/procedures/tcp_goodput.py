# SPDX-License-Identifier: Apache-2.0
"""TCP goodput between two hosts, as people measure it with iperf3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.base import Pattern
from natxy.plan.model.frame_sizes import ETHERNET_BYTES, ETHERNET_OVERHEAD_BYTES
from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import Figure, ProcedureDeclaration
from natxy.plan.procedures.per_direction import per_direction

if TYPE_CHECKING:
    from natxy.plan.experiment import Experiment

USUAL_LONGEST_FRAME: Final = 1518
MOST_FLOWS: Final = 128  # of one iperf3
TCP_HEADER_BYTES: Final = 32  # with time stamps (RFC 7323)


class TcpGoodputConfig(ProcedureDeclaration):
    name: Literal["tcp-goodput"] = "tcp-goodput"
    best_of: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="tests of a repetition; the one with the highest goodput is its result"
    )
    duration: Annotated[Duration, Field(ge=1, multiple_of=1)] = Field(
        default=10.0, description="of a test, in whole seconds"
    )
    congestion_control: (
        Annotated[str, Pattern(r"[a-z0-9_]+", "the name of a congestion control, such as cubic")] | None
    ) = Field(default=None, description="of the hosts' TCP, e.g. cubic; what the hosts use anyway")

    summary: ClassVar = "TCP goodput by iperf3: of the hosts and the DUT together, no figure of an RFC"
    figures: ClassVar = (
        Figure("goodput", "TCP goodput", Unit.BPS),
        Figure("line_share", "Share of the line rate, headers and gaps counted", Unit.PERCENT),
        *per_direction("goodput", "TCP goodput", Unit.BPS),
        *per_direction("retransmits", "Retransmissions", Unit.SEGMENTS),
    )
    step_unit: ClassVar = Unit.BPS
    stateful: ClassVar = False
    takes: ClassVar = frozenset({"directions", "flows", "baseline"})
    timed: ClassVar = False
    between_hosts: ClassVar = True
    usual_frame_size: ClassVar = USUAL_LONGEST_FRAME
    usual_flows: ClassVar = 1
    stated: ClassVar = {"What is measured": "the TCP of two hosts and the DUT together (iperf3), both directions added"}

    def traffic_s(self, trial_s: float) -> float:
        return self.duration

    def deviations(self, experiment: Experiment) -> list[str]:
        return [
            "TCP goodput is measured by iperf3 between two hosts. It is a figure of the hosts' TCP and the gateway "
            "together, and none of RFC 2544 or RFC 8219, which measure the gateway alone with UDP."
        ]

    def repeat_deviations(self, repeat: int) -> list[str]:
        return []


def line_goodput_bps(line_bps: float, longest_frame: int, ip_header_bytes: int) -> float:
    """The most that one direction of an Ethernet link carries in full segments; `longest_frame` counts the FCS."""
    payload = longest_frame - ETHERNET_BYTES - ip_header_bytes - TCP_HEADER_BYTES
    return line_bps * payload / (longest_frame + ETHERNET_OVERHEAD_BYTES)
