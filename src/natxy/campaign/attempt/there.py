# SPDX-License-Identifier: Apache-2.0
"""Carries out a job on a tester behind ssh, and brings home what it has measured, also if it ended early."""

from __future__ import annotations

import asyncio
import math
import re
import shlex
import shutil
import tarfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import asyncssh

from natxy.campaign.attempt.task import Outcome, Task, ended, fingerprint, is_complete
from natxy.campaign.jobs.model import CampaignTester
from natxy.campaign.jobs.queue import Ending
from natxy.dut.transport.ssh import UnreachableError, connect
from natxy.errors import DutError, PlanError

_Result = TypeVar("_Result")

_CAMPAIGNS: Final = ".cache/natxy/campaigns"
_LOOK_S: Final = 0.2
# A tester that boots answers again before that, or the attempts that follow fail.
_BOOT_S: Final = 300.0
_AGAIN_S: Final = 5.0
# To give everything back, a DUT behind ssh may have to be waited for.
_TO_CLEAN_UP_S: Final = 120.0
_NO_NATXY: Final = 127
_MOST_BYTES: Final = 4 << 30
_MOST_FILES: Final = 100
_CHUNK: Final = 1 << 20
_MOST_SAID_BYTES: Final = 2000
# natxy's own files have such names, and none begins with a dot.
_FILE: Final = re.compile(r"\w[\w.-]*", re.ASCII)
# natxy is asked to end when its input ends, also because the connection is lost; a program that makes it root may stand
# between sshd and natxy. The shell that looks for that is natxy's child and ends with it. If natxy has ended before,
# the shell's parent is the machine's first process, which is left alone. What an earlier connection began may still be
# ending.
_RUN: Final = """
cd "$1" || exit 1
shift
exec 3<&0 </dev/null
setpriv --pdeathsig KILL sh -c 'while read -r _; do :; done; [ "$PPID" != "$1" ] || kill -TERM "$1"' sh "$$" \\
    <&3 >/dev/null 2>&1 &
exec 3<&-
[ ! -d run ] || flock run true || exit 1
if [ -e run/results.sqlite ]; then set -- resume run "$@"
else rm -rf run && set -- run plan.yaml --output run "$@" || exit 1
fi
exec {natxy} "$@"
"""
_CHECK: Final = 'cd "$1" && [ ! -e run/results.sqlite ] || exit 1; exec {natxy} check plan.yaml'


class _LostError(UnreachableError):
    """Says that a connection was lost that had been made."""


def carry_out_there(task: Task, tester: CampaignTester, wanted: Callable[[], bool]) -> Outcome:
    """Measures the run of a task to its end, and ends it when it is `wanted` no more.

    The run stays on the tester until it is complete and here, so that it can be resumed there. A tester whose
    connection was lost is waited for, because it may boot.
    """
    task.folder.parent.mkdir(parents=True, exist_ok=True)
    if is_complete(task.folder):
        return Outcome(Ending.DONE)
    with task.log.open("ab") as log:
        begin = log.tell()
        try:
            code, refused = asyncio.run(_in_time(_measured(task, tester, wanted, log), wanted))
        except (DutError, asyncssh.Error, OSError) as error:
            if isinstance(error, _LostError):
                asyncio.run(_answering(tester, wanted))
            return Outcome(Ending.FAILED, None, f"{tester.ssh}: {error}")
    return ended(task, code, begin, refused=refused)


def folder_there(task: Task) -> str:
    """Returns the folder of a task on its tester, which no other task of any campaign has, within the user's home."""
    return f"{_CAMPAIGNS}/{fingerprint(task.folder)}"


async def _in_time(measured: Coroutine[Any, Any, _Result], wanted: Callable[[], bool]) -> _Result:
    """Returns the result of what is measured. Raises DutError when that does not end although it is not `wanted`."""
    measuring = asyncio.ensure_future(measured)
    given_up_s = math.inf
    while not (await asyncio.wait({measuring}, timeout=_LOOK_S))[0]:
        if given_up_s == math.inf and not wanted():
            given_up_s = time.monotonic() + _TO_CLEAN_UP_S
        if time.monotonic() > given_up_s:
            measuring.cancel()
            raise DutError(f"it did not end there within {_TO_CLEAN_UP_S:g} s")
    return measuring.result()


async def _measured(task: Task, tester: CampaignTester, wanted: Callable[[], bool], log: IO[bytes]) -> tuple[int, bool]:
    """Returns natxy's exit code, and whether it takes the plan itself for wrong."""
    async with await connect(tester.ssh) as connection:
        try:
            found = await _measured_over(connection, task, tester, wanted, log)
        except (asyncssh.Error, ConnectionError) as error:
            raise _LostError(str(error)) from error
    return found


