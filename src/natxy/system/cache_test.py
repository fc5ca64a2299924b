# SPDX-License-Identifier: Apache-2.0
"""Tests what is kept in the user's cache, and which files in it are not believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from natxy.system.cache import cache_folder, keep_text, kept_text

TEXT = "Größe\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "natxy"


def test_a_text_is_kept_until_another_has_its_name(folder: Path) -> None:
    assert kept_text("a") is None
    keep_text("a", TEXT)
    assert kept_text("a") == TEXT
    keep_text("a", "")
    assert kept_text("a") == ""
    assert cache_folder() == folder


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_not_believed(folder: Path, mode: int) -> None:
    keep_text("a", TEXT)
    (folder / "a").chmod(mode)
    assert kept_text("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_not_believed(folder: Path) -> None:
    keep_text("a", TEXT)
    os.chown(folder / "a", 1, 1)
    assert kept_text("a") is None


def test_links_pipes_folders_and_what_is_no_text_are_not_read(folder: Path) -> None:
    keep_text("a", TEXT)
    (folder / "link").symlink_to("a")
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "bytes").write_bytes(b"\xff")
    assert [kept_text(name) for name in ("link", "pipe", "folder", "bytes")] == [None] * 4


def test_a_cache_that_cannot_be_written_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    keep_text("a", TEXT)
    assert kept_text("a") is None
