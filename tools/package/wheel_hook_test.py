# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hatchling.bridge.app import Application

from tools.package.wheel_hook import _LIBRARIES, _PACKAGES, EngineHook

_CLONE = Path(__file__).parents[2]


def _hook(root: Path) -> EngineHook:
    return EngineHook(str(root), {}, None, None, str(root), "wheel", Application())  # type: ignore[arg-type]


def _build_data(root: Path, version: str) -> dict[str, Any]:
    data: dict[str, Any] = {}
    _hook(root).initialize(version, data)
    return data


def test_without_headers_the_error_names_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NATXY_WHEEL_ENGINE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        _build_data(tmp_path, "standard")
    said = capsys.readouterr().err
    assert "needs c++, pkg-config, libdpdk, nlohmann_json, fmt" in said
    assert "apt install build-essential pkg-config libdpdk-dev" in said
    assert "NATXY_WHEEL_ENGINE=none" in said


def test_the_control_plane_alone_needs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _build_data(tmp_path, "editable") == {}
    monkeypatch.setenv("NATXY_WHEEL_ENGINE", "none")
    assert _build_data(tmp_path, "standard") == {}


def test_a_wheel_needs_only_the_packages_that_the_docs_name() -> None:
    assert f"apt install {_PACKAGES} python3-venv\n" in (_CLONE / "docs/how-to/install.md").read_text()
    before_tests, cut, _ = (_CLONE / "engine/meson.build").read_text().partition("if not get_option('tests')")
    assert cut
    needed = {*re.findall(r"dependency\('(\w+)'", before_tests)}
    assert needed == {*_LIBRARIES, "threads"}


def test_each_wheel_is_built_anew_in_a_folder_that_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NATXY_WHEEL_ENGINE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    programs = {
        "c++": ":",
        "pkg-config": ":",
        "meson": '[ "$5" = -Dtests=false ] && : > "$2/build.ninja"',
        "ninja": '[ -e "$2/build.ninja" ] && : > "$2/$3" && : > "$2/$4"',
    }
    for name, script in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    folders = []
    for _ in range(2):
        hook, data = _hook(tmp_path), dict[str, Any]()
        hook.initialize("standard", data)
        built = [Path(each) for each in data["shared_scripts"]]
        assert [each.name for each in built] == ["natxy-engine", "natxy-reference"]
        assert all(each.exists() for each in built)
        hook.finalize("standard", data, "natxy.whl")
        assert not any(each.exists() for each in built)
        folders.append(built[0].parent)
    assert len({*folders}) == len(folders)
    assert not (tmp_path / "build").exists()


def test_a_portable_wheel_packs_what_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NATXY_WHEEL_ENGINE", "portable")
    with pytest.raises(SystemExit):
        _build_data(tmp_path, "standard")
    assert "run `make portable` first" in capsys.readouterr().err
    (tmp_path / "build" / "portable").mkdir(parents=True)
    names = ["natxy-engine", "natxy-engine.x86-64-v2", "natxy-reference", "natxy-reference.x86-64-v2"]
    for name in names:
        (tmp_path / "build" / "portable" / name).touch()
    data = _build_data(tmp_path, "standard")
    assert [*data["shared_scripts"].values()] == names
    assert data["pure_python"] is False
