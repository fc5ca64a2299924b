# SPDX-License-Identifier: Apache-2.0
"""The maximum connection establishment rate (RFC 9693 §4.5), and the validated one (§4.6)."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.model.units import Unit
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.figures import Figure


class ConnectionRateSearch(ProcedureDeclaration):
    """Declares a search for the highest rate of new connections."""

    figures: ClassVar = (Figure("rate", "Maximum connection establishment rate", Unit.CPS),)
    step_unit: ClassVar = Unit.CPS
    stateful: ClassVar = True
    supplies: ClassVar = "phase1_rate"
    timed: ClassVar = False
    takes_mlrsearch: ClassVar = True
    sustained: ClassVar = True


class ConnectionRateConfig(ConnectionRateSearch):
    name: Literal["connection-rate"] = "connection-rate"

    list_position: ClassVar = 500
    summary: ClassVar = "the highest rate at which all new connections get through (RFC 9693 §4.5)"
    takes: ClassVar = frozenset({"search", "connections", "pairs", "loss_tolerance"})


class ValidatedConnectionRateConfig(ConnectionRateSearch):
    name: Literal["validated-connection-rate"] = "validated-connection-rate"

    list_position: ClassVar = 510
    summary: ClassVar = "connection-rate whose every connection is then checked by a reply (RFC 9693 §4.6)"
    takes: ClassVar = frozenset({"search", "connections", "pairs", "alpha", "loss_tolerance"})
