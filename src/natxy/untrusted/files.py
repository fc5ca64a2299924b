# SPDX-License-Identifier: Apache-2.0
"""Opens files for reading that others may have made, or that are in folders to which others may write."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO, Final

_OF_OTHERS: Final = 0o077
_READ: Final = 0o044
_ENTER: Final = 0o011
_WRITE: Final = 0o022
# Bytes: more than a plan's 10,000 experiments need with all their defaults.
_LONGEST_TEXT: Final = 64 * 2**20
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class ForeignFolder:
    """A folder that others may write to. `below` is its path within `root`, and no part of that path may be a link."""

    root: Path
    below: str = ""

    @property
    def path(self) -> Path:
        return self.root / self.below

    def within(self, below: str) -> ForeignFolder:
        return ForeignFolder(self.root, f"{self.below}/{below}" if self.below else below)

    def opened(self, name: str) -> BinaryIO:
        """Opens a regular file of the folder's own; `name` may have folders in it.

        Raises OSError for anything else: for links, FIFOs, and hard links to a file of another owner than the folder's.
        """
        *parents, last = (*PurePath(self.below).parts, *PurePath(name).parts)
        if ".." in (*parents, last) or PurePath(name).is_absolute():
            raise OSError(errno.EPERM, "not below this folder", str(self.path / name))
        at = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for each in parents:
                inner = os.open(each, _PLAIN | os.O_DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
            file = os.open(last, _PLAIN, dir_fd=at)
            try:
                found, owner = os.fstat(file), os.fstat(at).st_uid
                if not stat.S_ISREG(found.st_mode) or (found.st_uid != owner and found.st_nlink > 1):
                    raise OSError(errno.EPERM, "not a regular file of this folder's own", str(self.path / name))
                return os.fdopen(file, "rb")
            except BaseException:
                os.close(file)
                raise
        finally:
            os.close(at)

    def has(self, name: str) -> bool:
        """Returns whether `opened` would open this file."""
        try:
            self.opened(name).close()
        except OSError:
            return False
        return True


def opened_regular(file: Path) -> BinaryIO:
    """Opens a file that the user names, which may be a link.

    Raises OSError, with the reason as its `strerror`, when it cannot be read, and for a FIFO or a device, from which
    reading might not end.
    """
    opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        if not stat.S_ISREG(mode):
            what = "a pipe" if stat.S_ISFIFO(mode) else "a device"
            raise OSError(
                errno.EINVAL, f"it is {what}; write what it would give to a file, and name this file", str(file)
            )
        return os.fdopen(opened, "rb")
    except BaseException:
        os.close(opened)
        raise


def text_of(file: Path) -> str:
    """Returns the text of a file that the user names.

    Raises OSError, with the reason as its `strerror`, when it cannot be read, is too long or is no text.
    """
    with opened_regular(file) as opened:
        content = opened.read(_LONGEST_TEXT + 1)
    if len(content) > _LONGEST_TEXT:
        raise OSError(errno.EFBIG, f"it is longer than {_LONGEST_TEXT // 2**20} MiB", str(file))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, "it is not UTF-8 text", str(file)) from error


def opened_own(file: Path, others_may: int = _READ) -> BinaryIO:
    """Opens a file that decides what natxy does: this user owns file and folder, and nobody else can write to them.

    Raises OSError, with the reason as its `strerror`, for any other file. `others_may`: the permissions that others may
    have to the file.
    """
    check_own(file.parent)
    found = ForeignFolder(file.parent).opened(file.name)
    try:
        _check_own(file, os.fstat(found.fileno()), others_may)
    except BaseException:
        found.close()
        raise
    return found


def make_own_folder(folder: Path) -> None:
    """Makes a folder that this user alone can write to, or takes the permission to write to it from others.

    Raises OSError, with the reason as its `strerror`, when it stays another user's or open to others.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.stat()
    if status.st_uid == os.geteuid() and status.st_mode & _WRITE and not status.st_mode & stat.S_ISVTX:
        folder.chmod(stat.S_IMODE(status.st_mode) & ~_WRITE)
    check_own(folder)


def check_own(folder: Path) -> None:
    """Raises OSError, with the reason as its `strerror`, unless this user alone can write to the folder."""
    _check_own(folder, folder.stat(), _READ | _ENTER)


def _check_own(path: Path, status: os.stat_result, others_may: int) -> None:
    # In a folder for everybody's files, such as /tmp, others replace none but their own.
    is_shared = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if status.st_uid == os.geteuid() and (is_shared or not status.st_mode & _OF_OTHERS & ~others_may):
        return
    raise OSError(
        errno.EPERM,
        f"{path} belongs to user {status.st_uid} with mode {stat.S_IMODE(status.st_mode):03o}, so that others decide "
        f"what is in it: `chown {os.geteuid()} {path}` and `chmod go-rwx {path}`, or remove it if others may have "
        "written to it",
        str(path),
    )
