# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from natxy.untrusted.files import is_plain, opened


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    return secret


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "runs").mkdir(parents=True)
    return folder


def linked_folder(folder: Path, secret: Path) -> None:
    (folder / "runs").rmdir()
    (folder / "runs").symlink_to(secret.parent)
    secret.rename(secret.with_name("file"))


def hard_link_to_another_owners(folder: Path, secret: Path) -> None:
    os.chown(folder / "runs", 65534, 65534)
    os.link(secret, folder / "runs/file")


@pytest.mark.parametrize(
    "place",
    [
        lambda folder, secret: (folder / "runs/file").symlink_to(secret),
        linked_folder,
        lambda folder, _: os.mkfifo(folder / "runs/file"),
        lambda folder, _: (folder / "runs/file").mkdir(),
        lambda folder, _: os.symlink("/dev/zero", folder / "runs/file"),
        lambda *_: None,
        pytest.param(
            hard_link_to_another_owners,
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away"),
        ),
    ],
)
def test_only_files_of_the_folders_own_are_read(
    folder: Path, secret: Path, place: Callable[[Path, Path], None]
) -> None:
    place(folder, secret)
    with pytest.raises(OSError, match=r"file|runs|links|directory"):
        opened(folder, "runs/file")
    assert not is_plain(folder, "runs/file")


def test_a_file_is_read_also_where_it_has_another_owner_or_name(folder: Path, secret: Path) -> None:
    os.link(secret, folder / "runs/file")
    with opened(folder, "runs/file") as file:
        assert file.read() == b"secret"
    (folder / "file").write_bytes(b"own")
    with opened(folder, "file") as file:
        assert file.read() == b"own"
    assert is_plain(folder, "file")
