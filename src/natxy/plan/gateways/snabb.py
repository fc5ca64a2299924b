# SPDX-License-Identifier: Apache-2.0
"""Settings of Snabb's lwAFTR."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from natxy.addressing.softwire_tables import MOST_IN_TABLE
from natxy.plan.gateways.checking_core import MOST_RANGES_OF_ONE, CheckingCoreModel
from natxy.plan.gateways.relay import RelayModel


class SnabbBy(StrEnum):
    """Names the sockets by which Snabb gets its frames: those of AF_XDP, or raw ones, which work on any interface."""

    XDP = "xdp"
    RAW = "raw"


class SnabbConfig(RelayModel, CheckingCoreModel):
    """Snabb's lwAFTR, the core of lw4o6 or MAP-E. No distribution packages it, so the user builds it."""

    untried: ClassVar[str | None] = (
        "has never run Snabb itself, only written its configuration; look at that in the first report"
    )
    changes_bindings: ClassVar = True
    most_subscribers: ClassVar = MOST_IN_TABLE
    most_port_ranges: ClassVar = MOST_IN_TABLE * MOST_RANGES_OF_ONE
    driver: Literal["snabb"] = "snabb"
    program: str = "snabb"
    """Path on the DUT, or name on its PATH."""
    by: SnabbBy = SnabbBy.XDP
    """Sockets by which Snabb gets its frames: `xdp`, or `raw` for interfaces without combined channels, such as a
    lab's."""
