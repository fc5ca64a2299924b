# SPDX-License-Identifier: Apache-2.0
"""Serves the page of a run on the loopback interface, and sends what changes to everyone who looks at it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from natxy.errors import PlanError
from natxy.report.page.html import REPORT_FILE
from natxy.watch.page.follow import Follower
from natxy.watch.page.rendering import charts_script, page, parts, problem, script

LOOPBACK: Final = "127.0.0.1"
# Reading and drawing take CPU time from a measurement on the same machine.
REFRESH_S: Final = 1.0
# A line of its own now and then shows the server that a viewer is gone.
_QUIET_S: Final = 15.0
# Below all that measures, and above what only fills idle time.
_NICE: Final = 10
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Viewed:
    """A run that any number of viewers look at: its events are read and drawn once for all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._follower = Follower(folder)
        self._parts: dict[str, str] = {}
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        following = asyncio.create_task(self._follow())
        yield
        following.cancel()

    async def _follow(self) -> None:
        self._draw()
        while True:
            await asyncio.sleep(REFRESH_S)
            try:
                if not self._follower.read():
                    continue
                self._draw()
            except (PlanError, OSError) as error:
                self._parts = self._parts | {"state": problem(str(error))}
            async with self._changed:
                self._changed.notify_all()

    def _draw(self) -> None:
        self._parts = parts(self._follower, has_report=self._report.is_file())

    @property
    def _report(self) -> Path:
        return self._folder / REPORT_FILE

    async def page(self, _: Request) -> Response:
        return HTMLResponse(page(self._follower), headers=_HEADERS)

    async def script(self, _: Request) -> Response:
        return Response(script(), media_type="text/javascript", headers=_HEADERS)

    async def charts_script(self, _: Request) -> Response:
        # The state is sent on meanwhile.
        text = await asyncio.to_thread(charts_script)
        return Response(text, media_type="text/javascript", headers=_HEADERS)

    async def report(self, _: Request) -> Response:
        if not self._report.is_file():
            return Response("the report is written when the run ends", status_code=404)
        return FileResponse(self._report, media_type="text/html", headers={"Cache-Control": "no-store"})

    async def events(self, _: Request) -> Response:
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers=_HEADERS)

    async def _stream(self) -> AsyncIterator[str]:
        """Yields every part at first, and then those that have changed (server-sent events)."""
        sent: dict[str, str] = {}
        while True:
            # A viewer that is slow suspends this loop, and the parts may change meanwhile.
            now = self._parts
            for name, part in now.items():
                if sent.get(name) != part:
                    yield f"event: {name}\ndata: {part}\n\n"
            sent = now
            try:
                await asyncio.wait_for(self._other_than(sent), _QUIET_S)
            except TimeoutError:
                yield ": still here\n\n"

    async def _other_than(self, sent: dict[str, str]) -> None:
        """Waits until the parts are not those that were sent."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._parts is not sent)


def application(folder: Path, token: str) -> Starlette:
    """Returns the server's routes, all below the token. Raises PlanError when the folder has no events."""
    viewed = Viewed(folder)
    routes = {
        "": viewed.page,
        "watch.js": viewed.script,
        "charts.js": viewed.charts_script,
        "events": viewed.events,
        REPORT_FILE: viewed.report,
    }
    return Starlette(
        routes=[Route(f"/{token}/{path}", endpoint) for path, endpoint in routes.items()], lifespan=viewed.lifespan
    )


def bound(port: int) -> socket.socket:
    """Returns a socket that listens on this port of the loopback interface. Raises PlanError when it is taken."""
    listening = socket.socket()
    # The port of a server that has just ended is free again.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        # Who reads the address may connect at once.
        listening.listen()
    except OSError as error:
        listening.close()
        raise PlanError(f"--port {port}: {error.strerror}; choose another port, or 0 for any that is free") from error
    return listening


def serve(app: Starlette, listening: socket.socket) -> None:
    """Serves until it is interrupted, with a low priority."""
    os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), _NICE))
    quiet: Any = {"log_level": "error", "access_log": False, "server_header": False}
    config = uvicorn.Config(app, timeout_graceful_shutdown=1, http="h11", ws="none", **quiet)
    uvicorn.Server(config).run(sockets=[listening])
