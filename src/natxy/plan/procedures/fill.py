# SPDX-License-Identifier: Apache-2.0
"""Declares `fill`, which shows what new connections meet while a gateway's table or its public ports fill up."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from natxy.plan.frames.forms import Protocol
from natxy.plan.frames.segments import RESPONSE, Conversation, Sender
from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import LifeStep
from natxy.plan.procedures.figures import Figure
from natxy.plan.procedures.lives import OpenedAtRate, steps_of

FILLS_PERCENT: Final = (10, 50, 90, 99)
_STEP_S: Final = 0.1
_LAST: Final = "last reply"


class FillConfig(OpenedAtRate):
    name: Literal["fill"] = "fill"

    list_position: ClassVar = 600
    summary: ClassVar = "how new connections fare while the gateway's table or its public ports fill up"
    figures: ClassVar = (
        Figure("refused", "Connections whose first frame was lost", Unit.CONNECTIONS, more_is_better=False),
        Figure("forgotten", "Connections made and gone at the end", Unit.CONNECTIONS, more_is_better=False),
        Figure(
            "refused_from",
            "Share of the connections opened before the first loss",
            Unit.PERCENT,
            more_is_better=True,
        ),
        *(
            Figure(f"delay_{percent}", f"Median delay of opening frames at {percent} %", Unit.NS)
            for percent in FILLS_PERCENT
        ),
    )

    keeps_to_the_end: ClassVar = True

    def most_at_once(self, connections: int, rate_fps: float | None, protocol: Protocol) -> int:
        # What happens without room is what it measures.
        return 1

    def life(self, protocol: Protocol) -> tuple[LifeStep, ...]:
        """Returns the frames by which a connection is more than opened: its reply, or the rest of its handshake. The
        last frame comes when all connections are opened."""
        if protocol == Protocol.UDP:
            return tuple(
                LifeStep(name, number * _STEP_S, Sender.RESPONDER) for number, name in enumerate(("reply", _LAST), 1)
            )
        return tuple(steps_of([*Conversation().open().said[1:], (_LAST, RESPONSE)], _STEP_S, _STEP_S))
