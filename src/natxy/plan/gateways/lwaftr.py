# SPDX-License-Identifier: Apache-2.0
"""Settings of an lwAFTR or MAP-E border relay that is composed of a tunnel interface and filters of the kernel."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from natxy.plan.gateways.checking_core import MOST_RANGES_OF_ONE, CheckingCoreModel

_MOST_SUBSCRIBERS: Final = 16_384


class LwaftrConfig(CheckingCoreModel):
    """The core of softwires that checks each packet's binding. Linux has no lwAFTR: this one is composed of its
    parts."""

    # Kernels that have it have the other modules, too.
    module: ClassVar[str | None] = "cls_flower"
    module_remedy: ClassVar = "choose a testbed of `kind: vm`, or the gateway `softwire`, which checks no bindings"
    changes_bindings: ClassVar = True
    most_subscribers: ClassVar = _MOST_SUBSCRIBERS
    # A subscriber's ports are one filter, however many ranges they are.
    most_port_ranges: ClassVar = _MOST_SUBSCRIBERS * MOST_RANGES_OF_ONE
    driver: Literal["lwaftr"] = "lwaftr"
