# SPDX-License-Identifier: Apache-2.0
"""Settings of plain Linux forwarding."""

from __future__ import annotations

from typing import Literal

from natxy.plan.gateways.kernel import KernelModel


class LinuxForwardConfig(KernelModel):
    """The Linux kernel's IPv4 and IPv6 forwarding: the baseline of every report."""

    driver: Literal["linux-forward"] = "linux-forward"
