# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).with_name("packages.sh")


@pytest.mark.parametrize(
    ("release", "options", "named"),
    [
        ('NAME="Fedora Linux"\nID=fedora\nVERSION_ID=43\n', ["--newer"], "the system here is fedora 43:"),
        ("ID=arch\n", ["--newer"], "the system here is arch:"),
        ('ID=ubuntu\nVERSION_ID="22.04"\n', ["--newer"], "the system here is ubuntu 22.04:"),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', [], "natxy needs Debian 12 for this; the system here is ubuntu 24.04:"),
        ('ID=debian\nVERSION_ID="13"\n', [], "the system here is debian 13:"),
    ],
)
def test_another_system_is_refused_before_anything_is_installed(
    tmp_path: Path, release: str, options: list[str], named: str
) -> None:
    (tmp_path / "os-release").write_text(release)
    programs = {"dpkg-query": "exit 1", "apt-get": f"touch {tmp_path}/installing"}
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OS_RELEASE": str(tmp_path / "os-release")}
    refused = subprocess.run([_SCRIPT, *options, "libdpdk-dev"], env=environment, capture_output=True, text=True)
    assert refused.returncode == 1
    assert named in refused.stderr
    assert "docs/how-to/install.md" in refused.stderr
    assert not (tmp_path / "installing").exists()


def test_the_lists_are_read_unless_an_update_has_just_succeeded_and_knows_the_packages(tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text("ID=debian\nVERSION_ID=12\n")
    # Each call of apt-get is noted, and fails when there is a file of its last word's name.
    apt_get = f'echo "$@" >> {tmp_path}/calls; for last; do :; done; [ ! -e "{tmp_path}/fails$last" ]'
    for name, script in {"dpkg-query": "exit 1", "id": "echo 0", "apt-get": apt_get}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "OS_RELEASE": str(tmp_path / "os-release"),
        "APT_LISTS": str(tmp_path),
    }

    def called(fails: str = "") -> list[str]:
        """Returns the verbs of apt-get when the call with this last word fails."""
        (tmp_path / "calls").write_text("")
        if fails:
            (tmp_path / f"fails{fails}").touch()
        subprocess.run([_SCRIPT, "sl"], env=environment, capture_output=True)
        if fails:
            (tmp_path / f"fails{fails}").unlink()
        calls = (tmp_path / "calls").read_text().splitlines()
        return ["simulate" if "--simulate" in call else call.split()[0] for call in calls]

    assert called(fails="update") == ["update"]
    assert called() == ["update", "install"]
    assert called() == ["simulate", "install"]
    assert called(fails="--simulate") == ["simulate", "update", "install"]
    (tmp_path / "natxy-setup").unlink()
    assert called() == ["update", "install"]
