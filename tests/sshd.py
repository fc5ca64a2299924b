# SPDX-License-Identifier: Apache-2.0
"""A real sshd for tests, with keys, configuration and port of its own, ended with the test."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from natxy.plan.hardware import SshTarget

PROGRAM = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needs_sshd = pytest.mark.skipif(
    PROGRAM is None or os.geteuid() != 0, reason="needs root and sshd (Debian package openssh-server)"
)


@dataclass
class Sshd:
    """`target` trusts the host's key and has the right one of its own."""

    target: SshTarget
    folder: Path
    process: subprocess.Popen[bytes]

    def known_hosts(self, text: str) -> None:
        (self.folder / "known_hosts").write_text(text)

    def authorized_keys(self, text: str) -> None:
        (self.folder / "authorized_keys").write_text(text)


@contextmanager
def running_sshd(
    folder: Path, *, address: str = "127.0.0.1", inside: Sequence[str] = (), programs: Path | None = None
) -> Iterator[Sshd]:
    """`inside`: what the daemon is started with, e.g. `ip netns exec NAME`. `programs` come first on its PATH."""
    assert PROGRAM is not None
    folder.mkdir(mode=0o700, exist_ok=True)
    # Debian's sshd insists on it; its service makes it at boot.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    host_key, user_key = (_new_key(folder / name) for name in ("host_key", "user_key"))
    port = _free_port()
    path = os.pathsep.join([*([str(programs)] if programs else []), "/usr/sbin:/usr/bin:/sbin:/bin"])
    (folder / "sshd_config").write_text(
        f"ListenAddress {address}:{port}\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPasswordAuthentication no\nSetEnv PATH={path}\n"
    )
    (folder / "authorized_keys").write_text(user_key)
    (folder / "known_hosts").write_text(f"[{address}]:{port} {host_key}")
    (folder / "ssh_config").write_text(
        f"Host gateway\n  HostName {address}\n  Port {port}\n  IdentityFile {folder}/user_key\n"
        f"  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {folder}/known_hosts\n"
    )
    argv = [*inside, PROGRAM, "-D", "-e", "-f", str(folder / "sshd_config")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, stderr=log)
    try:
        _wait_until_listening(folder / "log", process)
        target = SshTarget(host="gateway", user=getpass.getuser(), config=folder / "ssh_config", connect_timeout=5)
        yield Sshd(target, folder, process)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _new_key(file: Path) -> str:
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(file))
    file.chmod(0o600)
    return key.export_public_key().decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_listening(log: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while "Server listening" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
