# SPDX-License-Identifier: Apache-2.0
"""Runs a virtual machine, and commands in it by ssh."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.hotplug import HotPlug
from natxy.dut.transport.ssh import SshTransport, UnreachableError
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError, DutLostError
from natxy.plan.testbeds.machines import SshTarget
from natxy.plan.testbeds.vm import VmConfig
from natxy.system.autogroup import autogroup_of
from natxy.system.niceness import HIGHEST
from natxy.testbeds.vm.image import VmImage
from natxy.testbeds.vm.kept_state import SNAPSHOT, KeptState
from natxy.testbeds.vm.qemu import Start, qemu_argv
from natxy.testbeds.vm.qmp import QemuMonitor

# The name that the ssh configuration gives the virtual machine.
HOST: Final = "gateway"
# With TCG a system boots many times slower.
_BOOT_S: Final = {"kvm": 120.0, "tcg": 300.0}
# An ssh server in TCG takes seconds for a login.
_LOGIN_S: Final = 30.0
_START_S: Final = 10.0
_MOST_STARTS: Final = 3
_PAUSE_S: Final = 0.1
_END_S: Final = 1.0
# A connection that the system was not yet ready for may never be answered; a busy one takes seconds to greet.
_GREETING_S: Final = 5.0
_LAST_LINES: Final = 6
_LAST_BYTES: Final = 16 * 1024


class VirtualMachine:
    """A `Transport` to a virtual machine, which can be started and stopped, and switched off and on.

    What is set there ends with it, so that nothing of it is in the ledger.
    """

    def __init__(self, config: VmConfig, image: VmImage, cpus: int) -> None:
        self.machine = self.network = OwnSysctls(self)
        self.hot_plug = HotPlug(self)
        self.boot_s: float | None = None
        """The duration of the last boot, until the first login."""
        self.has_gone_on = False
        """True if the system did not boot, but went on from a kept state."""
        self.vcpu_threads: list[int] = []
        """The thread of each virtual CPU by its process id."""
        self._config = config
        self._image = image
        self._cpus = cpus
        self._stack = ExitStack()
        self._start: Start | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._monitor: QemuMonitor | None = None
        self._target: SshTarget | None = None
        self._ssh: SshTransport | None = None

    def start(self, start: Start) -> None:
        """Returns when the system has booted and takes commands.

        Raises DutError when it does not; then nothing of it stays.
        """
        kept = KeptState.of(self._config, self._image, start, self._cpus)
        if kept is None:
            self._start_system(start)
        elif not self._goes_on(kept, start):
            self._boot_and_keep(kept, start)

    def _goes_on(self, kept: KeptState, start: Start) -> bool:
        """Starts the virtual machine in the kept state; returns False when there is none that QEMU can go on from."""
        disk = start.folder / "kept"
        if not kept.fetch(disk):
            return False
        try:
            self._start_system(replace(start, disk=disk, snapshot=SNAPSHOT))
            # The clock is that of the moment when the state was kept.
            self.run(["date", "-s", f"@{time.time():.0f}"], timeout_s=_LOGIN_S)
        except DutError:
            self.stop()
            kept.forget()
            return False
        self.has_gone_on = True
        return True

    def _boot_and_keep(self, kept: KeptState, start: Start) -> None:
        disk = start.folder / "disk"
        kept.new_disk(disk)
        self._start_system(replace(start, disk=disk))
        assert self._monitor
        self._disconnect()
        try:
            kept.keep(self._monitor, disk)
            self._connect()
        except DutError:
            # A run does not need what would only make the next one quicker.
            self.stop()
            self._start_system(start)

    def _start_system(self, start: Start) -> None:
        with ExitStack() as stack:
            stack.callback(self._end)
            start = self._start_qemu(start)
            self._pin_threads(start)
            self._boot()
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Ends the virtual machine; does nothing when it is not running."""
        self._stack.close()

    @property
    def sets_own_links(self) -> bool:
        return not self._config.driver_sets_links

    def restart(self) -> None:
        """Restarts the virtual machine as by its reset button: all settings of the running system are lost."""
        self._disconnect()
        assert self._monitor is not None
        try:
            self._monitor.execute("system_reset")
        except DutError as error:
            if self._wait(self._has_ended, _END_S):
                raise self._lost() from error
            raise
        self._boot()

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        """Runs a command as `Transport.run` does; DutLostError when the machine has ended or not booted."""
        if self._ssh is None or self._has_ended():
            raise self._lost(argv[0])
        try:
            return self._ssh.run(argv, input=input, timeout_s=timeout_s, check=check)
        except DutError as error:
            # ssh notices the end before the process can be waited for.
            if self._wait(self._has_ended, _END_S if isinstance(error, UnreachableError) else 0):
                raise self._lost(argv[0]) from error
            raise

    def check_runs(self) -> None:
        """Raises DutLostError when the virtual machine has ended."""
        if self._has_ended():
            raise self._lost()

    def describe(self) -> str:
        return f"the virtual machine {self._image.disk}"

    def threads(self) -> list[int]:
        """Returns the process ids of QEMU's threads: the virtual CPUs, and one that moves their frames."""
        return (
            sorted(int(task.name) for task in Path(f"/proc/{self._process.pid}/task").iterdir())
            if self._process
            else []
        )

    def _start_qemu(self, start: Start) -> Start:
        """Starts QEMU and connects to its monitor. Returns the start with the port that it was given for ssh."""
        for _ in range(_MOST_STARTS):
            self._start = start = replace(start, ssh_port=free_port())
            start.control.unlink(missing_ok=True)
            with (start.folder / "output").open("wb") as output:
                self._process = subprocess.Popen(
                    qemu_argv(self._config, self._image, start, self._cpus),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    pass_fds=start.descriptors,
                    start_new_session=True,
                )
            # The gateway would not wait for other programs of this machine if it had one of its own.
            if session := autogroup_of(self._process.pid):
                session.set(HIGHEST)
            if monitor := self._connected_monitor(start):
                self._monitor = monitor
                return start
            # Somebody may have taken the port before QEMU did.
            if not _is_taken(start.ssh_port):
                break
        raise DutError(f"QEMU did not start{self._last_words()}")

    def _connected_monitor(self, start: Start) -> QemuMonitor | None:
        """Returns the monitor; None when QEMU ends instead. Raises DutError when it does not answer."""
        deadline = time.monotonic() + _START_S
        while not self._has_ended():
            try:
                return QemuMonitor(start.control)
            except DutError:
                # The socket is there before QEMU listens at it.
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_S)
        return None

    def _pin_threads(self, start: Start) -> None:
        """Gives each virtual CPU a core; the scheduler would move them, and two may have met on one core."""
        assert self._monitor is not None
        self.vcpu_threads = self._monitor.vcpu_threads()
        for number, thread in enumerate(self.vcpu_threads):
            os.sched_setaffinity(thread, {start.cores[number % len(start.cores)]})

    def _boot(self) -> None:
        """Waits for the ssh server and connects to it. Raises DutError when it does not answer."""
        assert self._start is not None
        begun, limit_s = time.monotonic(), _BOOT_S[self._start.accelerator]
        port = self._start.ssh_port
        if not self._wait(lambda: self._has_ended() or _greets(port), limit_s):
            raise DutError(
                f"{self.describe()}: no ssh server answered at its port {self._config.port} within {limit_s:g} s of "
                f"its start{self._last_words()}"
            )
        if self._has_ended():
            raise self._lost()
        self._target = self._target or self._written_target(self._start)
        self._connect()
        self.boot_s = time.monotonic() - begun
        self.has_gone_on = False

    def _connect(self) -> None:
        assert self._target
        self._ssh = SshTransport(self._target)
        self._ssh.__enter__()
        self.run(["true"], timeout_s=_LOGIN_S)

    def _written_target(self, start: Start) -> SshTarget:
        """Writes an ssh configuration for this virtual machine alone, so that the user's own has no part in it."""
        known_hosts = self._image.known_hosts or _keyscan(start)
        config = start.folder / "ssh_config"
        config.write_text(
            f"Host {HOST}\n  HostName 127.0.0.1\n  Port {start.ssh_port}\n  HostKeyAlias {HOST}\n"
            f'  IdentityFile "{_escaped(self._image.key)}"\n  IdentitiesOnly yes\n  IdentityAgent none\n'
            f'  UserKnownHostsFile "{_escaped(known_hosts)}"\n  GlobalKnownHostsFile none\n'
        )
        return SshTarget(
            host=HOST,
            user=self._config.user,
            config=config,
            connect_timeout=_LOGIN_S,
            as_root=self._config.as_root,
        )

    def _end(self) -> None:
        self._disconnect()
        if self._monitor:
            self._monitor.close()
            self._monitor = None
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        self._target = None

    def _disconnect(self) -> None:
        if self._ssh:
            self._ssh.__exit__(None, None, None)
            self._ssh = None

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _wait(self, condition: Callable[[], bool], limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE_S)
        return True

    def _lost(self, what: str | None = None) -> DutLostError:
        before = "" if what is None else f"`{what}` cannot be run: "
        state = "has ended" if self._has_ended() else "runs, but its system has not booted"
        return DutLostError(f"{before}the virtual machine {state}{self._last_words()}")

    def _last_words(self) -> str:
        """Returns what QEMU and the system's serial console printed last."""
        if self._start is None:
            return ""
        said = [*_last_lines(self._start.folder / "output"), *_last_lines(self._start.console)][-_LAST_LINES:]
        return "; its last words: " + " | ".join(said) if said else ""


