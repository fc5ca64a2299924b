# SPDX-License-Identifier: Apache-2.0
"""No drop rate and partial drop rate, the two rates that FD.io CSIT reports of a gateway, by one search."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from natxy.plan.model.units import Share, Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, FrameTimeout
from natxy.plan.procedures.figures import Figure

# CSIT's own.
_PARTIAL_LOSS: Final = 0.005


class NdrPdrConfig(FrameTimeout):
    name: Literal["ndr-pdr"] = "ndr-pdr"
    partial_loss: Share = _PARTIAL_LOSS
    """Share of frames that a trial may lose for the partial drop rate, more than `loss_tolerance`."""

    list_position: ClassVar = 100
    summary: ClassVar = "the highest rates without loss and with a partial loss, by one search (RFC 9971)"
    figures: ClassVar = (
        Figure("rate", "No drop rate", Unit.FPS),
        Figure("partial_drop_rate", "Partial drop rate", Unit.FPS, with_headline=1),
    )
    supplies: ClassVar = "rate"
    takes: ClassVar = OF_NETWORK_FLOWS | {"search", "loss_tolerance", "baseline"}
    takes_mlrsearch: ClassVar = True
    needs_mlrsearch: ClassVar = True
    sustained: ClassVar = True

    @property
    def partial_loss_ratio(self) -> float:
        return self.partial_loss
