# SPDX-License-Identifier: Apache-2.0
"""Finds the disk image that a virtual machine boots, and how to log in to its system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.errors import PlanError
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.guest.recipe import Recipe, built_folder

_SUITE: Final = "bookworm"
_RECIPE: Final = Recipe("vm", "the virtual machine", ("vm.sh",))
_QCOW2: Final = b"QFI\xfb"


@dataclass(frozen=True)
class VmImage:
    """Names the files of a virtual machine. `kernel` and `initrd` are given where QEMU is to boot them directly;
    otherwise the firmware boots the disk. `known_hosts` is None where the system's ssh key is not known beforehand."""

    disk: Path
    disk_format: str
    key: Path
    known_hosts: Path | None = None
    kernel: Path | None = None
    initrd: Path | None = None


def image_folder() -> Path:
    """Returns the folder of the image that `make vm` builds."""
    return built_folder(f"vm-{_SUITE}")


def find_image(config: VmConfig) -> VmImage:
    """Finds the image of a testbed. Raises PlanError when a file is missing or cannot be read, or natxy's own image is
    out of date."""
    if config.image is None:
        folder = image_folder()
        _RECIPE.check(folder)
        return VmImage(
            disk=folder / "disk.img",
            disk_format="raw",
            key=folder / "key",
            known_hosts=folder / "known_hosts",
            kernel=folder / "kernel",
            initrd=folder / "initrd",
        )
    assert config.key is not None
    for field, path in _files(config):
        if not (path.is_file() and os.access(path, os.R_OK)):
            raise PlanError(f"testbed.{field}: {path} is no file that natxy can read; give the path of one")
    return VmImage(config.image, _format_of(config.image), config.key, config.known_hosts)


def _files(config: VmConfig) -> Iterator[tuple[str, Path]]:
    for field in ("image", "key", "known_hosts"):
        if path := getattr(config, field):
            yield field, path


def _format_of(image: Path) -> str:
    """Returns QEMU's name of the format, which decides what QEMU does with the file: a guest must not choose it."""
    with image.open("rb") as file:
        return "qcow2" if file.read(len(_QCOW2)) == _QCOW2 else "raw"