def free_port() -> int:
    """Returns a port of this machine that nothing listens at, which may be taken as soon as this returns."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As QEMU does, so that connections that have ended are in nobody's way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False


def _greets(port: int) -> bool:
    """Returns True when an ssh server shows its version at the port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_GREETING_S) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _keyscan(start: Start) -> Path:
    """Returns a file with the key that the ssh server shows.

    The port is QEMU's own and leads to its guest alone, so nothing else can answer there.
    """

    # Whoever has no virtual machine does not wait until it is loaded.
    import asyncssh

    async def scanned() -> asyncssh.SSHKey | None:
        return await asyncssh.get_server_host_key("127.0.0.1", start.ssh_port, config=None)

    try:
        key = asyncio.run(asyncio.wait_for(scanned(), _LOGIN_S))
    except (TimeoutError, OSError, asyncssh.Error) as error:
        raise DutError(
            f"the virtual machine's ssh server shows no key: {str(error) or type(error).__name__}"
        ) from error
    if key is None:
        raise DutError("the virtual machine's ssh server shows no key")
    file = start.folder / "known_hosts"
    file.write_bytes(f"{HOST} ".encode() + key.export_public_key())
    return file


def _last_lines(file: Path) -> list[str]:
    try:
        said = file.read_bytes()[-_LAST_BYTES:]
    except OSError:
        return []
    return [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]


def _escaped(path: Path) -> str:
    """Returns a path as an ssh configuration has it, where % begins a variable."""
    return str(path).replace("%", "%%")
