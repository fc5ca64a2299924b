# SPDX-License-Identifier: Apache-2.0
"""The settings of every gateway, and what a gateway declares about itself for checks that need no machine."""

from __future__ import annotations

from typing import ClassVar

from natxy.plan.model.base import PlanModel
from natxy.plan.model.terms import Kernel, TranslationKind


class GatewayModel(PlanModel):
    """The settings of one driver. A plan names it by `driver`; everything else here is declared, not set."""

    driver: str

    is_gateway: ClassVar[bool] = True
    """False where nothing forwards: the tester's ports are joined, and what is measured is the tester."""
    is_router: ClassVar[bool] = False
    """It only forwards, so RFC 2544 §12 asks for a run with 256 destination networks."""
    in_virtual_time: ClassVar[bool] = False
    """It is a model that runs on the simulated testbed alone."""
    on_other_machine: ClassVar[bool] = False
    """It needs a machine of its own, reached over ssh."""
    polls: ClassVar[bool] = False
    """It is natxy's own program, which runs beside the tester and never rests: it polls the DUT's ports."""
    forwards_tcp: ClassVar[bool] = True
    keeps_conntrack: ClassVar[bool] = False
    """It keeps its connections in Linux's connection tracking table."""
    steers_own_cores: ClassVar[bool] = False
    """Its driver accepts any number of cores: the user's commands know which ones the gateway has."""
    module: ClassVar[str | None] = None
    """A kernel module that it needs, and that a kernel may lack."""

    @property
    def keeps_connections(self) -> bool | None:
        """True for a stateful gateway, through which only established connections have replies; None for one that
        forwards traffic with and without connections."""
        return False

    @property
    def hides_left(self) -> bool:
        """True where it translates the left side's addresses to its own; these are private by default."""
        return False

    @property
    def clear_s(self) -> float:
        """Roughly how many seconds it takes to empty the table, where that is more than a moment."""
        return 0.0

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        """The translations between address families that it supports; None stands for traffic of one family."""
        return frozenset({None})

    @property
    def lab_kernel(self) -> Kernel | None:
        """The kernel it runs on in a lab; None to choose one that has `module`."""
        return Kernel.OWN

    @property
    def table_sizes(self) -> dict[str, int]:
        """The greatest number of connections that the plan sets, by the name of the setting."""
        return {}

    @property
    def lifetimes_s(self) -> dict[str, int]:
        """The lifetimes of connections in seconds that the plan sets, by the name of the setting."""
        return {}

    def only_port(self, kind: TranslationKind) -> int | None:
        """Returns the one destination port that it translates in a translation of this kind; None for any port."""
        del kind
        return None
