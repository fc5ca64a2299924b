# SPDX-License-Identifier: Apache-2.0
"""Keeps the state in which natxy's own virtual machine is as soon as it has booted.

Without KVM a boot takes a minute, and the next virtual machine of the same settings goes on from that state within
seconds. Memory and devices are in the file of the disk, as an internal snapshot of qcow2.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from natxy.errors import DutError
from natxy.plan.testbeds.vm import VmConfig
from natxy.system.whole_file import UNFINISHED, whole_file
from natxy.testbeds.vm.accelerator import QEMU
from natxy.testbeds.vm.image import VmImage
from natxy.testbeds.vm.qemu import Start, qemu_argv
from natxy.testbeds.vm.qmp import QemuMonitor

SNAPSHOT: Final = "booted"
_QEMU_IMG: Final = "qemu-img"
_STAMP: Final = "stamp"
_PREFIX: Final = "booted-"
_MOST: Final = 4
_TIMEOUT_S: Final = 30.0
# As much memory as the guest has used, written to a disk.
_SAVING_S: Final = 120.0
_UNFINISHED_S: Final = 3600.0
_OTHERS_WRITE: Final = 0o022
_OWN: Final = 0o600


class KeptState:
    """The state of a virtual machine of some settings, which is kept beside its image."""

    def __init__(self, file: Path, image: VmImage) -> None:
        self._file = file
        self._image = image

    @classmethod
    def of(cls, config: VmConfig, image: VmImage, start: Start, cpus: int) -> KeptState | None:
        """Returns the state, which may not be kept yet; None where none can be kept.

        A user's own image may change, and with KVM a state depends on the machine's processor.
        """
        if config.image or start.accelerator != "tcg" or not shutil.which(_QEMU_IMG):
            return None
        # What differs from one start to another without any difference to the guest.
        alike = replace(
            start,
            cores=(0,),
            taps={side: range(len(each)) for side, each in start.taps.items()},
            folder=Path("/"),
            disk=None,
            snapshot=None,
            plugin=None,
            ssh_port=0,
        )
        folder = image.disk.parent
        try:
            version = subprocess.run([QEMU, "--version"], capture_output=True, timeout=_TIMEOUT_S, check=True).stdout
            stamp = (folder / _STAMP).read_bytes()
        except (OSError, subprocess.SubprocessError):
            return None
        words = "\0".join(qemu_argv(config, image, alike, cpus)).encode()
        return cls(folder / f"{_PREFIX}{hashlib.sha256(b'|'.join((words, version, stamp))).hexdigest()[:16]}", image)

    def fetch(self, disk: Path) -> bool:
        """Copies the disk with the state for a virtual machine to go on from. Returns False if there is none."""
        try:
            # Somebody else's file may name any file of this machine as the disk below it.
            kept = self._file.stat()
            if kept.st_uid != os.geteuid() or kept.st_mode & _OTHERS_WRITE:
                return False
            shutil.copyfile(self._file, disk)
        except OSError:
            return False
        with suppress(OSError):
            # The states that nobody used for long are removed first.
            os.utime(self._file)
        return True

    def new_disk(self, disk: Path) -> None:
        """Makes a disk for a virtual machine that boots, and whose state can be kept. Raises DutError if it cannot."""
        image = self._image
        argv = [_QEMU_IMG, "create", "-q", "-f", "qcow2", "-b", str(image.disk), "-F", image.disk_format, str(disk)]
        try:
            subprocess.run(argv, capture_output=True, timeout=_TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise DutError(f"{_QEMU_IMG} made no disk for the virtual machine: {error}") from error

    def keep(self, monitor: QemuMonitor, disk: Path) -> None:
        """Keeps the state of a virtual machine that has just booted, unless QEMU or the folder refuses that.

        Raises DutError when QEMU no longer answers.
        """
        monitor.execute("stop")
        if not monitor.execute_for_people(f"savevm {SNAPSHOT}", timeout_s=_SAVING_S).strip():
            # The memory of the guest is nobody else's business.
            with suppress(OSError), whole_file(self._file) as kept, disk.open("rb") as written:
                os.fchmod(kept.fileno(), _OWN)
                shutil.copyfileobj(written, kept, 1 << 20)
            self._remove_oldest()
        monitor.execute("cont")

    def forget(self) -> None:
        """Removes a state that QEMU could not go on from."""
        with suppress(OSError):
            self._file.unlink()

    def _remove_oldest(self) -> None:
        folder = self._file.parent
        with suppress(OSError):
            kept = sorted(folder.glob(f"{_PREFIX}*"), key=lambda file: file.stat().st_mtime)
            # What a killed natxy has left unfinished.
            left = [file for file in folder.glob(UNFINISHED) if time.time() - file.stat().st_mtime > _UNFINISHED_S]
            for file in (*kept[:-_MOST], *left):
                file.unlink()
