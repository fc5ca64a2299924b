# SPDX-License-Identifier: Apache-2.0
"""Tests the example script that boots a DUT with a number of cores. Scripts replace ssh and the DUT."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command import HANG_S

PROGRAM = Path(__file__).parents[2] / "docs/how-to/boot-with-cores.sh"

# The machine is a folder. It has eight cores, and does not answer at once after a reboot.
SSH = """#!/bin/sh
for command; do :; done
cd "$MACHINE" || exit
if [ -e booting ]; then rm booting; exit 255; fi
PATH="$MACHINE/bin:$PATH" sh -c "$(echo "$command" | sed "s, /\\(etc\\|proc\\)/, $MACHINE/\\1/,g")"
"""
REBOOT = """#!/bin/sh
echo reboot >> reboots
GRUB_CMDLINE_LINUX=quiet
for file in etc/default/grub.d/*.cfg; do [ -e "$file" ] && . "./$file"; done
echo "BOOT_IMAGE=/vmlinuz root=/dev/sda1 $GRUB_CMDLINE_LINUX" > proc/cmdline
wc -l < reboots > proc/sys/kernel/random/boot_id
touch booting
exit 255
"""
CORES = """#!/bin/sh
asked=$(sed -n 's/.* maxcpus=\\([0-9]*\\).*/\\1/p' proc/cmdline)
echo $((${asked:-8} < 8 ? ${asked:-8} : 8))
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for folder in ("etc/default/grub.d", "proc/sys/kernel/random", "bin", "client"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/cmdline").write_text("BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet\n")
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("first\n")
    programs = {"client/ssh": SSH, "bin/systemctl": REBOOT, "bin/getconf": CORES, "bin/update-grub": "#!/bin/sh\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def boot(machine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"MACHINE": str(machine), "PATH": f"{machine}/client:{os.environ['PATH']}"}
    return subprocess.run(
        [str(PROGRAM), *arguments], env=environment, capture_output=True, text=True, timeout=HANG_S, check=False
    )


def reboots(machine: Path) -> int:
    return len((machine / "reboots").read_text().split()) if (machine / "reboots").exists() else 0


def test_cores_are_set_once_and_given_back(machine: Path) -> None:
    for cores, there, boots in (("4", 4, 1), ("4", 4, 1), ("all", 8, 2), ("all", 8, 2)):
        done = boot(machine, "root@dut", cores)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"root@dut has {there} cores in service\n"
        assert reboots(machine) == boots
        assert ("maxcpus=4" in (machine / "proc/cmdline").read_text()) == (cores == "4")
    assert not [*(machine / "etc/default/grub.d").iterdir()]


def test_more_cores_than_there_are(machine: Path) -> None:
    done = boot(machine, "root@dut", "16")
    assert done.returncode == 1
    assert "root@dut has 8 cores in service, not 16" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("root@dut",), ("root@dut", "0"), ("root@dut", "4;reboot")])
def test_anything_else_is_refused_before_the_machine_is_asked(machine: Path, arguments: tuple[str, ...]) -> None:
    done = boot(machine, *arguments)
    assert done.returncode == 1
    assert "usage: " in done.stderr
    assert reboots(machine) == 0
