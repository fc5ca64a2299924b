# SPDX-License-Identifier: Apache-2.0
"""The only program of a guest, as its first process: runs the commands that arrive on the guest's serial line.

The guest's root is the host's file system, mounted read-only, and the host's own Python runs this file, so it imports
nothing but the standard library. `natxy.testbeds.guest.serial_line` is the other end of the line and documents the
protocol. The guest ends when the line is closed, and so whenever natxy ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO


def serve(requests: BinaryIO, reply: Callable[[dict[str, object]], None]) -> None:
    """Answers requests until `requests` ends."""
    reply({"ready": True})
    request = b""
    for line in requests:
        part = line.rstrip(b"\n")
        request += part
        if part:
            reply({})
        else:
            reply(_answer(**json.loads(request)))
            request = b""


def _answer(argv: list[str], input: str | None, timeout_s: float) -> dict[str, object]:
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except FileNotFoundError:
        return {"error": "missing"}
    with process:
        try:
            stdout, stderr = process.communicate(input, timeout_s)
        except subprocess.TimeoutExpired:
            _end_session(process.pid)
            return {"error": "timeout"}
    return {"returncode": process.returncode, "stdout": stdout, "stderr": stderr}


def _end_session(leader: int) -> None:
    """Kills every process of the session that `leader` began, process groups of its own included."""
    killed: set[int] = set()
    # A process may have started another one before it was killed.
    while found := {pid for pid in _processes() if _is_in(leader, pid)} - killed:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= found


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]


def _is_in(leader: int, pid: int) -> bool:
    try:
        return os.getsid(pid) == leader
    except ProcessLookupError:
        return False


def main() -> None:
    files = os.environ["GUEST_FILES"]
    os.environ |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "MODPROBE_OPTIONS": f"-d {files}"}
    # The kernel mounts /dev by itself.
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")):
        subprocess.run(["mount", "-t", kind, kind, where], check=True)
    Path("/proc/sys/kernel/modprobe").write_text(f"{files}/modprobe")
    line = os.open("/dev/ttyS0", os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)

    def reply(message: dict[str, object]) -> None:
        unsent = json.dumps(message).encode() + b"\n"
        while unsent:
            unsent = unsent[os.write(line, unsent) :]

    with open(line, "rb", buffering=0, closefd=False) as requests:
        serve(requests, reply)


if __name__ == "__main__":
    try:
        main()
    finally:
        # A first process that merely ends makes its kernel panic.
        Path("/proc/sysrq-trigger").write_text("o")
