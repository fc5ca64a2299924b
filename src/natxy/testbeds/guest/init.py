# SPDX-License-Identifier: Apache-2.0
"""The only program of a guest, as its first process: runs the commands that arrive on the guest's serial line.

The guest's root is the host's file system, mounted read-only, and the host's own Python runs this file, so it imports
nothing but the standard library. `natxy.testbeds.guest.serial_line` is the other end of the line and documents the
protocol. The guest ends when the line is closed, and so whenever natxy ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import tty
from collections.abc import Callable
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
        done = subprocess.run(
            argv,
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        return {"error": "missing"}
    except subprocess.TimeoutExpired:
        return {"error": "timeout"}
    return {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


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
