# SPDX-License-Identifier: Apache-2.0
"""A lab whose gateway is natxy-reference: a program that has the DUT's ends of the links to itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from natxy.testbeds.lab import SILENT_SYSCTLS, NetnsLab


class ReferenceLab(NetnsLab):
    _dut_sysctls: ClassVar[Mapping[str, int]] = SILENT_SYSCTLS

    def deviations(self) -> list[str]:
        own = "What was measured is natxy's own reference gateway: the results tell of the tester and of the lab."
        return [*super().deviations(), own]

    def _set_links(self) -> None:
        """The program has the addresses, and answers for them."""
