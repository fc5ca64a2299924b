# SPDX-License-Identifier: Apache-2.0
"""Reserves what two measurements cannot use at the same time, for one process of this machine.

A lock is a file that its holder has locked by flock(2): the kernel frees it when the process ends, however it ends. Its
content says for people who that is. Programs that the holder starts do not inherit it.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from natxy.errors import DutError
from natxy.system import ledger
from natxy.system.interrupts import serialized
from natxy.untrusted.files import make_own_folder

# `natxy locks` looks by locking each file itself for a moment, and a new holder has not yet written its name.
_LOOK_S: Final = 0.05


class Holder(BaseModel):
    """Describes the process that has reserved `what`; `since` is the time in ISO 8601."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    what: str
    pid: int
    command: str
    since: str


def holders() -> list[Holder]:
    """Returns who holds what at this moment, by the names of what is held."""
    found: list[Holder] = []
    for file in sorted(_folder().glob("*")):
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            # It was freed meanwhile, or is another user's.
            continue
        try:
            if not _obtained(descriptor, fcntl.LOCK_SH):
                found.append(_read(descriptor, file.name))
        finally:
            os.close(descriptor)
    return found


@contextmanager
def exclusive(names: Iterable[str], waiting: Callable[[Holder], None]) -> Iterator[None]:
    """Reserves each of `names` until the context ends; calls `waiting` with the holder of one that it has to wait for.

    Everybody reserves in alphabetical order, so that no two wait for each other. Raises DutError when a lock cannot be
    made.
    """
    with ExitStack() as held:
        for name in sorted(set(names)):
            held.enter_context(_one(name, waiting))
        yield


@contextmanager
def _one(name: str, waiting: Callable[[Holder], None]) -> Iterator[None]:
    file = _folder() / urllib.parse.quote(name, safe=" ")
    descriptor = _locked(file, waiting)
    try:
        own = Holder(
            what=name,
            pid=os.getpid(),
            command=shlex.join(sys.argv),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, serialized(own).encode(), 0)
        yield
    finally:
        # Before it is freed: afterwards it may be another's.
        file.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(file: Path, waiting: Callable[[Holder], None]) -> int:
    """Returns a descriptor of the locked file."""
    while True:
        try:
            make_own_folder(file.parent.parent)
            make_own_folder(file.parent)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise DutError(f"the lock {file} cannot be made: {error.strerror}") from error
        try:
            if not _obtained(descriptor, fcntl.LOCK_EX):
                time.sleep(_LOOK_S)
                if not _obtained(descriptor, fcntl.LOCK_EX):
                    waiting(_read(descriptor, file.name))
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
            # The holder before deletes the file.
            if _is_still(descriptor, file):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _obtained(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _read(descriptor: int, name: str) -> Holder:
    try:
        return Holder.model_validate_json(os.pread(descriptor, 1 << 16, 0))
    except ValidationError:
        # Its holder has not yet written it.
        return Holder(what=urllib.parse.unquote(name), pid=0, command="unknown", since="")


def _folder() -> Path:
    return ledger.default_folder() / "locks"
