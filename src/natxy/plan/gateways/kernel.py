# SPDX-License-Identifier: Apache-2.0
"""Settings of every gateway that also runs in user-mode Linux."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import Kernel


class KernelModel(GatewayModel):
    """`module`: a kernel module that it needs and a kernel may not have."""

    module: ClassVar[str | None] = None
    kernel: Kernel | None = Field(
        default=None,
        description="in a lab: the machine's `own`, or one in `user-mode`; automatic: its own unless the gateway needs "
        "a module that it doesn't take",
    )
