# SPDX-License-Identifier: Apache-2.0
"""The transport over ssh, with keys, known hosts, agent and ~/.ssh/config as ssh itself uses them."""

from __future__ import annotations

import asyncio
import math
import re
import shlex
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from natxy.dut.transport.base import CompletedCommand, unending
from natxy.dut.transport.boot import BOOT_SCRIPT
from natxy.dut.transport.hotplug import HotPlug
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError
from natxy.plan.testbeds.machines import SshTarget
from natxy.system.interrupts import serialized
from natxy.system.ledger import Place

# Loading asyncssh takes a fifth of the time in which natxy starts, and most commands need no connection.
if TYPE_CHECKING:
    import asyncssh

# A machine that no longer answers is detected after so many missed answers, even during a long command.
_KEEPALIVE_S: Final = 5
_KEEPALIVES_MISSED: Final = 3
_COMMAND_NOT_FOUND: Final = 127
# The shell that sshd starts leads the session of a program; the first line on stderr has its number. Any login shell
# knows `exec`, but not every one `$$` and `>&2`.
_SESSION: Final = "natxy-session"
_STARTED: Final = ("sh", "-c", f'echo {_SESSION} $$ >&2; exec "$@"', "sh")
_SESSION_LINE: Final = re.compile(rf"^{_SESSION} (\d+)\n", re.MULTILINE)
_END_S: Final = 10
# The boot, and Linux's network namespace, `net:[4026531840]`.
_PLACE: Final = ["sh", "-c", f"{BOOT_SCRIPT} && {{ readlink /proc/self/ns/net 2>/dev/null || :; }}"]
_NAMESPACE: Final = re.compile(r"\s*net:\[(\d+)\]\s*$")


_Result = TypeVar("_Result")


class UnreachableError(DutError):
    """No connection could be made, or it was lost."""


class SilentError(UnreachableError):
    """The machine did not answer in time when a connection was to be made."""


class SshTransport:
    """Runs commands over one ssh connection, which the first command opens and which is reopened after a loss.

    A machine that does not answer within the target's `connect_timeout` is not asked again for as long.

    sshd passes a command to the user's shell, so argument lists are quoted for a POSIX shell. Programs have no terminal
    and natxy asks for no password: a key with a passphrase must be in the agent.
    """

    def __init__(self, target: SshTarget) -> None:
        self._target = target
        self._connection: asyncssh.SSHClientConnection | None = None
        self._connecting = asyncio.Lock()
        self._silence = ""
        self._silent_until = 0.0
        # The connection has an event loop of its own, so that keepalives continue between commands.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ssh", daemon=True)
        self.machine = self.network = OwnSysctls(self, self.place)
        self.hot_plug = HotPlug(self)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        done = self._wait_for(self._run(argv, input, timeout_s))
        if check:
            done.check()
        return done

    @contextmanager
    def lines(self, argv: Sequence[str]) -> Iterator[Callable[[], str]]:
        """Runs a program whose input ends with the context; yields what waits for the next line of its output.

        Raises DutError when there is no connection; without one, or when the program ends, lines are empty.
        """
        import asyncssh

        command = f"exec {shlex.join(argv)}"
        process = self._wait_for(self._started(command))

        def line() -> str:
            try:
                return _text(self._wait_for(process.stdout.readline())).rstrip("\n")
            except (asyncssh.Error, OSError):
                return ""

        try:
            yield line
        finally:
            self._loop.call_soon_threadsafe(process.close)

    async def _started(self, command: str) -> asyncssh.SSHClientProcess[bytes]:
        import asyncssh

        connection = await self._connected()
        try:
            return await connection.create_process(command, encoding=None, stderr=asyncssh.DEVNULL)
        except (asyncssh.Error, OSError) as error:
            raise UnreachableError(f"the connection was lost ({self.describe()}): {_reason(error)}") from error

    def _wait_for(self, coroutine: Coroutine[Any, Any, _Result]) -> _Result:
        """Returns the result of what runs on the connection's loop; an interrupt cancels it."""
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and not self._connection.is_closed()

    def describe(self) -> str:
        return described(self._target)

    def place(self) -> Place:
        """Returns the machine with its present boot, and the network namespace of the commands there.

        A command asks for both. Raises DutError as `run` does.
        """
        answer = self.run(_PLACE).stdout
        namespace = _NAMESPACE.search(answer)
        return Place(
            boot_id=_NAMESPACE.sub("", answer).strip(),
            namespace=int(namespace[1]) if namespace else None,
            ssh=serialized(self._target.from_anywhere(), exclude_defaults=True),
        )

    async def _run(self, argv: Sequence[str], input: str | None, timeout_s: float) -> CompletedCommand:
        import asyncssh

        connection = await self._connected()
        command = f"exec {shlex.join([*_STARTED, *self._target.as_root, *argv])}"
        # asyncssh does not end an empty input.
        given = {"input": input.encode()} if input else {"stdin": asyncssh.DEVNULL}
        try:
            process = await connection.create_process(command, encoding=None, **given)
            try:
                done = await process.wait(timeout=timeout_s)
            except asyncssh.TimeoutError as error:
                await self._end_session(connection, _text(error.stderr))
                ended = error.returncode is not None
                raise DutError(f"{unending(argv, timeout_s, ended=ended)} ({self.describe()})") from error
            finally:
                # Not waited for: a program that does not end would keep it open.
                process.close()
        except (asyncssh.Error, OSError) as error:
            raise UnreachableError(
                f"the connection was lost during `{shlex.join(argv)}` ({self.describe()}): {_reason(error)}"
            ) from error
        stdout, stderr = _text(done.stdout), _SESSION_LINE.sub("", _text(done.stderr), count=1)
        if done.returncode == _COMMAND_NOT_FOUND:
            raise DutError(
                f"{self._missing(argv[0], stderr)} is not installed there ({self.describe()}): {stderr.strip()}"
            )
        # Without a return code the connection ended before the program did.
        if done.returncode is None:
            raise UnreachableError(f"the connection was lost during `{shlex.join(argv)}` ({self.describe()})")
        return CompletedCommand(tuple(argv), done.returncode, stdout, stderr)

    def _missing(self, program: str, stderr: str) -> str:
        """Returns the program that the shell did not find: the prefix for root comes first."""
        return next((word for word in self._target.as_root[:1] if f"{word}: not found" in stderr), program)

    async def _end_session(self, connection: asyncssh.SSHClientConnection, stderr: str) -> None:
        """Kills a program and everything in its session. sshd itself refuses to do so for root."""
        if line := _SESSION_LINE.search(stderr):
            script = f"pkill -KILL -s {line[1]} || kill -KILL -- -{line[1]}"
            command = shlex.join([*self._target.as_root, "sh", "-c", script])
            await connection.run(command, timeout=_END_S)

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._connecting:
            if self._connection is None or self._connection.is_closed():
                if self._loop.time() < self._silent_until:
                    raise SilentError(self._silence)
                try:
                    self._connection = await connect(self._target)
                except SilentError as error:
                    # What natxy has to undo there is many commands, which would all wait.
                    self._silence = str(error)
                    self._silent_until = self._loop.time() + self._target.connect_timeout
                    raise
            return self._connection

    async def _disconnect(self) -> None:
        if self._connection:
            self._connection.close()
            await self._connection.wait_closed()


