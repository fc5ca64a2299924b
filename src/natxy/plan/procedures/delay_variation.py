# SPDX-License-Identifier: Apache-2.0
"""Packet delay variation and inter-packet delay variation (RFC 8219 §7.3)."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import OF_NETWORK_FLOWS, ProcedureDeclaration
from natxy.plan.procedures.figures import DELAY_DEFINITION, Figure, frames_left_out, per_direction


class PdvConfig(ProcedureDeclaration):
    name: Literal["pdv"] = "pdv"

    list_position: ClassVar = 220
    summary: ClassVar = "packet delay variation D99.9 − Dmin of every frame at a known rate (RFC 8219 §7.3.1)"
    stated: ClassVar = DELAY_DEFINITION | {"Lost frames": "counted; they have no delay"}
    figures: ClassVar = (
        Figure("pdv", "PDV, the direction with more", Unit.NS),
        *per_direction("pdv", "PDV", Unit.NS),
        *per_direction("min_delay", "Least delay", Unit.NS),
        *frames_left_out("lost", "Frames lost"),
    )
    takes: ClassVar = OF_NETWORK_FLOWS | {"rate"}


class IpdvConfig(ProcedureDeclaration):
    name: Literal["ipdv"] = "ipdv"

    list_position: ClassVar = 230
    pairs_frames: ClassVar = True
    summary: ClassVar = "delay variation from each frame to the next at a known rate (RFC 8219 §7.3.2)"
    stated: ClassVar = DELAY_DEFINITION | {"Lost frames": "counted; a pair with one of them has no IPDV"}
    figures: ClassVar = (
        Figure("max", "Largest IPDV, the direction with more", Unit.NS),
        *per_direction("min", "Smallest IPDV", Unit.NS, signed=True),
        *per_direction("median", "Median IPDV", Unit.NS, signed=True),
        *per_direction("max", "Largest IPDV", Unit.NS),
        *frames_left_out("lost", "Frames lost"),
    )
    takes: ClassVar = OF_NETWORK_FLOWS | {"rate"}
