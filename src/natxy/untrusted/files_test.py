# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from natxy.untrusted.files import ForeignFolder, make_own_folder, opened_own, opened_regular


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
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=r"file|runs|links|directory"):
        ForeignFolder(folder).opened("runs/file")
    assert not ForeignFolder(folder).within("runs").has("file")
    assert os.listdir("/proc/self/fd") == before


def test_a_file_is_read_also_where_it_has_another_owner_or_name(folder: Path, secret: Path) -> None:
    os.link(secret, folder / "runs/file")
    with ForeignFolder(folder).opened("runs/file") as file:
        assert file.read() == b"secret"
    (folder / "file").write_bytes(b"own")
    with ForeignFolder(folder).opened("file") as file:
        assert file.read() == b"own"
    assert ForeignFolder(folder).has("file")


@pytest.fixture
def own(folder: Path) -> Path:
    folder.chmod(0o700)
    own = folder / "file"
    own.write_bytes(b"own")
    own.chmod(0o600)
    return own


def test_what_decides_is_this_users_alone(own: Path) -> None:
    with opened_own(own) as file:
        assert file.read() == b"own"
    own.chmod(0o644)
    own.parent.chmod(0o1777)
    opened_own(own).close()
    own.parent.chmod(0o755)
    opened_own(own).close()
    with pytest.raises(PermissionError, match="with mode 644"):
        opened_own(own, others_may=0)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_what_others_can_write_decides_nothing(own: Path, mode: int) -> None:
    own.chmod(mode)
    with pytest.raises(PermissionError, match=f"file belongs to user .* with mode {mode:o}"):
        opened_own(own)
    own.chmod(0o600)
    own.parent.chmod(mode | 0o100)
    with pytest.raises(PermissionError, match="folder belongs to user"):
        opened_own(own)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_made_decides_nothing(own: Path) -> None:
    os.chown(own, 65534, 65534)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        opened_own(own)
    os.chown(own, 0, 0)
    os.chown(own.parent, 65534, 65534)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        opened_own(own)


@pytest.mark.parametrize("mode", [0o700, 0o775, 0o777])
def test_a_folder_of_ones_own_is_taken_from_others(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "a" / "natxy"
    before = os.umask(0)
    try:
        make_own_folder(folder)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(mode)
    make_own_folder(folder)
    assert folder.stat().st_mode & 0o777 == mode & ~0o022


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(PermissionError, match=f"belongs to user 65534 .*chown 0 {tmp_path}"):
        make_own_folder(tmp_path)


def test_a_file_that_the_user_names_may_be_a_link_and_nothing_endless(folder: Path, secret: Path) -> None:
    (folder / "link").symlink_to(secret)
    with opened_regular(folder / "link") as file:
        assert file.read() == b"secret"
    os.mkfifo(folder / "pipe")
    before = os.listdir("/proc/self/fd")
    for name, why in ((folder / "pipe", "a pipe"), (Path("/dev/zero"), "a device"), (folder, "[Dd]irectory")):
        with pytest.raises(OSError, match=why):
            opened_regular(name)
    with pytest.raises(FileNotFoundError):
        opened_regular(folder / "absent")
    assert os.listdir("/proc/self/fd") == before
