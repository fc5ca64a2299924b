# SPDX-License-Identifier: Apache-2.0
"""Holds a place of labgrid while a job measures there, by labgrid's own client."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from natxy.campaign.jobs.model import Place
from natxy.errors import DutError
from natxy.system.ledger import default_folder
from natxy.untrusted.files import make_own_folder

_CLIENT: Final = "labgrid-client"
_LOOK_S: Final = 0.2
# labgrid knows a holder by host and user. The host is the same wherever a worker is.
_HOST: Final = "natxy"
_HELD: Final = "held"
# The place is given back when nobody has the writing end of the input any more, however the last one ended. A
# reservation that was used would keep others out for a minute.
_HOLD: Final = f"""
trap '' PIPE
trap '{{ {_CLIENT} -p "$1" release-from "$2"; {_CLIENT} cancel-reservation "$3"; }} >/dev/null 2>&1' EXIT
{_CLIENT} -p "$1" acquire && echo {_HELD} && cat
"""


def missing_client() -> str:
    """Returns what to do for places to be held on this machine; empty if labgrid's client is there."""
    if shutil.which(_CLIENT):
        return ""
    return (
        f"`place` needs {_CLIENT}, which no folder of PATH has: run `pip install labgrid` in a Python environment of "
        "your choice, and add its folder bin to PATH"
    )


@dataclass(frozen=True)
class Holding:
    """Holds what a program that uses the place is started with: variables for labgrid-client, and a descriptor that
    it inherits, so that the place is not given back before it ends."""

    variables: Mapping[str, str]
    descriptor: int


@contextmanager
def held_place(place: Place, holder: str, wanted: Callable[[], bool]) -> Iterator[Holding]:
    """Holds a place until the context and the programs that inherited the descriptor have ended.

    Waits for others in labgrid's queue of reservations as long as that is `wanted`, and before for an earlier attempt
    of the same `holder` that is still ending. What the holder still has, because the machine went down, is given back
    first. Raises DutError when the place cannot be had.
    """
    own = f"{_HOST}/{holder}"
    variables = {"LG_HOSTNAME": _HOST, "LG_USERNAME": holder, "LG_PLACE": place.name}
    if place.coordinator:
        variables["LG_COORDINATOR"] = place.coordinator
    environment = {**os.environ, **variables}

    def ask(*words: str) -> str:
        return _answer([_CLIENT, *words], environment, wanted)

    # The client takes a part of a name too.
    if not ask("-p", place.name, "show").startswith(f"Place '{place.name}':"):
        raise DutError(f"labgrid has no place {place.name}; `{_CLIENT} places` lists those that it has")
    with _only_attempt(holder, wanted) as attempt:
        with suppress(DutError):
            ask("-p", place.name, "release-from", own)
        # The answer is a line for a shell: export LG_TOKEN=…
        token = ask("reserve", "--wait", "--shell", f"name={place.name}").strip().rpartition("=")[2]
        words = ["sh", "-c", _HOLD, "sh", place.name, own, token]
        ends, descriptor = os.pipe()
        try:
            holding = subprocess.Popen(
                words,
                stdin=ends,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=[attempt],
                start_new_session=True,
            )
        except BaseException:
            os.close(descriptor)
            raise
        finally:
            os.close(ends)
        with holding:
            assert holding.stdout
            try:
                said = []
                for line in holding.stdout:
                    said.append(line.decode(errors="replace").strip())
                    if said[-1] == _HELD:
                        break
                else:
                    raise DutError(f"labgrid did not give the place {place.name}: {' '.join(said)}")
                yield Holding(variables, descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def _only_attempt(holder: str, wanted: Callable[[], bool]) -> Iterator[int]:
    """Yields a descriptor that one attempt of a holder has at a time on this machine; waits as long as that is
    `wanted`.

    The shell that gives the place back inherits it: labgrid cannot tell two attempts of a holder apart, and the place
    of the next one would be given back.
    """
    # The lock is free when nobody has the file open any more, however they ended. No other user can enter the folder.
    folder = default_folder() / "places"
    make_own_folder(folder.parent)
    make_own_folder(folder)
    file = folder / hashlib.blake2b(holder.encode(), digest_size=16).hexdigest()
    attempt = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            try:
                fcntl.flock(attempt, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if not wanted():
                raise DutError("interrupted")
            time.sleep(_LOOK_S)
        yield attempt
    finally:
        os.close(attempt)


def _answer(words: list[str], environment: Mapping[str, str], wanted: Callable[[], bool]) -> str:
    """Returns what a program prints. Raises DutError when it fails, or is not `wanted` any more."""
    if missing := missing_client():
        raise DutError(missing)
    # It ends with this thread too, also where that was killed.
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    while True:
        try:
            out, said = process.communicate(timeout=_LOOK_S)
            break
        except subprocess.TimeoutExpired:
            if not wanted():
                process.terminate()
    if not wanted():
        raise DutError("interrupted")
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise DutError(f"{' '.join(words)}: {lines[-1] if lines else f'exit code {process.returncode}'}")
    return out.decode(errors="replace")
