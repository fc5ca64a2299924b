# SPDX-License-Identifier: Apache-2.0
"""The check of a softwire's end that outer addresses belong to the inner ones (RFC 7596 §6.2, RFC 7597 §8.1), and of
MAP-T's core that ports belong to addresses (RFC 7599 §8)."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from pydantic import field_validator

from natxy.plan.frames.background import LONGEST_CYCLE
from natxy.plan.model.units import Share, Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure

_LEAST_SHARE: Final = 2 / LONGEST_CYCLE


class BindingCheckConfig(ProcedureDeclaration):
    name: Literal["binding-check"] = "binding-check"
    spoofed: Share = 0.1
    """Spoofed frames, which come in addition, as a share of the good ones from the tester's end."""

    list_position: ClassVar = 540
    summary: ClassVar = "whether frames with another's address pass, and what checking costs (RFC 7596 §6.2)"
    figures: ClassVar = (
        Figure("passed", "Spoofed frames that passed", Unit.PERCENT, more_is_better=False),
        Figure("spoofed", "Spoofed frames sent", Unit.FRAMES),
        Figure("lost_alone", "Good frames lost without spoofed ones", Unit.FRAMES, more_is_better=False),
        Figure("lost_beside", "Good frames lost beside spoofed ones", Unit.FRAMES, more_is_better=False),
        Figure("cost", "Throughput lost beside spoofed frames", Unit.PERCENT, signed=True),
        Figure("rate_alone", "Throughput without spoofed frames", Unit.FPS),
        Figure("rate_beside", "Throughput of good frames beside spoofed ones", Unit.FPS),
    )
    takes: ClassVar = frozenset(
        {"rate", "search", "directions", "connections", "phase1_rate", "phase1_loss", "loss_tolerance"}
    )
    takes_mlrsearch: ClassVar = True
    searches_if_asked: ClassVar = True
    at_softwire: ClassVar = True

    @field_validator("spoofed")
    @classmethod
    def _some(cls, given: float) -> float:
        if not _LEAST_SHARE <= given <= 1:
            raise ValueError(f"expected {_LEAST_SHARE:.1%} to 100 %, e.g. 10%")
        return given
