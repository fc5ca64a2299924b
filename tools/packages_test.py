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
