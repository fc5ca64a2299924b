# SPDX-License-Identifier: Apache-2.0
"""Settings that the cores of softwires in user space share, which the user builds."""

from __future__ import annotations

from typing import ClassVar

from natxy.plan.gateways.checking_core import CoreModel


class RelayModel(CoreModel):
    """Settings of a core of softwires in user space. It has its frames from the interfaces themselves."""

    bypasses_kernel: ClassVar[bool] = True
    tells_sides_by_interface: ClassVar = True
    rests: ClassVar[bool] = False

    program: str
    """Path on the DUT, or name on its PATH."""
