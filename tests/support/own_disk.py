# SPDX-License-Identifier: Apache-2.0
"""Makes a disk as a user would have one: it boots by itself, and lets root in by a key of its own at another port."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.vm.image import find_image

PROGRAMS: Final = ("syslinux", "mcopy", "mkfs.fat", "sfdisk", "debugfs", "ssh-keygen")
PORT: Final = 2022
NAMES: Final = {"left": "lan0", "right": "lan1"}
_MASTER_BOOT_RECORD: Final = Path("/usr/lib/SYSLINUX/mbr.bin")
_SECTOR: Final = 512
_BOOT_AT: Final = 2048
_BOOT_SECTORS: Final = 65536
_BOOT_CONFIG: Final = """DEFAULT own
LABEL own
  KERNEL kernel
  INITRD initrd
  APPEND root=/dev/vda2 rw console=ttyS0 quiet
"""


@dataclass(frozen=True)
class OwnDisk:
    """A raw disk with a boot loader, and the key that logs in."""

    disk: Path
    key: Path


def own_disk(folder: Path) -> OwnDisk:
    """Returns a disk with the Debian of `make vm`; `folder` needs 1 GB."""
    image, disk, key = find_image(VmConfig(kind="vm")), folder / "own.img", folder / "own_key"
    assert image.kernel is not None
    assert image.initrd is not None
    _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    system = folder / "system"
    _run("cp", "--sparse=always", image.disk, system)
    files = {
        "/etc/fstab": "/dev/vda2 / ext4 defaults,noatime 0 0\n",
        "/etc/ssh/sshd_config.d/port.conf": f"Port {PORT}\n",
        "/root/.ssh/authorized_keys": key.with_suffix(".pub").read_text(),
    } | {
        f"/etc/systemd/network/10-{side}.link": f"[Match]\nMACAddress=02:00:00:00:02:0{number}\n[Link]\nName={name}\n"
        for number, (side, name) in enumerate(NAMES.items(), 1)
    }
    for path, text in files.items():
        _put(system, path, text)
    system_at = _BOOT_AT + _BOOT_SECTORS
    with disk.open("wb") as made:
        made.truncate(system_at * _SECTOR + system.stat().st_size)
    _run("sfdisk", "--quiet", disk, given=f"label: dos\n{_BOOT_AT},{_BOOT_SECTORS},e,*\n{system_at},,83\n")
    _run("mkfs.fat", "-F", "16", "--offset", str(_BOOT_AT), disk, str(_BOOT_SECTORS * _SECTOR // 1024))
    boot = f"{disk}@@{_BOOT_AT * _SECTOR}"
    (folder / "syslinux.cfg").write_text(_BOOT_CONFIG)
    for file, name in ((image.kernel, "kernel"), (image.initrd, "initrd"), (folder / "syslinux.cfg", "syslinux.cfg")):
        _run("mcopy", "-i", boot, file, f"::{name}")
    _run("syslinux", "--install", "--offset", str(_BOOT_AT * _SECTOR), disk)
    with disk.open("r+b") as made:
        made.write(_MASTER_BOOT_RECORD.read_bytes())
    _run("dd", f"if={system}", f"of={disk}", "bs=1M", f"seek={system_at * _SECTOR}", "oflag=seek_bytes",
         "conv=sparse,notrunc", "status=none")  # fmt: skip
    system.unlink()
    return OwnDisk(disk, key)


def _put(system: Path, path: str, text: str) -> None:
    """Writes a file into the file system, for root alone."""
    source = system.with_name("written")
    source.write_text(text)
    source.chmod(0o600 if path.startswith("/root") else 0o644)
    _run("debugfs", "-w", "-f", "-", system, given=f"rm {path}\nwrite {source} {path}\n")


def _run(*argv: str | Path, given: str = "") -> None:
    done = subprocess.run([*map(str, argv)], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
