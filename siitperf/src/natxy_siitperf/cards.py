# SPDX-License-Identifier: Apache-2.0
"""Finds the network cards of this machine that siitperf would use."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

PCI: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
DRIVERS: Final = Path("/sys/bus/pci/drivers")
_OF_DPDK: Final = ("vfio-pci", "igb_uio", "uio_pci_generic")


def bound_cards() -> list[str]:
    """Returns the PCI addresses of the network cards that are bound to a driver of DPDK, in siitperf's order: its left
    side has the first of them, and its right side the second."""
    folders = [folder for name in _OF_DPDK if (folder := DRIVERS / name).is_dir()]
    return sorted(path.name for folder in folders for path in folder.iterdir() if _is_nic(path))


def _is_nic(path: Path) -> bool:
    """Returns whether a device is a network card: its PCI class begins with 02."""
    if not PCI.fullmatch(path.name):
        return False
    try:
        return (path / "class").read_text(encoding="ascii").startswith("0x02")
    except OSError:
        return False
