# SPDX-License-Identifier: Apache-2.0
"""Keeps what can be made again, for the user that natxy runs as."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from natxy.system.whole_file import whole_file

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> Path:
    """Returns natxy's folder in the user's cache, ~/.cache/natxy unless $XDG_CACHE_HOME says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "natxy"


def kept_text(name: str) -> str | None:
    """Returns a text that `keep_text` has kept, or None. A file that others own or can write to is not read."""
    with suppress(OSError, UnicodeDecodeError), open(cache_folder() / name, encoding="utf-8", opener=_opened) as file:
        return file.read()
    return None


def _opened(path: str, flags: int) -> int:
    """Opens a file of this user's own. Raises PermissionError for one that is not."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE:
        return descriptor
    os.close(descriptor)
    raise PermissionError(path)


def keep_text(name: str, text: str) -> None:
    """Keeps a text under a name. Does nothing where the cache cannot be written."""
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        with whole_file(cache_folder() / name) as file:
            file.write(text.encode())
