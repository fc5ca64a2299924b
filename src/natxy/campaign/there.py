# SPDX-License-Identifier: Apache-2.0
"""Carries out a job on a tester behind ssh, and brings home what it has measured, also if it ended early."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import shlex
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import asyncssh

from natxy.campaign.model import Tester
from natxy.campaign.queue import Ending
from natxy.campaign.task import Outcome, Task, ended, is_complete
from natxy.dut.transport.ssh import UnreachableError, connect
from natxy.errors import DutError

_LOOK_S: Final = 0.2
_NO_NATXY: Final = 127
# sshd's process for a connection is the parent of natxy, which so ends with the connection. What an earlier connection
# began may still be ending.
_RUN: Final = """
cd "$1" && echo $$ > pid && shift
[ -d run ] && flock run true
if [ -e run/results.sqlite ]; then set -- resume run "$@"; else rm -rf run; set -- run plan.yaml --output run "$@"; fi
exec setpriv --pdeathsig TERM {natxy} "$@"
"""


def carry_out_there(task: Task, tester: Tester, wanted: Callable[[], bool]) -> Outcome:
    """Measures the run of a task to its end, and ends it when it is `wanted` no more.

    The run stays on the tester until it is complete and here, so that it can be resumed there.
    """
    task.folder.parent.mkdir(parents=True, exist_ok=True)
    if is_complete(task.folder):
        return Outcome(Ending.DONE)
    with task.log.open("ab") as log:
        begin = log.tell()
        try:
            code = asyncio.run(_measured(task, tester, wanted, log))
        except (DutError, asyncssh.Error, OSError) as error:
            return Outcome(Ending.FAILED, None, f"{tester.ssh}: {error}")
    return ended(task, code, begin)


def folder_there(task: Task) -> str:
    """Returns the folder of a task on its tester, which no other task of any campaign has, within the user's home."""
    name = hashlib.blake2b(f"{platform.node()}:{task.folder}".encode(), digest_size=8).hexdigest()
    return f".cache/natxy/campaigns/{name}"


async def _measured(task: Task, tester: Tester, wanted: Callable[[], bool], log: IO[bytes]) -> int:
    folder = folder_there(task)
    natxy = shlex.join([*tester.ssh.as_root, tester.natxy])
    async with await connect(tester.ssh) as connection:
        await _run(connection, 'mkdir -p "$1" && cat > "$1/plan.yaml"', folder, input=task.plan.encode())
        command = shlex.join(["sh", "-c", _RUN.replace("{natxy}", natxy), "sh", folder, *task.before])
        process: asyncssh.SSHClientProcess[bytes] = await connection.create_process(
            command, encoding=None, stdin=asyncssh.DEVNULL, stdout=log, stderr=asyncssh.STDOUT
        )
        waiting = asyncio.ensure_future(process.wait())
        asked = False
        while not (await asyncio.wait({waiting}, timeout=_LOOK_S))[0]:
            if not wanted() and not asked:
                asked = True
                await _run(connection, f'{shlex.join(tester.ssh.as_root)} kill -TERM "$(cat "$1/pid")"', folder)
        code = waiting.result().returncode
        if code == _NO_NATXY:
            raise DutError(f"{natxy} is not installed there; give the path by `natxy`")
        await _bring_home(connection, folder, task.folder)
        if is_complete(task.folder):
            await _run(connection, 'rm -rf "$1"', folder)
    if code is None:
        raise UnreachableError("the connection was lost")
    return code


async def _run(connection: asyncssh.SSHClientConnection, script: str, folder: str, **options: Any) -> None:
    """Runs a script with the folder as `$1`. Raises DutError when it fails."""
    done = await connection.run(shlex.join(["sh", "-c", script, "sh", folder]), encoding=None, **options)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() if isinstance(done.stderr, bytes) else ""
        raise DutError(f"`{script}` failed there with exit code {done.returncode}; it printed: {said or 'nothing'}")


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Writes the files of a run, and nothing else that the tester may have sent."""
    folder.mkdir()
    for member in tar:
        within, _, name = member.name.rpartition("/")
        if member.isfile() and within == "run" and name not in ("", ".", "..") and (content := tar.extractfile(member)):
            with (folder / name).open("wb") as out:
                shutil.copyfileobj(content, out)


async def _bring_home(connection: asyncssh.SSHClientConnection, there: str, here: Path) -> None:
    """Replaces the folder here by the one there, if there is one."""
    archive, fresh = (here.with_name(f"{here.name}.{ending}") for ending in ("tar", "new"))
    try:
        with archive.open("wb") as out:
            await _run(connection, 'cd "$1" && { [ ! -d run ] || tar -cf - run; }', there, stdout=out)
        if archive.stat().st_size:
            shutil.rmtree(fresh, ignore_errors=True)
            with tarfile.open(archive) as tar:
                _extract(tar, fresh)
            shutil.rmtree(here, ignore_errors=True)
            fresh.rename(here)
    finally:
        archive.unlink(missing_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)
