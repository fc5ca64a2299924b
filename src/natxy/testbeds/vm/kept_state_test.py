# SPDX-License-Identifier: Apache-2.0
"""Tests which virtual machines share a kept state, and the files that states are kept in."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from natxy.engine.messages.common import Side
from natxy.errors import DutError
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.vm.accelerator import QEMU
from natxy.testbeds.vm.image import VmImage
from natxy.testbeds.vm.kept_state import SNAPSHOT, KeptState
from natxy.testbeds.vm.qemu import Start
from natxy.testbeds.vm.qmp import QemuMonitor

pytestmark = pytest.mark.skipif(
    not (shutil.which("qemu-img") and shutil.which(QEMU)), reason="QEMU is not installed: `make vm` does"
)
START = Start(
    accelerator="tcg", cores=(0,), taps={Side.LEFT: [5], Side.RIGHT: [6]}, vhosts={}, folder=Path("/tmp/a"), mtu=1500
)


class Monitor:
    """Notes what is executed."""

    def __init__(self, refuses: str = "") -> None:
        self.executed: list[str] = []
        self.refuses = refuses

    def execute(self, command: str) -> None:
        self.executed.append(command)

    def execute_for_people(self, line: str, *, timeout_s: float) -> str:
        del timeout_s
        self.executed.append(line)
        return self.refuses


@pytest.fixture
def image(tmp_path: Path) -> VmImage:
    (tmp_path / "stamp").write_text("1")
    (tmp_path / "disk.img").write_bytes(bytes(1 << 20))
    return VmImage(tmp_path / "disk.img", "raw", tmp_path / "key")


def kept_by(image: VmImage, start: Start = START, cpus: int = 1, **settings: Any) -> KeptState:
    found = KeptState.of(VmConfig(kind="vm", **settings), image, start, cpus)
    assert found
    return found


def keep(state: KeptState, image: VmImage, text: str, monitor: Monitor | None = None) -> None:
    disk = image.disk.parent / "of a run"
    disk.write_text(text)
    state.keep(cast(QemuMonitor, monitor or Monitor()), disk)


def test_what_the_guest_does_not_notice_makes_no_difference(image: VmImage, tmp_path: Path) -> None:
    keep(kept_by(image), image, "state")
    other = replace(
        START, cores=(1,), taps={Side.LEFT: [7], Side.RIGHT: [9]}, folder=Path("/tmp/b"), ssh_port=77, plugin=Path("/p")
    )
    assert kept_by(image, other).fetch(tmp_path / "disk")
    assert (tmp_path / "disk").read_text() == "state"


@pytest.mark.parametrize("settings", [{"memory": "2G"}, {"nic": "e1000e"}, {"queues": 2}])
def test_what_the_guest_notices_is_another_state(image: VmImage, tmp_path: Path, settings: dict[str, Any]) -> None:
    keep(kept_by(image), image, "state")
    taps = {side: range(settings.get("queues", 1)) for side in Side}
    assert not kept_by(image, replace(START, taps=taps), **settings).fetch(tmp_path / "disk")
    assert not kept_by(image, cpus=2).fetch(tmp_path / "disk")
    assert not kept_by(image, replace(START, mtu=1600)).fetch(tmp_path / "disk")
    (tmp_path / "stamp").write_text("2")
    assert not kept_by(image).fetch(tmp_path / "disk")


def test_none_is_kept_of_a_users_image_or_with_kvm(image: VmImage, tmp_path: Path) -> None:
    assert KeptState.of(VmConfig(kind="vm", image=tmp_path / "a", key=tmp_path / "k"), image, START, 1) is None
    assert KeptState.of(VmConfig(kind="vm"), image, replace(START, accelerator="kvm"), 1) is None


def test_the_guest_stands_still_meanwhile(image: VmImage, tmp_path: Path) -> None:
    monitor = Monitor()
    keep(kept_by(image), image, "state", monitor)
    assert monitor.executed == ["stop", f"savevm {SNAPSHOT}", "cont"]
    kept_by(image).forget()
    refusing = Monitor("Error: no room")
    keep(kept_by(image), image, "state", refusing)
    assert refusing.executed == ["stop", f"savevm {SNAPSHOT}", "cont"]
    assert not kept_by(image).fetch(tmp_path / "disk")


def test_the_states_that_were_used_last_stay(image: VmImage, tmp_path: Path) -> None:
    states = [kept_by(image, replace(START, mtu=1500 + number)) for number in range(6)]
    for number, state in enumerate(states):
        keep(state, image, str(number))
        for old, file in enumerate(sorted(tmp_path.glob("booted-*"), key=lambda file: file.stat().st_mtime_ns)):
            os.utime(file, (old, old))
    assert [state.fetch(tmp_path / "disk") for state in states] == [False, False, True, True, True, True]


def test_a_disk_that_cannot_be_made_is_an_error(image: VmImage, tmp_path: Path) -> None:
    with pytest.raises(DutError, match="qemu-img made no disk"):
        kept_by(image).new_disk(tmp_path / "absent" / "disk")


def test_a_state_that_others_can_write_is_not_used(image: VmImage, tmp_path: Path) -> None:
    keep(kept_by(image), image, "state")
    [file] = tmp_path.glob("booted-*")
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    assert not kept_by(image).fetch(tmp_path / "disk")


def test_what_a_killed_natxy_left_unfinished_is_removed(image: VmImage, tmp_path: Path) -> None:
    for name, age_s in ((".natxy-old", 7200), (".natxy-new", 60)):
        (tmp_path / name).write_bytes(b"part")
        os.utime(tmp_path / name, (time.time() - age_s,) * 2)
    keep(kept_by(image), image, "state")
    assert [file.name for file in tmp_path.glob(".natxy-*")] == [".natxy-new"]
