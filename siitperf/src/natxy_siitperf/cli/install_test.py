# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app

NAMES = ("siitperf-tp", "siitperf-lat", "siitperf-pdv")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder of programs beside a Python of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    return folder


def test_links_are_made_and_made_anew(programs: Path, tmp_path: Path) -> None:
    build = tmp_path / "scripts" / "build"
    for _ in range(2):
        done = CliRunner().invoke(app, ["install-siitperf", str(build)])
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines() == [str(build / name) for name in NAMES]
        assert {name: (build / name).readlink() for name in NAMES} == {name: programs / name for name in NAMES}


def test_siitperfs_own_programs_are_not_replaced(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "siitperf-lat").write_text("its own", encoding="utf-8")
    (tmp_path / "siitperf-pdv").symlink_to("/opt/siitperf/build/siitperf-pdv")
    done = CliRunner().invoke(app, ["install-siitperf", str(tmp_path)])
    assert done.exit_code == 2
    assert f"{tmp_path / 'siitperf-lat'}, {tmp_path / 'siitperf-pdv'} is no link to natxy's" in done.stderr
    assert (tmp_path / "siitperf-pdv").readlink() == Path("/opt/siitperf/build/siitperf-pdv")
    assert not (tmp_path / "siitperf-tp").exists()


def test_programs_that_are_missing_and_folders_that_cannot_be_written(programs: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["install-siitperf", "/proc/nowhere"])
    assert (done.exit_code, "choose a folder that can be written to" in done.stderr) == (2, True)
    (programs / "siitperf-tp").unlink()
    done = CliRunner().invoke(app, ["install-siitperf", str(tmp_path)])
    assert (done.exit_code, "run `make setup`" in done.stderr) == (2, True)