async def connect(target: SshTarget) -> asyncssh.SSHClientConnection:
    """Opens a connection, by keys. Raises DutError, which is an UnreachableError when there is no connection."""
    import asyncssh

    where = described(target)
    given = {"username": target.user, "port": target.port, "config": target.config and [target.config]}
    try:
        return await asyncssh.connect(
            target.host,
            connect_timeout=target.connect_timeout,
            login_timeout=target.connect_timeout,
            keepalive_interval=_KEEPALIVE_S,
            keepalive_count_max=_KEEPALIVES_MISSED,
            **{name: value for name, value in given.items() if value is not None},
        )
    except asyncssh.HostKeyNotVerifiable as error:
        raise DutError(
            f"{where}: the host's key differs from known_hosts or is missing there ({error.reason}); "
            f"compare its fingerprint and add it, e.g. by `ssh {target}`"
        ) from error
    except asyncssh.PermissionDenied as error:
        raise DutError(
            f"{where}: the login was refused ({error.reason}); natxy asks for no password: "
            f"make `ssh -o BatchMode=yes {target} true` work"
        ) from error
    except (TimeoutError, asyncssh.TimeoutError) as error:
        raise SilentError(
            f"{where}: no answer within {target.connect_timeout:g} s; check that it is up "
            "and that its management address is right"
        ) from error
    except (asyncssh.ConfigParseError, asyncssh.KeyImportError) as error:
        raise DutError(f"{where}: the ssh configuration or one of its keys is wrong: {error}") from error
    except socket.gaierror as error:
        raise UnreachableError(
            f"{where}: no address is known for this name ({error.strerror}); correct the name, or give the address"
        ) from error
    except (asyncssh.Error, OSError) as error:
        raise UnreachableError(f"{where}: {_reason(error)}; make `ssh {target} true` work") from error


def ssh_command(target: SshTarget, argv: Sequence[str]) -> list[str]:
    """Returns the command by which OpenSSH runs a program there, as root, with its input and output here.

    The program's input ends with the connection, and with the command.
    """
    given = {"-F": target.config, "-l": target.user, "-p": target.port}
    options = [word for option, value in given.items() if value is not None for word in (option, str(value))]
    settings = {
        "BatchMode": "yes",
        "ConnectTimeout": math.ceil(target.connect_timeout),
        "ControlPath": "none",
        "LogLevel": "ERROR",
        "ServerAliveCountMax": _KEEPALIVES_MISSED,
        "ServerAliveInterval": _KEEPALIVE_S,
    }
    options += [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    return ["ssh", "-T", *options, target.host, f"exec {shlex.join([*target.as_root, *argv])}"]


def described(target: SshTarget) -> str:
    """Returns a machine as error messages name it."""
    return f"ssh {target}"


def _text(output: object) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else ""


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
