# SPDX-License-Identifier: Apache-2.0
"""TCP goodput between two hosts, measured by iperf3."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.frames.sizes import ETHERNET_FRAMING_BYTES, ETHERNET_OVERHEAD_BYTES
from natxy.plan.model.base import Pattern
from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure, per_direction

# Includes time stamps (RFC 7323).
TCP_HEADER_BYTES: Final = 32

CongestionControl = Annotated[str, Pattern(r"[a-z0-9_]+", "the name of a congestion control, such as cubic")]


class TcpGoodputConfig(ProcedureDeclaration):
    name: Literal["tcp-goodput"] = "tcp-goodput"
    best_of: Annotated[int, Field(ge=1, le=100)] = 3
    """Tests in a repetition, of which the highest counts."""
    duration: Annotated[Duration, Field(ge=1, multiple_of=1)] = 10.0
    """Time of a test, in whole seconds."""
    congestion_control: CongestionControl | None = None
    """Congestion control, e.g. cubic; default: the hosts' own."""

    list_position: ClassVar = 610
    summary: ClassVar = "TCP goodput by iperf3: of the hosts and the DUT together, no figure of an RFC"
    figures: ClassVar = (
        Figure("goodput", "TCP goodput", Unit.BPS),
        Figure("line_share", "Share of the line rate, headers and gaps counted", Unit.PERCENT, more_is_better=True),
        *per_direction("goodput", "TCP goodput", Unit.BPS),
        *per_direction("retransmits", "Retransmissions", Unit.SEGMENTS, more_is_better=False),
    )
    step_unit: ClassVar = Unit.BPS
    takes: ClassVar = frozenset({"directions", "flows", "baseline"})
    timed: ClassVar = False
    between_hosts: ClassVar = True
    usual_frame_size: ClassVar = 1518
    usual_flows: ClassVar = 1
    # The limit of one iperf3.
    most_flows: ClassVar = 128
    stated: ClassVar = {"What is measured": "the TCP of two hosts and the DUT together (iperf3), both directions added"}

    def traffic_s(self, trial_s: float) -> float:
        return self.duration


def line_goodput_bps(line_bps: float, longest_frame: int, ip_header_bytes: int) -> float:
    """Returns the TCP goodput of one direction of an Ethernet link full of segments of maximum size.

    `longest_frame` is in bytes and includes the FCS.
    """
    payload = longest_frame - ETHERNET_FRAMING_BYTES - ip_header_bytes - TCP_HEADER_BYTES
    return line_bps * payload / (longest_frame + ETHERNET_OVERHEAD_BYTES)
