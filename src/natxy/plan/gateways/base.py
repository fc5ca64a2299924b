# SPDX-License-Identifier: Apache-2.0
"""The base of all gateways' settings: the facts that check a plan without a machine."""

from __future__ import annotations

from typing import ClassVar

from natxy.plan.model.base import PlanModel
from natxy.plan.model.terms import Kernel, TranslationKind


class GatewayModel(PlanModel):
    """Declares a driver: its settings, and facts about it. A plan names it by `driver` and cannot set the facts."""

    driver: str

    is_gateway: ClassVar[bool] = True
    """False if nothing forwards: the tester's ports are joined, and the tester itself is measured."""
    is_router: ClassVar[bool] = False
    """True if it only forwards, so that RFC 2544 §12 asks for a run with 256 destination networks."""
    in_virtual_time: ClassVar[bool] = False
    """True for a model that runs only on the simulated testbed."""
    on_other_machine: ClassVar[bool] = False
    """True if it needs a machine of its own, reached over ssh."""
    polls: ClassVar[bool] = False
    """True for natxy's own program, which runs beside the tester and polls the DUT's ports without rest."""
    forwards_tcp: ClassVar[bool] = True
    """False if it forwards only UDP."""
    keeps_conntrack: ClassVar[bool] = False
    """True if it keeps its connections in Linux's connection tracking table."""
    steers_own_cores: ClassVar[bool] = False
    """True if its driver accepts any number of cores, because the user's commands assign them."""
    module: ClassVar[str | None] = None
    """The kernel module that it needs and that a kernel may lack; None if there is none."""

    @property
    def keeps_connections(self) -> bool | None:
        """True for a stateful gateway, through which only established connections have replies; None for one that
        forwards traffic with and without connections."""
        return False

    @property
    def hides_left(self) -> bool:
        """True if it replaces the left side's addresses by its own; the left side is then private by default."""
        return False

    @property
    def clear_s(self) -> float:
        """The approximate seconds that emptying the table takes; 0 if that is only a moment."""
        return 0.0

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        """The translations between address families that it supports; None is traffic of one family."""
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
