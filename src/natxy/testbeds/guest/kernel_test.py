# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.testbeds.guest import kernel
from natxy.testbeds.guest.kernel import find_guest


def test_what_is_missing_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, modules = tmp_path / "bin", tmp_path / "modules"
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel, "_INSTALLED_MODULES", modules)
    with pytest.raises(PlanError, match=r"user-mode Linux is not installed .*`make jool`"):
        find_guest()
    programs.mkdir()
    (programs / "linux.uml").write_text("#!/bin/sh\n")
    (programs / "linux.uml").chmod(0o755)
    (modules / "6.1.2").mkdir(parents=True)
    with pytest.raises(PlanError, match=r"guest-6\.1\.2, a guest's modules, is missing: run `make jool`"):
        find_guest()
    folder = tmp_path / "cache" / "natxy" / "guest-6.1.2"
    folder.mkdir(parents=True)
    (folder / "stamp").write_text(f"{'0' * 64} 6.1.2 4.1.9\n")
    with pytest.raises(PlanError, match=r"guest-6\.1\.2, a guest's modules, was built by another .*`make jool`"):
        find_guest()
    build = Path(__file__).parents[4] / "guest"
    sources = (build / "build.sh").read_bytes() + (build / "preload.c").read_bytes()
    (folder / "stamp").write_text(f"{hashlib.sha256(sources).hexdigest()} 6.1.2 4.1.9\n")
    assert (find_guest().version, find_guest().folder) == ("6.1.2", folder)
