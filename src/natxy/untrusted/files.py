# SPDX-License-Identifier: Apache-2.0
"""Opens files for reading in folders that others may write to, such as a run's or a campaign's that root shows."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path, PurePath
from typing import BinaryIO, Final

_OF_OTHERS: Final = 0o077
_READ: Final = 0o044
_ENTER: Final = 0o011
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def opened(folder: PurePath, name: str) -> BinaryIO:
    """Opens a regular file below the folder; `name` is relative, and no part of it may be a link.

    Raises OSError for anything else, such as a FIFO, and for a hard link to a file of another owner than the folder's.
    """
    *parents, last = PurePath(name).parts
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in parents:
            below = os.open(each, _PLAIN | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        owner = os.fstat(at).st_uid
        file = os.fdopen(os.open(last, _PLAIN, dir_fd=at), "rb")
    finally:
        os.close(at)
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or (found.st_uid != owner and found.st_nlink > 1):
        file.close()
        raise OSError(errno.EPERM, "not a regular file of this folder's own", str(folder / name))
    return file


def opened_own(file: Path, others_may: int = _READ) -> BinaryIO:
    """Opens a file that decides what natxy does. It and its folder are this user's, and nobody else can write to them.

    Raises OSError, with the reason as its `strerror`, for any other file. `others_may`: the permissions that others may
    have to the file.
    """
    opened_file = opened(file.parent, file.name)
    for each, status, may in (
        (file.parent, file.parent.stat(), _READ | _ENTER),
        (file, os.fstat(opened_file.fileno()), others_may),
    ):
        # In a folder for everybody's files, such as /tmp, others replace none but their own.
        is_shared = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_uid != os.geteuid() or (status.st_mode & _OF_OTHERS & ~may and not is_shared):
            opened_file.close()
            mode = stat.S_IMODE(status.st_mode)
            raise OSError(
                errno.EPERM,
                f"{each} belongs to user {status.st_uid} with mode {mode:03o}, and so natxy does not believe it: it "
                f"has to be user {os.geteuid()}'s, and out of reach for others",
                str(file),
            )
    return opened_file


def is_plain(folder: PurePath, name: str) -> bool:
    """Returns whether `opened` would open this file."""
    try:
        opened(folder, name).close()
    except OSError:
        return False
    return True
