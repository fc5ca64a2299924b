# SPDX-License-Identifier: Apache-2.0
"""An HTTP server within the process that measures: whoever connects, and how often, costs that process little.

Few connections are served at a time, each for a few seconds at most, and a new connection takes the place of the
oldest. Others wait in the kernel, unaccepted, where they have neither a file descriptor nor a thread here.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

_AT_ONCE: Final = 8
_LONGEST_S: Final = 5.0
_ANSWERED_S: Final = 0.5
_PACE_S: Final = 0.02
_MOST_WAITING: Final = 64
# As long as the longest wait for a free place, so that the end of a run does not wait for longer.
_POLL_S: Final = 0.1


class MetricsServer(ThreadingMixIn, WSGIServer):
    """Serves a WSGI application to few at a time. OSError when the address is taken or is none."""

    daemon_threads = True
    request_queue_size = _MOST_WAITING

    def __init__(self, host: str, port: int) -> None:
        [(self.address_family, _, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self._places = threading.Semaphore(_AT_ONCE)
        self._served: dict[socket.socket, float] = {}
        super().__init__(address[:2], _Handler)  # type: ignore[arg-type]

    def serve_until_shutdown(self) -> None:
        self.serve_forever(_POLL_S)

    def server_bind(self) -> None:
        # The parent's asks a name server for the name of the address.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def get_request(self) -> tuple[socket.socket, Any]:
        time.sleep(_PACE_S)
        if not self._places.acquire(blocking=False):
            # A scraper has been answered long before that.
            with suppress(OSError, StopIteration, RuntimeError):
                oldest, since_s = next(iter(self._served.items()))
                if time.monotonic() - since_s > _ANSWERED_S:
                    oldest.shutdown(socket.SHUT_RDWR)
            if not self._places.acquire(timeout=_POLL_S):
                raise BlockingIOError("all places are taken")
        try:
            request, address = super().get_request()
        except BaseException:
            self._places.release()
            raise
        self._served[request] = time.monotonic()
        return request, address

    def shutdown_request(self, request: Any) -> None:
        self._served.pop(request, None)
        super().shutdown_request(request)
        self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: anybody can cause errors, as often as they like."""


class _Handler(WSGIRequestHandler):
    timeout = _LONGEST_S

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_UntilDeadline(self.connection))

    def log_message(self, form: str, *arguments: object) -> None:
        """Says nothing, as handle_error."""


class _UntilDeadline(io.RawIOBase):
    """Reads from a connection for a few seconds in all. TimeoutError afterwards."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline_s = time.monotonic() + _LONGEST_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._connection.settimeout(left_s)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(_LONGEST_S)
