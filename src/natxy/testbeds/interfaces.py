# SPDX-License-Identifier: Apache-2.0
"""Finds the offloads of a network interface that merge or split frames."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from natxy.dut.transport.base import Transport

INTERFACES: Final = Path("/sys/class/net")
_MERGING: Final = re.compile(
    r"^\s*((?:generic-receive|generic-segmentation|large-receive|tcp-segmentation)-offload): on", re.MULTILINE
)


def disturbing_offloads(interface: str, machine: Transport) -> list[str]:
    """Returns ethtool's names of the offloads that are on and merge or split frames."""
    return parse_offloads(machine.run(["ethtool", "--show-features", interface], check=False).stdout)


def parse_offloads(features: str) -> list[str]:
    """Returns the names of these offloads in the output of `ethtool --show-features`."""
    return _MERGING.findall(features)
