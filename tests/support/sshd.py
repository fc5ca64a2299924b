# SPDX-License-Identifier: Apache-2.0
"""Runs a real sshd with its own keys, configuration and port for as long as a test lasts."""

from __future__ import annotations

import getpass
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncssh

from natxy.plan.testbeds.machines import SshTarget
from tests.support import needs
from tests.support.command import HANG_S

# Below those that Linux gives to clients.
_NOBODYS_OWN: Final = (20_000, 32_768)


@dataclass
class Sshd:
    """Starts and stops a daemon. `target` knows its host key and has an authorized key; `argv` starts the daemon."""

    target: SshTarget
    folder: Path
    argv: Sequence[str]
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Returns when the daemon accepts connections."""
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(self.argv, stderr=log)
        _wait_until_listening(self.folder / "log", self.process)

    def stop(self) -> None:
        """Ends the daemon and its connections, like a machine that goes down. Does nothing if it is not running."""
        if self.process.poll() is not None:
            return
        connections = self._connections()
        self.process.terminate()
        self.process.wait(timeout=HANG_S)
        _kill(connections)

    def cut(self) -> None:
        """Ends the connections there are. The daemon accepts others."""
        _kill(self._connections())

    def _connections(self) -> list[int]:
        """Returns the processes that serve a connection each."""
        number = self.process.pid
        return [int(child) for child in Path(f"/proc/{number}/task/{number}/children").read_text().split()]

    def known_hosts(self, text: str) -> None:
        (self.folder / "known_hosts").write_text(text)

    def authorized_keys(self, text: str) -> None:
        (self.folder / "authorized_keys").write_text(text)


@contextmanager
def running_sshd(
    folder: Path, *, address: str = "127.0.0.1", inside: Sequence[str] = (), programs: Path | None = None
) -> Iterator[Sshd]:
    """Runs the daemon by the prefix `inside`, e.g. `ip netns exec NAME`. `programs` is the first folder of its PATH."""
    assert needs.SSHD_PROGRAM is not None
    folder.mkdir(mode=0o700, exist_ok=True)
    # Debian's sshd requires this folder, which its service creates at boot.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    host_key, user_key = (_new_key(folder / name) for name in ("host_key", "user_key"))
    port = _free_port()
    path = os.pathsep.join([*([str(programs)] if programs else []), "/usr/sbin:/usr/bin:/sbin:/bin"])
    # Debian's bash reads ~/.bashrc for a command from sshd unless it runs within another shell.
    (folder / "sshd_config").write_text(
        f"ListenAddress {address}:{port}\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\nStrictModes no\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPasswordAuthentication no\nSetEnv PATH={path} SHLVL=2\n"
    )
    (folder / "authorized_keys").write_text(user_key)
    (folder / "known_hosts").write_text(f"[{address}]:{port} {host_key}")
    (folder / "ssh_config").write_text(
        f"Host gateway\n  HostName {address}\n  Port {port}\n  IdentityFile {folder}/user_key\n"
        f"  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {folder}/known_hosts\n"
    )
    argv = [*inside, needs.SSHD_PROGRAM, "-D", "-e", "-f", str(folder / "sshd_config")]
    target = SshTarget(host="gateway", user=getpass.getuser(), config=folder / "ssh_config", connect_timeout=60)
    sshd = Sshd(target, folder, argv)
    try:
        sshd.start()
        yield sshd
    finally:
        sshd.stop()


def _kill(processes: Sequence[int]) -> None:
    # All at once, as a machine that boots: otherwise one connection would see another one end.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, number)


def _new_key(file: Path) -> str:
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(str(file))
    file.chmod(0o600)
    return key.export_public_key().decode()


def _free_port() -> int:
    """Returns a port that no program gets unasked, such as the clients of other tests, before the daemon has it."""
    while True:
        port = random.randrange(*_NOBODYS_OWN)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _wait_until_listening(log: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + HANG_S
    while "Server listening" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.02)
