# SPDX-License-Identifier: Apache-2.0
"""Settings of VPP as a border relay."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from natxy.plan.gateways.checking_core import MOST_RANGES_OF_ONE
from natxy.plan.gateways.relay import RelayModel

# As many as the tester can be.
_MOST_SUBSCRIBERS: Final = 1 << 32


class VppConfig(RelayModel):
    """VPP with its plugin `map`, the core of lw4o6 or MAP-E. Debian has no package of it, so the user installs it."""

    untried: ClassVar[str | None] = (
        "has never run VPP itself, only written its commands; look at them in the first report"
    )
    most_subscribers: ClassVar = _MOST_SUBSCRIBERS
    most_port_ranges: ClassVar = _MOST_SUBSCRIBERS * MOST_RANGES_OF_ONE
    rests: ClassVar[bool] = False
    driver: Literal["vpp"] = "vpp"
    program: str = "vpp"
    """Path on the DUT, beside which `vppctl` is, or name on its PATH."""
