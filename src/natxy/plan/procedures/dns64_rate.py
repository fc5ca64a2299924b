# SPDX-License-Identifier: Apache-2.0
"""The rate at which a DNS64 server answers all queries (RFC 8219 §9)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from natxy.plan.model.units import Duration, Unit
from natxy.plan.procedures.base import FrameTimeout
from natxy.plan.procedures.figures import Figure

QUERY_FRAME_BYTES: Final = 116
"""The size of a query over IPv6, FCS included; all names are as long."""
DNS_PORT: Final = 53

# RFC 8219 §9.
TIMEOUT_S: Final = 1.0

_Percent = Annotated[int, Field(ge=0, le=100)]


class Dns64RateConfig(FrameTimeout):
    name: Literal["dns64-rate"] = "dns64-rate"
    cached_percent: _Percent = 0
    """Percentage of the queries for names that the server has in its cache, because they were asked for before."""
    aaaa_percent: _Percent = 0
    """Percentage of the names that have an IPv6 address of their own."""
    frame_timeout: Duration | None = TIMEOUT_S
    """Time within which a query has to be answered."""

    list_position: ClassVar = 620
    summary: ClassVar = "the highest rate at which a DNS64 server answers every query (RFC 8219 §9)"
    figures: ClassVar = (
        Figure("rate", "DNS64 query rate", Unit.QPS),
        Figure("delay_median", "Median time to an answer at that rate", Unit.NS, with_headline=1),
        Figure("delay_p99", "99th percentile of the time to an answer at that rate", Unit.NS, with_headline=1),
    )
    step_unit: ClassVar = Unit.QPS
    takes: ClassVar = frozenset({"search", "loss_tolerance", "baseline"})
    takes_mlrsearch: ClassVar = True
    sustained: ClassVar = True
    ends_early: ClassVar = True
    usual_frame_size: ClassVar = QUERY_FRAME_BYTES
    usual_destination_port: ClassVar = DNS_PORT
    asks_dns64: ClassVar = True
