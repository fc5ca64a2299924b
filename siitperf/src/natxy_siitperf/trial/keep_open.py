# SPDX-License-Identifier: Apache-2.0
"""Keeps an engine and its ports open from one call of a program to the next.

It is a program of its own, `keep_open.py NAME IDLE_S ENGINE…`, which stands for the engine: it passes its standard
input and output on to a keeper of this name. If there is none, it becomes one first, a process of its own that starts
the engine and ends with it when nobody has called for `IDLE_S` seconds, or when a caller has left in the midst of a
request. A keeper that is killed takes the engine along, whose standard input ends. What the engine writes to standard
error goes to that of the present caller, which reads DPDK's reasons there.

It imports nothing of natxy, so that it starts at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

_CHUNK: Final = 1 << 20
_END_S: Final = 2.0
_WAITING: Final = 16
# Longer than that many calls before this one take.
_FULL_S: Final = 60.0
# Another call that has the address listens at it in a moment.
_TRIES: Final = 10
_TRY_S: Final = 0.05
# A caller that takes no answer for so long counts as one that has left.
_STALLED_S: Final = 10.0
# Requests at the end of a call; `ports.close` would close what is to stay open.
_FAREWELL: Final = frozenset({"ports.close", "trial.abort"})


class _TakenError(Exception):
    """Says that another user has taken the address of the keeper."""


def main(name: str, idle_s: float, argv: list[str]) -> None:
    address = f"\0natxy-siitperf-{name}"
    asked: bytes | None = b""
    is_own = False
    # A keeper of others that was about to end leaves calls without an answer, and its address once its engine is gone.
    while asked is not None and not is_own:
        try:
            keeper = _connected(address)
            if keeper is None:
                keeper, is_own = _started(address, idle_s, argv)
        except _TakenError:
            if asked:
                sys.exit("another user has taken the address of the process that kept the ports open; try again")
            # An engine for this call alone.
            os.execvp(argv[0], argv)
        with keeper:
            asked = _pass_on(keeper, asked)


def _connected(address: str) -> socket.socket | None:
    """Returns a connection to the keeper of this user; None if there is none."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_FULL_S)
    try:
        connection.connect(address)
    except ConnectionRefusedError:
        return None
    except TimeoutError as error:
        # Whoever has the address takes nobody.
        raise _TakenError(address) from error
    connection.settimeout(None)
    # Abstract addresses have no permissions.
    if not _is_own(connection):
        connection.close()
        raise _TakenError(address)
    return connection


def _started(address: str, idle_s: float, argv: list[str]) -> tuple[socket.socket, bool]:
    """Starts a keeper. Returns a connection to it, and False if another call has started one meanwhile."""
    is_own = False
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(address)
    except OSError:
        # Another call was faster.
        listener.close()
    else:
        listener.listen(_WAITING)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                _keep(listener, idle_s, argv)
            os._exit(0)
        os.wait()
        is_own = True
        listener.close()
    for _ in range(_TRIES):
        if connection := _connected(address):
            return connection, is_own
        time.sleep(_TRY_S)
    if is_own:
        sys.exit("the process that keeps the ports open has just ended; try again")
    raise _TakenError(address)


def _pass_on(keeper: socket.socket, asked: bytes) -> bytes | None:
    """Copies `asked` and standard input to the keeper, and its answers to standard output, until it has ended.

    Returns all that it was asked if it ended without an answer, and None otherwise.
    """
    unanswered: bytes | None = asked
    sources = [0, keeper.fileno()]
    try:
        socket.send_fds(keeper, [b"\n"], [2])
        keeper.sendall(asked)
        while True:
            ready, _, _ = select.select(sources, [], [])
            if 0 in ready:
                if more := os.read(0, _CHUNK):
                    unanswered = None if unanswered is None else unanswered + more
                    keeper.sendall(more)
                else:
                    keeper.shutdown(socket.SHUT_WR)
                    sources.remove(0)
            if keeper.fileno() in ready:
                answered = keeper.recv(_CHUNK)
                if not answered:
                    return unanswered
                unanswered = None
                _write(1, answered)
    except ConnectionError:
        return unanswered