async def _measured_over(
    connection: asyncssh.SSHClientConnection,
    task: Task,
    tester: CampaignTester,
    wanted: Callable[[], bool],
    log: IO[bytes],
) -> tuple[int, bool]:
    folder = folder_there(task)
    # The folders in the user's home stay the user's.
    await _run(connection, (), 'mkdir -p "$1"', _CAMPAIGNS)
    as_root = tester.ssh.as_root
    await _run(connection, as_root, 'mkdir -p "$1" && cat > "$1/plan.yaml"', folder, input=task.plan.encode())
    run, check = (script.replace("{natxy}", shlex.quote(tester.natxy)) for script in (_RUN, _CHECK))
    process: asyncssh.SSHClientProcess[bytes] = await connection.create_process(
        _command(as_root, run, folder, *task.before), encoding=None, stdout=log, stderr=asyncssh.STDOUT
    )
    waiting = asyncio.ensure_future(process.wait())
    asked = False
    while not (await asyncio.wait({waiting}, timeout=_LOOK_S))[0]:
        if not asked and not wanted():
            asked = True
            process.stdin.write_eof()
    code = waiting.result().returncode
    if code is None:
        raise _LostError("the connection was lost")
    if code == _NO_NATXY:
        natxy = shlex.join([*as_root, tester.natxy])
        raise DutError(f"{natxy} is not installed there; give the path by `natxy`")
    refused = False
    if code == PlanError.exit_code:
        checked = await connection.run(_command(as_root, check, folder))
        refused = checked.returncode == PlanError.exit_code
    await _bring_home(connection, as_root, folder, task.folder)
    if is_complete(task.folder):
        await _run(connection, as_root, 'rm -rf "$1"', folder)
    return code, refused


async def _answering(tester: CampaignTester, wanted: Callable[[], bool]) -> None:
    """Waits until the tester can be logged into again, or for as long as it may take to boot."""
    until_s = time.monotonic() + _BOOT_S
    while wanted() and time.monotonic() < until_s:
        # One that goes down may still answer at first.
        await asyncio.sleep(_AGAIN_S)
        with suppress(DutError):
            async with await connect(tester.ssh):
                return


def _command(as_root: Sequence[str], script: str, *words: str) -> str:
    return shlex.join([*as_root, "sh", "-c", script, "sh", *words])


async def _run(
    connection: asyncssh.SSHClientConnection, as_root: Sequence[str], script: str, folder: str, **options: Any
) -> None:
    """Runs a script with the folder as `$1`. Raises DutError when it fails."""
    done = await connection.run(_command(as_root, script, folder), encoding=None, **options)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() if isinstance(done.stderr, bytes) else ""
        raise DutError(f"`{script}` failed there with exit code {done.returncode}; it printed: {said or 'nothing'}")


def _extract(archive: Path, folder: Path) -> None:
    """Writes the files of a run, and nothing else that the tester may have sent. Raises DutError when it is no tar."""
    folder.mkdir()
    try:
        # Nothing is unpacked by a decompressor, and the archive is bounded.
        with tarfile.open(archive, "r:") as tar:
            left = _MOST_BYTES
            for number, member in enumerate(tar):
                left -= member.size
                # Python's tarfile goes back by a negative size, and so reads the same member for ever.
                if number >= _MOST_FILES or member.size < 0 or left < 0 or tar.offset <= member.offset:
                    raise DutError("what it sent as its run's folder is none that natxy makes")
                within, _, name = member.name.rpartition("/")
                if within != "run" or not _FILE.fullmatch(name) or not member.isfile():
                    continue
                if content := tar.extractfile(member):
                    with (folder / name).open("wb") as out:
                        shutil.copyfileobj(content, out)
        with archive.open("rb") as file:
            # A header that it does not understand is the end for Python's tarfile.
            file.seek(tar.offset)
            while chunk := file.read(_CHUNK):
                if chunk.strip(b"\0"):
                    raise tarfile.ReadError("it is damaged after its beginning")
    except (tarfile.TarError, EOFError, ValueError, RecursionError) as error:
        raise DutError(f"what it sent as its run's folder is no archive of tar: {error}") from error


async def _bring_home(connection: asyncssh.SSHClientConnection, as_root: Sequence[str], there: str, here: Path) -> None:
    """Replaces the folder here by the one there, if there is one."""
    archive, fresh = (here.with_name(f"{here.name}.{ending}") for ending in ("tar", "new"))
    script = 'cd "$1" && { [ ! -d run ] || tar -cf - run; }'
    try:
        with archive.open("wb") as out:
            await _sent(connection, _command(as_root, script, there), out)
        if archive.stat().st_size:
            shutil.rmtree(fresh, ignore_errors=True)
            _extract(archive, fresh)
            shutil.rmtree(here, ignore_errors=True)
            fresh.rename(here)
    finally:
        archive.unlink(missing_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)


async def _sent(connection: asyncssh.SSHClientConnection, command: str, out: IO[bytes]) -> None:
    """Writes what a command prints. Raises DutError when it fails, or prints more than a run's folder holds."""
    process: asyncssh.SSHClientProcess[bytes] = await connection.create_process(command, encoding=None)
    async with process:
        printing = asyncio.ensure_future(_beginning(process.stderr))
        left = _MOST_BYTES
        while chunk := await process.stdout.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                process.close()
                raise DutError(f"its run's folder is more than the {_MOST_BYTES:,} bytes that natxy fetches")
            out.write(chunk)
        code = (await process.wait(check=False)).returncode
        said = (await printing).decode(errors="replace").strip()
    if code is None:
        raise _LostError("the connection was lost")
    if code:
        why = f"the command for that ended there with exit code {code}; it printed: {said or 'nothing'}"
        raise DutError(f"its run's folder could not be fetched: {why}")


async def _beginning(printed: asyncssh.SSHReader[bytes]) -> bytes:
    """Reads all that a command prints, and returns the beginning."""
    found = b""
    while chunk := await printed.read(_CHUNK):
        found += chunk[: _MOST_SAID_BYTES - len(found)]
    return found
