# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hatchling.bridge.app import Application

from tools.package.wheel_hook import EngineHook


def _build_data(root: Path, version: str) -> dict[str, Any]:
    data: dict[str, Any] = {}
    EngineHook(str(root), {}, None, None, str(root), "wheel", Application()).initialize(version, data)  # type: ignore[arg-type]
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
