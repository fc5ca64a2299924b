# SPDX-License-Identifier: Apache-2.0
"""A throw-away testbed on this machine."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from natxy.plan.testbeds.ports import SharedMachine


class LabConfig(SharedMachine):
    """A throw-away testbed on this machine: network namespaces and veth pairs."""

    kind: Literal["lab"] = "lab"
    io: Literal["af_xdp", "af_packet"] = "af_xdp"
    queues: Annotated[int, Field(ge=1, le=64)] = Field(default=1, description="of a port; more than 1 needs af_packet")
