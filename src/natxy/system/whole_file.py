# SPDX-License-Identifier: Apache-2.0
"""Writes files in folders that others may write to as well.

A link is never followed: neither one that stands where the file is to be, nor one that another process puts there
meanwhile. Links in the path of the folder are followed, unless the folder is natxy's own.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

UNFINISHED: Final = ".natxy-*"
"""The pattern of the names of files that are being written."""
_READABLE: Final = 0o666
"""The mode of new files, before the umask."""


@contextmanager
def whole_file(path: Path, *, own_folder: bool = False) -> Iterator[BinaryIO]:
    """Replaces `path`, whatever it is, by a file with what the context writes. After an error nothing has changed.

    With `own_folder`, the folder of `path` must not be a link. Raises OSError when the file cannot be written.
    """
    follow = os.O_NOFOLLOW if own_folder else 0
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | follow)
    # The name of `path` may be as long as the file system allows.
    unfinished = UNFINISHED.replace("*", secrets.token_hex(8))
    try:
        new = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _READABLE, dir_fd=folder)
        try:
            with open(new, "wb") as out:
                yield out
            os.replace(unfinished, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def appended_file(path: Path) -> BinaryIO:
    """Opens a file for reading and appending, without a buffer, and makes it if it does not exist.

    Raises OSError when that fails or when `path` is a link.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    return open(os.open(path, flags, _READABLE), "a+b", buffering=0)