def _keep(listener: socket.socket, idle_s: float, argv: list[str]) -> None:
    """Starts the engine, serves one caller after the other, and ends the engine and this process."""
    # Whoever reads the caller's standard output must not wait for this process.
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    # The first caller's folder may be deleted meanwhile.
    os.chdir("/")
    engine = Engine(argv)
    # Whoever started this process calls at once, unless it was killed meanwhile.
    until_s = time.monotonic() + min(idle_s, _STALLED_S)
    while True:
        left_s = max(0.0, until_s - time.monotonic())
        ready, _, _ = select.select([listener.fileno(), engine.output, engine.errors], [], [], left_s)
        engine.pass_errors()
        if listener.fileno() in ready:
            caller, _ = listener.accept()
            caller.settimeout(_STALLED_S)
            with caller:
                if not _is_own(caller):
                    if not left_s:
                        break
                elif _takes_errors(caller):
                    if not engine.serve(caller):
                        break
                    # A caller that was killed before it asked for anything leaves nothing to keep.
                    if engine.has_ports:
                        until_s = time.monotonic() + idle_s
            os.dup2(nothing, 2)
        elif not ready or (engine.output in ready and not engine.read()):
            break
    # The address is taken until the engine has left the ports.
    engine.end()
    os._exit(0)


def _takes_errors(caller: socket.socket) -> bool:
    """Makes the caller's standard error this process's. Returns False if the caller has left."""
    try:
        _, descriptors, _, _ = socket.recv_fds(caller, 1, 1)
    except OSError:
        return False
    for descriptor in descriptors:
        os.dup2(descriptor, 2)
        os.close(descriptor)
    return bool(descriptors)


class Engine:
    """An engine that runs, and the reply to the request that opened its ports."""

    def __init__(self, argv: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._input, self.output = self._process.stdin, self._process.stdout.fileno()
        self.errors = self._process.stderr.fileno()
        os.set_blocking(self.errors, False)
        self._unread = b""
        self._asked: Any = None
        self._opened: Any = None

    def read(self) -> bytes:
        return os.read(self.output, _CHUNK)

    def pass_errors(self) -> None:
        """Writes what the engine has written to standard error so far to this process's."""
        with contextlib.suppress(OSError):
            while written := os.read(self.errors, _CHUNK):
                _write(2, written)

    @property
    def has_ports(self) -> bool:
        return self._opened is not None

    def serve(self, caller: socket.socket) -> bool:
        """Serves a caller until it leaves. Returns False if the engine has ended or must end: it has unanswered
        requests, and its next replies would be for these."""
        waiting: dict[Any, str] = {}
        unasked = b""
        while True:
            ready, _, _ = select.select([caller.fileno(), self.output, self.errors], [], [])
            try:
                if caller.fileno() in ready:
                    asked = caller.recv(_CHUNK)
                    if not asked:
                        return not waiting
                    unasked += asked
                    *lines, unasked = unasked.split(b"\n")
                    for line in lines:
                        self._ask(line, caller, waiting)
                if self.output in ready:
                    answered = self.read()
                    # The caller looks for the reasons once it has the answer.
                    self.pass_errors()
                    if not answered:
                        return False
                    for line in self._lines(answered):
                        self._note(line, waiting)
                        caller.sendall(line + b"\n")
                self.pass_errors()
            except OSError:
                return not waiting

    def end(self) -> None:
        self._input.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, line: bytes, caller: socket.socket, waiting: dict[Any, str]) -> None:
        request = json.loads(line)
        method, number = request["method"], request["id"]
        if method in _FAREWELL and not waiting:
            return
        if method == "ports.open":
            if self._opened is not None and request["params"] == self._asked:
                reply = {"jsonrpc": "2.0", "id": number, "result": self._opened}
                caller.sendall(json.dumps(reply).encode() + b"\n")
                return
            if self._opened is not None:
                # The caller ignores the reply to a request that it has not made.
                close = {"jsonrpc": "2.0", "id": 0, "method": "ports.close", "params": {}}
                _write(self._input.fileno(), json.dumps(close).encode() + b"\n")
            self._asked, self._opened = request["params"], None
        waiting[number] = method
        _write(self._input.fileno(), line + b"\n")

    def _lines(self, answered: bytes) -> Iterator[bytes]:
        *lines, self._unread = (self._unread + answered).split(b"\n")
        yield from lines

    def _note(self, line: bytes, waiting: dict[Any, str]) -> None:
        reply = json.loads(line)
        if waiting.pop(reply.get("id"), "") == "ports.open":
            self._opened = reply.get("result")


def _is_own(connection: socket.socket) -> bool:
    """Returns True if the other end belongs to this user."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return bool(user == os.getuid())


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
