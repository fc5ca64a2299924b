# SPDX-License-Identifier: Apache-2.0
"""Chooses QEMU's accelerator: KVM where a guest really boots with it, otherwise TCG, which emulates a processor.

That /dev/kvm exists says little: within a virtual machine it may open, and a guest then hang in its firmware; or KVM
emulates the guest's instructions one by one, a thousand times slower than the processor, and no kernel boots in time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from typing import Final

from natxy.errors import PlanError
from natxy.installation import by_make
from natxy.plan.testbeds.vm import Accelerator

QEMU: Final = "qemu-system-x86_64"
ENDS_WITH_NATXY: Final = ("setpriv", "--pdeathsig", "KILL")
"""The beginning of a command that is killed when the thread ends that started it."""
_PROBE_S: Final = 5.0
# The processor's models: the machine's own with KVM, and all that TCG knows.
CPU_MODELS: Final[dict[Accelerator, str]] = {"kvm": "host", "tcg": "max"}
# A tenth of a second on a processor, a second with TCG, and more than a minute if KVM emulates each of them.
_ROUNDS: Final = 100_000_000
# A boot sector that goes on to 64-bit mode, as every kernel does, counts, and ends QEMU by its exit device. The first
# steps alone, in 16-bit mode, may work where a kernel does not.
_CODE: Final = bytes.fromhex(
    "fa 31c0 8ed8 8ec0"  # cli; ds = es = 0
    "66bf00100000 0f22df 66b9000c0000 6631c0 fc 66f3ab"  # cr3 = 0x1000, and zeros from there to 0x4000
    "66c706001003200000 66c706002003300000 66c706003083000000"  # page tables that map the first 2 MiB to themselves
    "0f20e0 0c20 0f22e0"  # cr4 |= PAE
    "66b9800000c0 0f32 80cc01 0f30"  # EFER |= LME
    "0f0116877c"  # lgdt, the last bytes
    "0f20c0 660d01000080 0f22c0"  # cr0 |= PG | PE
    "ea637c0800"  # jmp 8:0x7c63, which is next
    f"b9{_ROUNDS.to_bytes(4, 'little').hex()} ffc9 75fc"  # count down in ecx
    "baf4000000 b010 ee f4 ebfd"  # out 0xf4, 0x10; hlt
    "0000000000000000 00000000009a2000 0f00777c0000"  # a code segment of 64 bits
)
_SECTOR: Final = _CODE.ljust(510, b"\0") + b"\x55\xaa"
_DISK_BYTES: Final = 4 * 1024 * 1024
# The exit device doubles the written value and adds 1.
_EXIT_CODE: Final = 0x10 * 2 + 1


def choose_accelerator(wanted: Accelerator | None) -> Accelerator:
    """Returns the accelerator. Raises PlanError when KVM is wanted and does not work, or QEMU is not installed."""
    if shutil.which(QEMU) is None:
        raise PlanError(f"{QEMU} is not installed on this machine: {by_make('vm')}")
    if wanted == "tcg":
        return "tcg"
    if boots_with("kvm"):
        return "kvm"
    if wanted == "kvm":
        raise PlanError(
            f"testbed.accelerator: a guest did not boot with KVM here within {_PROBE_S:g} s; allow the machine's "
            "virtualization (a virtual machine needs nested virtualization), or remove it to use tcg, which is slower"
        )
    return "tcg"


def describe_accelerator(accelerator: Accelerator) -> str:
    """Returns for people how the instructions are executed."""
    return "KVM" if accelerator == "kvm" else "TCG (no KVM: QEMU executes the instructions itself)"


@cache
def boots_with(accelerator: Accelerator, timeout_s: float = _PROBE_S) -> bool:
    """Returns True when a guest boots its disk by this accelerator within the time."""
    disk = os.memfd_create("disk")
    try:
        os.write(disk, _SECTOR)
        # The firmware does not read a disk of less than a cylinder.
        os.truncate(disk, _DISK_BYTES)
        done = subprocess.run(
            [*ENDS_WITH_NATXY, *_probe_argv(accelerator, disk)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=[disk],
            timeout=timeout_s,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        os.close(disk)
    return done.returncode == _EXIT_CODE


def _probe_argv(accelerator: Accelerator, disk: int) -> list[str]:
    return [
        *[QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "q35", "-m", "64M"],
        *["-accel", accelerator, "-cpu", CPU_MODELS[accelerator]],
        *["-drive", f"if=none,id=disk,format=raw,readonly=on,file=/proc/self/fd/{disk}"],
        *["-device", "virtio-blk-pci,drive=disk", "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"],
    ]
