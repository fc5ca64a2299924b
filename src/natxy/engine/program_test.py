# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from natxy.engine import program as engine_program
from natxy.engine.program import find_engine
from natxy.errors import NatxyError


def _program(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "natxy-engine"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NATXY_ENGINE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setattr(engine_program, "_SOURCE_TREE", tmp_path / "tree")
    return tmp_path


def test_order_of_places(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = _program(empty_machine / "tree" / "build" / "engine")
    assert find_engine() == built
    on_path = _program(empty_machine / "path")
    assert find_engine() == on_path
    beside_python = _program(empty_machine / "venv")
    assert find_engine() == beside_python
    chosen = _program(empty_machine / "chosen")
    monkeypatch.setenv("NATXY_ENGINE", str(chosen))
    assert find_engine() == chosen


def test_nowhere(empty_machine: Path) -> None:
    with pytest.raises(NatxyError, match=r"natxy-engine was not found .*make setup"):
        find_engine()


def test_wrong_choice_is_not_passed_over(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(empty_machine / "venv")
    monkeypatch.setenv("NATXY_ENGINE", str(empty_machine / "nothing"))
    with pytest.raises(NatxyError, match=r"NATXY_ENGINE is .*nothing"):
        find_engine()
