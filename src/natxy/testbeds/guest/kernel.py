# SPDX-License-Identifier: Apache-2.0
"""Runs a guest: a Linux kernel in user mode with one virtual CPU, the DUT between two interfaces of a namespace.

It loads kernel modules on machines whose own kernel cannot. Its root is this machine's file system, read-only, so that
it has the programs installed here.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError, DutLostError, PlanError
from natxy.installation import by_make
from natxy.system.autogroup import autogroup_of
from natxy.system.niceness import HIGHEST
from natxy.system.temporary_folder import temporary_folder
from natxy.testbeds.guest import init as guest_init
from natxy.testbeds.guest.recipe import Recipe, built_folder
from natxy.testbeds.guest.serial_line import GuestLine, LineBrokenError

RECEIVE_BUFFER_BYTES: Final = 4 * 1024 * 1024
# Enough for ten million connections; the machine provides only memory that the guest has written to.
_MEMORY: Final = "4G"
# The number of frames that the guest takes from an interface at a time.
_DEPTH: Final = 128
_BOOT_S: Final = 30.0
_END_S: Final = 3.0
_LAST_LINES: Final = 8
_RECIPE: Final = Recipe("jool", "a guest's modules", ("build.sh", "preload.c"))
_INSTALLED_MODULES: Final = Path("/usr/lib/uml/modules")
# Modules that the gateway drivers expect, as in a distribution's kernel.
_EXPECTED_MODULES: Final = ("ipv6", "nf_conntrack")


@dataclass(frozen=True)
class GuestFiles:
    """Names a guest's kernel, the program, with its version, and the folder of its modules and preloaded library."""

    program: Path
    version: str
    folder: Path


def find_guest() -> GuestFiles:
    """Finds Debian's user-mode Linux, and the modules that `make jool` builds for it.

    Raises PlanError when something is missing or out of date.
    """
    program = shutil.which("linux.uml")
    versions = sorted(path.name for path in _INSTALLED_MODULES.glob("*"))
    if program is None or not versions:
        raise PlanError(f"user-mode Linux is not installed on this machine: {by_make('jool')}")
    folder = built_folder(f"guest-{versions[0]}")
    _RECIPE.check(folder)
    return GuestFiles(Path(program), versions[0], folder)


class Guest:
    """A `Transport` to a guest, which can be started and stopped.

    `interfaces`: the MAC addresses of the guest's interfaces by name; those of the namespace have the same names.
    """

    def __init__(
        self, files: GuestFiles, namespace: str, cores: Sequence[int], interfaces: Mapping[str, str], mtu: int
    ) -> None:
        self.machine = self.network = OwnSysctls(self)
        self._files = files
        self._namespace = namespace
        self._cores = cores
        self._interfaces = interfaces
        self._mtu = mtu
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: GuestLine | None = None
        self._console: IO[bytes] | None = None

    def start(self) -> None:
        """Returns when the guest takes commands and has its interfaces, which are down.

        Raises DutError when it does not start; then nothing of it stays.
        """
        with ExitStack() as stack:
            self._console = stack.enter_context(tempfile.TemporaryFile())
            stack.callback(self._end)
            try:
                self._boot()
            except LineBrokenError as error:
                raise DutError(f"the guest was not ready {_BOOT_S:g} s after its start{self._last_words()}") from error
            for module in _EXPECTED_MODULES:
                self.run(["modprobe", module])
            self.run(["ip", "link", "set", "lo", "up"])
            for number, name in enumerate(self._interfaces):
                self.run(["ip", "link", "set", f"vec{number}", "name", name])
                # As in other labs: a DUT that merges TCP's segments forwards fewer frames.
                self.run(["ethtool", "-K", name, "gro", "off"])
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Ends the guest; does nothing when it is not running."""
        self._stack.close()

    @property
    def sets_own_links(self) -> bool:
        return False

    def restart(self) -> None:
        """Restarts the guest as after a power failure: all its settings are lost."""
        self._kill()
        self.stop()
        self.start()

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        """Runs a command as `Transport.run` does; DutLostError when the guest has ended or does not answer."""
        if self._line is None:
            raise DutLostError(f"`{argv[0]}` cannot be run: the guest is switched off")
        try:
            completed = self._line.run(argv, input, timeout_s)
        except LineBrokenError as error:
            state = "has ended" if self._process and self._process.poll() is not None else "does not answer"
            raise DutLostError(f"`{argv[0]}` cannot be run: the guest {state}{self._last_words()}") from error
        if check:
            completed.check()
        return completed

    def describe(self) -> str:
        return f"user-mode Linux {self._files.version}, one virtual CPU, on this machine"

    def _boot(self) -> None:
        ours, theirs = socket.socketpair()
        self._line = GuestLine(ours)
        # The guest's control socket, which is not used, needs a folder until it is open.
        with theirs, temporary_folder("natxy-guest-") as sockets:
            self._process = subprocess.Popen(
                self._argv(theirs.fileno(), sockets),
                stdin=subprocess.DEVNULL,
                stdout=self._console,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            # The gateway would not wait for other programs of this machine if it had one of its own.
            if session := autogroup_of(self._process.pid):
                session.set(HIGHEST)
            # With this copy closed, the line ends when the guest does.
            theirs.close()
            self._line.wait_ready(_BOOT_S)

    def _end(self) -> None:
        if self._line:
            # The guest powers off when its line is closed.
            self._line.close()
            self._line = None
        if self._process:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
            self._kill()
            self._process.wait()
            self._process = None

    def _kill(self) -> None:
        if self._process:
            # Each process of the guest is a process here, all in one group.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _argv(self, line: int, sockets: Path) -> list[str]:
        inside = ["ip", "netns", "exec", self._namespace, "taskset", "--cpu-list", ",".join(map(str, self._cores))]
        preload = [
            "env",
            f"LD_PRELOAD={self._files.folder / 'preload.so'}",
            f"GUEST_RECEIVE_BUFFER={RECEIVE_BUFFER_BYTES}",
        ]
        devices = [
            f"vec{number}:transport=raw,ifname={name},mac={mac},mtu={self._mtu},depth={_DEPTH}"
            for number, (name, mac) in enumerate(self._interfaces.items())
        ]
        root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
        # The kernel's messages go to stdout; commands use the first serial line.
        lines = ["con=null", "con0=null,fd:1", "ssl=null", f"ssl0=fd:{line}", f"uml_dir={sockets}/"]
        init = [f"GUEST_FILES={self._files.folder}", "init=/usr/bin/python3", "--", guest_init.__file__]
        return [*inside, *preload, str(self._files.program), f"mem={_MEMORY}", *root, *lines, *devices, *init]

    def _last_words(self) -> str:
        assert self._console is not None
        self._console.seek(0)
        lines = self._console.read().decode(errors="replace").splitlines()
        # Leave out the call trace, which follows the message of a panic.
        said = [line.strip() for line in lines if line.strip() and "[<" not in line][-_LAST_LINES:]
        return "; its last words: " + " | ".join(said) if said else ""
